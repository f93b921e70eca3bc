"""PCD: follow the primary gradient as closely as the secondaries' progress allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul, truediv
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Matrix, Method, Step
from mobench.core.metric import NON_NEGATIVE, SHARE, Metric
from mobench.core.registry import register
from mobench.core.settings import choice, one_each, real, reals
from mobench.errors import MethodError, UserError
from mobench.solvers import Relaxation, project_in_levels, project_primary
from mobench.solvers.primary_projection import squared_lengths

from .pcd_together import PRODUCTS, together


@register
class PCD(Method):
    """Priority-constrained descent: the primary's gradient, with guaranteed progress for the secondaries.

    The direction is the nearest to the primary's gradient among all that give each secondary objective
    a guaranteed share τ of the progress its own gradient would make. Gradients are brought to one scale
    first. τ is the knob.

    The secondaries are served before the primary, so that the primary may ascend where they disagree
    with it. With τ = 0 it stops at Pareto-stationary points. With τ > 0 it moves on wherever the
    primary's gradient is not zero.

    With normalised gradients g̃_i = s_i g_i,

        d̃ = argmin ½ ‖d − g̃_1‖²   s.t.   g̃_j·d ≥ τ_j ‖g̃_j‖²  for every secondary j,      (Eq. 4)

    so that d̃ = g̃_1 + Σ_j μ_j g̃_j with multipliers μ ≥ 0 that vanish where a constraint is slack.
    For τ > 0 it is zero only where every gradient is zero; for τ = 0 only at Pareto-stationary points.

    `normalization`, with v_i the exponential moving average of ‖g_i‖² and v̂_i = v_i / (1 − β^t):

        ema:   s_i = (v̂_i + ε)^(−1/2),  or (v̂_i (1 + ε))^(−1/2) with `epsilon_form=relative`, whose
               direction does not change at all when an objective is multiplied by a constant;
        unit:  s_i = 1 / ‖g_i‖;         none:  s_i = 1.

    A gradient that has been zero throughout has s_i = 1.

    Infeasible (possible for K ≥ 3, where secondaries are positively dependent: Σ_j y_j g̃_j = 0 for
    some y ≥ 0 with y_j τ_j > 0). A smaller τ > 0 would not help: if one is feasible, all are. What can
    be given up is a demand, and `infeasible` says which:

        primary:    all, d̃ = g̃_1 for that step;
        no-ascent:  every τ_j becomes 0, so that no secondary ascends and none is sure of progress;
        back-off:   τ_j becomes 0 for those that are part of a contradiction, y_j > 0 for some such y,
                    and stays for all others. This differs from `no-ascent` for K ≥ 4 only.

    Such steps are counted in `infeasible_steps`, and in the run's diagnostics as `infeasible`.

    Beyond the paper: `schedule` makes τ depend on the step t = 0, …, T − 1, with ρ the `ramp`,

        constant:  τ;     warm-up:  τ min(1, (t + 1)/(ρT));     annealed:  τ min(1, (T − t)/(ρT)),

    and `priority` gives each secondary a level, 1 the highest. From d⁰ = g̃_1 on, level after level,

        dˡ = argmin ½ ‖d − dˡ⁻¹‖²   s.t.   g̃_j·d ≥ τ_j ‖g̃_j‖²  for j of level l,
                                           g̃_i·d ≥ g̃_i·dˡ⁻¹    for i of a level before,

    and d̃ is the last dˡ: a lower level never takes from a higher what that has reached. Where a level's
    demands contradict each other or the levels before, `infeasible` holds for that level alone; what the
    levels before do not let descend stays as dˡ⁻¹ leaves it. With one level this is Eq. 4.

    Scale: `rescale=primary` returns d̃ at the primary gradient's length, ‖d‖ = ‖g_1‖, which makes
    one objective plain gradient descent. It also stops where g_1 = 0, although d̃, a combination of
    the secondaries, need not be zero there; `rescale=none` returns d̃ itself, whose length is about
    one under `ema` and `unit`, and goes on. Where gradients cancel and leave less than the step
    resolves (about 1e-7 of the terms of d̃ in float64, 4e-6 in float32), d̃ counts as zero for τ = 0, and
    for τ > 0 it is stretched as if it were that long, so that rounding is never blown up to a step.

    Diagnostics: `active` constraints, `infeasible`, `deviation` ‖d − g_1‖/‖g_1‖, `alignment`
    cos(d, g_1), the `slack` min_j g̃_j·g̃_1 − τ_j ‖g̃_j‖² of the primary gradient, ‖g_1‖ and ‖g_2‖, and the
    `multipliers` μ.
    """

    title = "PCD"
    formulas = (
        Formula(
            r"\tilde d = \underset{d}{\text{arg min}}\ \frac{1}{2} {\lVert d - \tilde g_1 \rVert}^2 \quad "
            r"\text{subject to} \quad \tilde g_j \cdot d \ge \tau {\lVert \tilde g_j \rVert}^2, \quad j \ge 2",
            "The projection",
        ),
        Formula(
            r"\tilde g_i = \frac{g_i}{\sqrt{\hat v_i + \varepsilon}}",
            "Normalised gradients, v̂ the moving average of the squared length",
        ),
        Formula(
            r"d = \frac{\lVert g_1 \rVert}{\lVert \tilde d \rVert}\, \tilde d",
            "The update has the length of the primary gradient",
        ),
    )
    reference = Reference(
        "D. Varam and M. I. AlHajri",
        "Not All Objectives Are Born Equal: Priority-Constrained Descent for Hierarchical Multi-Objective Optimization",
        year=2026,
    )
    look = Look("#553685", "#7353A4", "o")
    curves = ("multipliers",)
    lacks: ClassVar = {
        "symmetric in all objectives": "the first objective is the primary",
        "scale-invariant direction": "the additive ε is not rescaled; `epsilon_form=relative` is exact",
        "no objective ascends": "the secondaries are served first, and for τ > 0 the primary may ascend",
    }

    tau: float | tuple[float, ...] = reals(
        0.02, low=0.0, high=1.0, meaning="τ, guaranteed share of each secondary's largest progress"
    )
    normalization: str = choice("ema", ("ema", "unit", "none"), meaning="how gradients are brought to one scale")
    beta: float = real(0.999, low=0.0, high=1.0, low_open=True, high_open=True, meaning="decay β of ema")
    epsilon: float = real(1e-8, low=0.0, meaning="stabiliser ε of ema")
    epsilon_form: str = choice("additive", ("additive", "relative"), meaning="ema divides by √(v̂+ε) or √(v̂(1+ε))")
    rescale: str = choice("primary", ("primary", "none"), meaning="length of the update: that of g_1, or of d̃")
    infeasible: Relaxation = choice(
        "primary",
        ("primary", "no-ascent", "back-off"),
        meaning="where no direction satisfies all constraints: g_1, or τ = 0 for all, or for those that contradict",
    )
    schedule: str = choice(
        "constant", ("constant", "warm-up", "annealed"), meaning="how τ changes over a run", implicit=True
    )
    ramp: float = real(
        0.5,
        low=0.0,
        high=1.0,
        low_open=True,
        meaning="ρ, share of the run in which τ rises or falls",
        implicit=True,
    )
    priority: float | tuple[float, ...] | None = reals(
        None, low=1.0, meaning="level of each secondary, 1 the highest; none: all have the same", implicit=True
    )

    symbols: ClassVar[dict[str, str]] = {"tau": "τ"}
    diagnostics = (
        Metric("active", "binding constraints", range=NON_NEGATIVE, meaning="constraints that bind"),
        Metric(
            "infeasible",
            "infeasible steps",
            better="min",
            range=SHARE,
            meaning="whether no direction satisfies all constraints",
        ),
        Metric(
            "deviation",
            "deviation from the primary gradient",
            better="min",
            range=NON_NEGATIVE,
            meaning="‖d − g_1‖ / ‖g_1‖, how far the update is from the primary gradient",
        ),
        Metric(
            "alignment",
            "alignment with the primary gradient",
            better="max",
            meaning="cos(d, g_1), the cosine of the update with the primary gradient",
        ),
        Metric(
            "slack",
            "slack of the primary gradient",
            better="max",
            meaning="smallest g̃_j·g̃_1 − τ_j ‖g̃_j‖², negative where the primary gradient alone breaks a constraint",
        ),
        Metric("primary_norm", "‖g₁‖", better="min", range=NON_NEGATIVE, meaning="length of the primary gradient"),
        Metric(
            "secondary_norm",
            "‖g₂‖",
            better="min",
            range=NON_NEGATIVE,
            meaning="length of the first secondary's gradient",
        ),
    )

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        for name in ("beta", "epsilon", "epsilon_form"):
            if self.normalization != "ema" and getattr(self, name) != self.settings[name].default:
                raise UserError(
                    f"pcd.{name}={getattr(self, name)} has no effect with pcd.normalization={self.normalization}; "
                    "leave it out, or use pcd.normalization=ema"
                )
        if self.schedule == "constant" and self.ramp != self.settings["ramp"].default:
            raise UserError(f"pcd.ramp={self.ramp:g} has no effect with pcd.schedule=constant; leave it out")
        if self.priority is not None and not isinstance(self.priority, tuple):
            raise UserError(f"pcd.priority={self.priority:g} is not accepted; it takes a list, one level per secondary")
        self._start(1)

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        one_each("pcd.tau", self.tau, k - 1, "secondary objectives")
        if self.priority is not None:
            one_each("pcd.priority", self.priority, k - 1, "secondary objectives")
        self._start(k)

    def _start(self, k: int) -> None:
        self.steps = 0
        self.infeasible_steps = 0
        self.averages = [0.0] * k

    def weights(self, step: Step) -> list[float]:
        gram = step.gram
        rows: list[list[float]] = gram.tolist()
        squares = [row[i] for i, row in enumerate(rows)]
        if len(squares) != len(self.averages):
            raise MethodError(f"pcd was reset for {len(self.averages)} objectives and got {len(squares)}")
        scales = self._scales(squares)
        # Dividing the program by s_1 gives the same program on the raw gradients with τ_j s_j / s_1 for τ_j.
        first = scales[0]
        ratios = [scale / first for scale in scales[1:]]
        tolerances = self._tolerances(step)
        resolution = step.resolution
        multipliers, tau, feasible = self._project(gram, [*map(mul, tolerances, ratios)], resolution)
        primary = squares[0]
        if primary == 0.0 and self.rescale == "primary":  # the step is halted, whatever the secondaries ask for
            multipliers = [0.0] * len(multipliers)

        # g_1·d and ‖d‖² for d = g_1 + Σ_j μ_j g_j: where μ_j > 0 the constraint binds, g_j·d = τ_j ‖g_j‖².
        along, demanded, terms, shortest, active = primary, 0.0, primary, 0.0, 0
        for multiplier, product, threshold, square in zip(multipliers, rows[0][1:], tau, squares[1:], strict=True):
            shortest = max(shortest, threshold * threshold * square)
            if multiplier > 0.0:
                active += 1
                along += multiplier * product
                demanded += multiplier * threshold * square
                terms += multiplier * multiplier * square
        squared_length = self._checked_length(along + demanded, shortest, gram, multipliers)
        # What is demanded bounds the length from below, however the gradients were rounded; only products blur it.
        blur = min(resolution, PRODUCTS) if demanded > 0.0 else resolution
        resolved = squared_length > blur * terms

        if self.rescale == "none":
            scale = first
        elif resolved:
            scale = math.sqrt(primary / squared_length)
        else:
            scale = math.sqrt(primary / (blur * terms)) if demanded > 0.0 else 0.0
        step.note(active=active, infeasible=not feasible, multipliers=np.array([*map(truediv, multipliers, ratios)]))
        if ratios:
            slack = min(
                scale * (first * product - tolerance * scale * square)
                for scale, product, tolerance, square in zip(
                    scales[1:], rows[0][1:], tolerances, squares[1:], strict=True
                )
            )
            step.note(slack=slack, primary_norm=math.sqrt(primary), secondary_norm=math.sqrt(squares[1]))
        if resolved and primary > 0.0:
            step.note(
                deviation=math.sqrt(max(0.0, 1.0 + scale * (scale * squared_length - 2.0 * along) / primary)),
                alignment=along / math.sqrt(squared_length) / math.sqrt(primary),
            )
        return [scale, *[scale * multiplier for multiplier in multipliers]]

    @staticmethod
    def weights_of_all(methods: Sequence[PCD], steps: Sequence[Step]) -> npt.ArrayLike:
        if steps[0].k < 2 or any(method.priority is not None or method.normalization != "ema" for method in methods):
            return [method.weights(step) for method, step in zip(methods, steps, strict=True)]
        return together(methods, steps)

    def _tolerances(self, step: Step) -> tuple[float, ...]:
        """Return the τ_j of this step."""
        tau = self.tau if isinstance(self.tau, tuple) else (self.tau,) * (step.k - 1)
        if self.schedule == "constant":
            return tau
        if step.total_steps is None:
            raise UserError(f"pcd.schedule={self.schedule} needs to know how many steps there will be: total_steps")
        steps = step.iteration + 1 if self.schedule == "warm-up" else step.total_steps - step.iteration
        factor = min(1.0, max(0.0, steps / (self.ramp * step.total_steps)))
        return tuple(factor * each for each in tau)

    def _scales(self, squares: list[float]) -> list[float]:
        """Return the factors s_i of this step's normalised gradients."""
        if self.normalization == "none":
            return [1.0] * len(squares)
        if self.normalization == "unit":
            return [1.0 / math.sqrt(square) if square > 0.0 else 1.0 for square in squares]
        self.steps += 1
        beta = self.beta
        share = 1.0 - beta
        corrected = 1.0 / (1.0 - beta**self.steps)
        if self.epsilon_form == "additive":
            added = self.epsilon
        else:
            added, corrected = 0.0, corrected * (1.0 + self.epsilon)
        averages, scales = self.averages, []
        for i, square in enumerate(squares):
            averages[i] = average = beta * averages[i] + share * square
            normaliser = average * corrected + added
            scales.append(1.0 / math.sqrt(normaliser) if normaliser > 0.0 else 1.0)
        return scales

    def _project(self, gram: Matrix, tau: list[float], resolution: float) -> tuple[list[float], list[float], bool]:
        """Return the multipliers of the raw gradients, the τ they meet, and whether that is the τ asked for."""
        if self.priority is None:
            projection = project_primary(gram, tau, resolution)
            if projection.feasible:
                return projection.multipliers.tolist(), tau, True
        none = [0.0] * len(tau)
        if self.priority is None and self.infeasible != "back-off":
            self.infeasible_steps += 1
            met = none if self.infeasible == "primary" else project_primary(gram, none).multipliers.tolist()
            return met, none, False
        levels = one_each("pcd.priority", self.priority or 1.0, len(tau), "secondary objectives")
        cascade = project_in_levels(gram, tau, levels, self.infeasible, resolution)
        self.infeasible_steps += not cascade.kept
        return cascade.multipliers.tolist(), cascade.tau.tolist(), cascade.kept

    def _checked_length(self, square: float, shortest: float, gram: Matrix, multipliers: list[float]) -> float:
        """Return ‖d‖², given as the `square` that follows if every constraint with μ_j > 0 binds exactly.

        The program of four and more objectives is not solved in closed form, and errors of μ enter that
        `square` to first order; with priorities a level may get more than it demands. Where
        ‖g_1 + Σ_j μ_j g_j‖² says otherwise it is right. In any case
        ‖d‖ ≥ τ_j ‖g_j‖ for every j, the square of which is at most `shortest`.
        """
        if len(multipliers) > 2 or self.priority is not None:
            weights = np.array([[1.0, *multipliers]])
            measured = float(squared_lengths(np.array(gram[None]), weights)[0])
            if abs(measured - square) > 1e-6 * measured:
                square = measured
        return shortest if square < (1.0 - 1e-6) * shortest else square
