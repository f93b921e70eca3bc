"""The escape experiment in 60 digits: `python -m benchmarks.exact_escape [PICTURE]`.

From the paper's start, s_j = −0.6 and P⊥θ = 0, all gradients of the double wells lie in the span of the u_j. PCD's d̃
does not vanish there. Its deployed update has the length of g_1, which vanishes on the barrier's top, s = 0. What
happens on that line is not visible in float64, whose rounding leaves the line. Here the same steps are taken with 60
digits. The table goes to the terminal, and the curves of s_t to PICTURE.

The secondaries' gradients are orthogonal, so that PCD's program is solved exactly by one multiplier for each of them,
μ_j = max(0, τ − g̃_j·g̃_1 / ‖g̃_j‖²).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import torch
from mpmath import mp, mpf

from mobench.core.registry import find_problem
from mobench.core.streams import Streams
from mobench.planning.plan import make_groups, make_plan
from mobench.planning.suite import load_suite
from mobench.training.loop import Group

mp.dps = 60
Vector = list[Any]
"""Numbers of 60 digits; mpmath has no types."""

START, PULL = mpf("-0.6"), mpf("0.48")
DECAY, EPSILON = mpf("0.999"), mpf("1e-8")
MOMENTS = mpf("0.9"), mpf("0.999")
STEPS = 2000


@dataclass(frozen=True)
class Setting:
    """The rule that makes a step of PCD's direction. Rates and τ are texts, so that they are exact decimals."""

    tau: str = "0.3"
    rate: str = "0.05"
    optimizer: str = "sgd"
    """`sgd`, `heavy-ball` with momentum 0.9, or `adam` with torch's defaults."""
    rescale: bool = True
    """Whether the update gets the length of g_1, as deployed, or is d̃, which the theorems are about."""


def dot(one: Vector, other: Vector) -> Any:
    return mp.fdot(one, other)


def axes(k: int, outside: str = "0") -> tuple[list[Vector], Vector]:
    """Return u_j along the first K − 1 coordinate axes, and P⊥θ_0 along one more."""
    rows = [[mpf(int(i == j)) for i in range(k)] for j in range(k - 1)]
    return rows, [mpf(0)] * (k - 1) + [mpf(outside)]


def suite_basis(k: int, seed: int) -> tuple[list[Vector], Vector]:
    """Return the suite's random u_j in R⁵⁰, made orthonormal to 60 digits, and P⊥θ_0 = 0."""
    problem: Any = find_problem("double-well")(k=k)
    rows: list[Vector] = []
    for row in problem.constants(Streams(seed))["basis"].tolist():
        vector = [mpf(value) for value in row]
        for known in rows:
            along = dot(vector, known)
            vector = [value - along * other for value, other in zip(vector, known, strict=True)]
        length = mp.sqrt(dot(vector, vector))
        rows.append([value / length for value in vector])
    return rows, [mpf(0)] * len(rows[0])


def exact_path(start: tuple[list[Vector], Vector], setting: Setting, steps: int) -> list[Vector]:
    """Return (s_1, …, s_{K−1}) before the first step and after each."""
    basis, outside = start
    theta = [START * mp.fsum(column) + rest for column, rest in zip(zip(*basis, strict=True), outside, strict=True)]
    tau, rate = mpf(setting.tau), mpf(setting.rate)
    averages = [mpf(0)] * (len(basis) + 1)
    first, second = [mpf(0)] * len(theta), [mpf(0)] * len(theta)
    path = []
    for step in range(1, steps + 2):
        s = [dot(row, theta) for row in basis]
        path.append(s)
        # Every gradient is a combination of the u_j and of what is outside their span: coordinates are enough.
        inside = [sum((s[j] * row[i] for j, row in enumerate(basis)), mpf(0)) for i in range(len(theta))]
        rest = [value - part for value, part in zip(theta, inside, strict=True)]
        wells = [4 * each * (each * each - 1) for each in s]
        pulls = [2 * PULL * (each - 1) for each in s]
        squares = [dot(wells, wells) + dot(rest, rest), *(pull * pull for pull in pulls)]
        averages = [DECAY * v + (1 - DECAY) * square for v, square in zip(averages, squares, strict=True)]
        scales = [1 / mp.sqrt(v / (1 - DECAY**step) + EPSILON) for v in averages]
        along = []
        for well, pull, scale in zip(wells, pulls, scales[1:], strict=True):
            own, other = scales[0] * well, scale * pull
            along.append(own + max(mpf(0), tau - own / other) * other if other else own)
        factor = mpf(1)
        if setting.rescale:
            length = mp.sqrt(dot(along, along) + scales[0] ** 2 * dot(rest, rest))
            factor = mp.sqrt(squares[0]) / length if length else mpf(0)
        update = [
            factor * (scales[0] * part + sum((a * row[i] for a, row in zip(along, basis, strict=True)), mpf(0)))
            for i, part in enumerate(rest)
        ]
        if setting.optimizer == "heavy-ball":
            first = update = [MOMENTS[0] * m + d for m, d in zip(first, update, strict=True)]
        elif setting.optimizer == "adam":
            one, two = MOMENTS
            first = [one * m + (1 - one) * d for m, d in zip(first, update, strict=True)]
            second = [two * v + (1 - two) * d * d for v, d in zip(second, update, strict=True)]
            shares = 1 - one**step, 1 - two**step
            update = [m / shares[0] / (mp.sqrt(v / shares[1]) + EPSILON) for m, v in zip(first, second, strict=True)]
        theta = [value - rate * d for value, d in zip(theta, update, strict=True)]
    return path


def crossing(path: Sequence[Sequence[Any]]) -> int | None:
    """Return the step after which all s_j are positive for the first time, None if they never are."""
    return next((step for step, s in enumerate(path) if min(s) > 0), None)


def float_paths(overrides: dict[str, Any], steps: int) -> dict[str, list[list[float]]]:
    """Return s along PCD's runs of the suite `escape`, by their ids: the suite's own steps, in float64."""
    specs = make_plan(load_suite("escape"), {"methods": ["pcd"], "training.steps": steps, **overrides}).specs
    paths: dict[str, list[list[float]]] = {spec.id: [] for spec in specs}
    for members in make_groups(specs):
        group = Group(members)
        basis: torch.Tensor = group.workload.constants["basis"]  # type: ignore[attr-defined]
        for step in range(steps + 1):
            theta = group.workload.parameters[0].detach()
            for spec, s in zip(members, (basis @ theta[:, :, None])[:, :, 0].tolist(), strict=False):
                paths[spec.id].append(s)
            if step < steps:
                group.step(group.alive, False)
                group.take_step()
                group.iteration += 1
    return paths


def _row(name: str, paths: Sequence[Sequence[Sequence[Any]]]) -> str:
    """Return a line with when the paths cross, first and last, and where the last one is after 500 and 2,000 steps."""
    steps = [crossing(path) for path in paths]
    crossed = sorted(step for step in steps if step is not None)
    when = "never" if not crossed else " … ".join(dict.fromkeys(str(step) for step in (crossed[0], crossed[-1])))
    some = f" ({len(crossed)} of {len(steps)})" if 0 < len(crossed) < len(steps) else ""
    ends = [mp.nstr(min(paths[-1][step]), 5) for step in (500, STEPS) if step < len(paths[-1])]
    return f"{name:<66} {when + some:>11}  " + "  ".join(f"{end:>12}" for end in ends)


def table() -> Iterator[str]:
    """Yield a line for each case."""
    title = "60 digits; K = 2, τ = 0.3 and the deployed update unless said"
    yield f"{title:<66} {'crosses at':>11}  {'s at 500':>12}  {'s at 2000':>12}"
    every = [(k, tau) for k in (2, 5) for tau in ("0.01", "0.3", "1")]
    for outside in ("0", "1e-17", "0.1"):
        paths = [exact_path(axes(k, outside), Setting(tau), 500) for k, tau in every]
        yield _row(f"gradient descent 0.05, ‖P⊥θ₀‖ = {outside}, K = 2, 5, τ = 0.01, 0.3, 1", paths)
    for rate in ("0.2", "0.24", "0.26", "0.3"):
        yield _row(f"gradient descent {rate}", [exact_path(axes(2), Setting(rate=rate), 500)])
    yield _row("gradient descent 0.05, momentum 0.9", [exact_path(axes(2), Setting(optimizer="heavy-ball"), STEPS)])
    for rate in ("0.05", "0.01", "0.001"):
        adam = Setting(rate=rate, optimizer="adam")
        yield _row(f"Adam {rate}, u along an axis", [exact_path(axes(2), adam, STEPS)])
        for k in (2, 5):
            path = exact_path(suite_basis(k, 0), adam, STEPS)
            yield _row(f"Adam {rate}, the suite's random basis (seed 0), K = {k}", [path])
    for tau in ("0.01", "0.1", "1"):
        yield _row(
            f"d̃ itself (rescale=none), 0.05, τ = {tau}", [exact_path(axes(2), Setting(tau, rescale=False), STEPS)]
        )
    yield "\nfloat64, the steps of the suite itself: K = 2 … 7, 19 values of τ, 5 seeds"
    for spread in (0.0, 0.1):
        paths = list(float_paths({"problems.double-well.spread": spread}, 500).values())
        yield _row(f"gradient descent 0.05, spread {spread}", paths)


def draw(picture: Path) -> None:
    """Draw s_t of K = 2 over 2,000 steps, and how far it is from the barrier's top."""
    chosen = {"problems.double-well.k": 2, "problems.double-well.spread": 0.0, "methods.pcd.tau": 0.3, "seeds": 1}
    (rounded,) = float_paths(chosen, STEPS).values()

    def path(**setting: Any) -> list[Vector]:
        return exact_path(axes(2), Setting(**setting), STEPS)

    deployed = "deployed d, "
    curves: dict[str, tuple[Sequence[Sequence[Any]], str, str]] = {
        f"{deployed}gradient descent": (path(), "#553685", "-"),
        f"{deployed}gradient descent, in float64": (rounded, "#553685", ":"),
        f"{deployed}momentum 0.9": (path(optimizer="heavy-ball"), "#2e7d32", "-"),
        f"{deployed}Adam 0.05": (path(optimizer="adam"), "#1565c0", "-"),
        f"{deployed}Adam 0.001": (path(optimizer="adam", rate="0.001"), "#1565c0", "--"),
        "d̃ itself, τ = 0.3": (path(rescale=False), "#ef6c00", "-"),
        "d̃ itself, τ = 0.01": (path(rescale=False, tau="0.01"), "#ef6c00", "--"),
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
    steps = range(1, STEPS + 2)
    for label, (points, color, dashes) in curves.items():
        s = [mpf(values[0]) for values in points]
        left.plot(steps, [float(value) for value in s], color=color, linestyle=dashes, label=label)
        right.plot(steps, [float(mp.log10(abs(value))) for value in s], color=color, linestyle=dashes)
    left.axhline(0.0, color="grey", linewidth=0.6)
    left.set(xscale="log", xlabel="step + 1", ylabel="s", title="s; the barrier's top is 0")
    right.set(xscale="log", xlabel="step + 1", ylabel="log₁₀ |s|", ylim=(-60, 2), title="distance to the top")
    figure.legend(fontsize=8, loc="outside lower center", ncols=3)
    figure.savefig(picture, dpi=90)


if __name__ == "__main__":
    for line in table():
        print(line, flush=True)
    if len(sys.argv) > 1:
        draw(Path(sys.argv[1]))
