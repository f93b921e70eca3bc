"""Run the candidates of a digits profile, and print what the rule of docs/protocol.md chooses among them.

    python -m benchmarks.tuning suite=compression results=DIR [lr=0.1 epochs=20]

1. Learning rate, epochs and size of the sweeps, the same for all methods: of all `LEARNING_RATES` with all `LENGTHS`,
   which cost about the same time, those with the highest mean over contenders of the validation hypervolume of their
   best sweep of that size.
2. Each contender's sweep: so many values of the grid, those with the highest validation hypervolume.

With `lr` and `epochs` given only these are tried. Only metrics of validation images are read.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from mobench.cli import main
from mobench.core.registry import find_problem
from mobench.planning.suite import load_suite
from mobench.scoring.contender import with_contenders
from mobench.scoring.runs import results_table
from mobench.scoring.volumes import Front, fronts
from mobench.store.folder import Store

PROFILE = "digits-tuning"
ON_TEST = ("accuracy", "sparse_accuracy", "loss/cross-entropy", "log10/cross-entropy")
"""How metrics begin that are measured on test images; they are dropped before anything is looked at."""
LEARNING_RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
LENGTHS = ((10, 5), (20, 3))
"""Epochs, and how many configurations a swept method then has, so that the whole suite takes about as long."""
ALWAYS = {"pcd": 0.0}
"""Knob values that a sweep contains in any case: the paper draws τ = 0 beside the others."""

Fronts = Mapping[str, list[Front]]
"""By contender, one for each tuning seed."""


def run(suite: str, lr: float, epochs: int, results: str) -> None:
    """Train the candidates that are missing."""
    code = main(
        ["run", f"suite={suite}", f"profile={PROFILE}", f"training.lr={lr}", f"training.epochs={epochs}",
         f"results={results}"]
    )  # fmt: skip
    if code:
        raise SystemExit(code)


def candidates(suite: str, results: str) -> pd.DataFrame:
    """Return all runs, without any number that was measured on test images."""
    table = with_contenders(results_table(Store(Path(results)).records()), load_suite(suite, PROFILE).split)
    return table.drop(columns=[name for name in table if str(name).startswith(ON_TEST)]).copy()


def validation_fronts(table: pd.DataFrame, suite: str, lr: float, epochs: int) -> tuple[Fronts, dict[str, list[float]]]:
    """Return every contender's points as validation data show them, and the knob values of its configurations."""
    (entry,) = load_suite(suite, PROFILE).problems.values()
    problem = find_problem("compression")(**(entry[0] if isinstance(entry, list) else entry))
    ranking = problem.hypervolumes()[0]
    seen = replace(ranking, points=tuple(replace(point, values=point.select) for point in ranking.points))
    runs = table[(table["training.lr"] == lr) & (table["training.epochs"] == epochs)]
    found: dict[str, list[Front]] = {}
    knobs: dict[str, list[float]] = {}
    for contender, members in runs.groupby("contender", sort=False):
        swept = (f"method.{name}" for name in ("tau", "weight", "c", "p"))
        knob = next((name for name in swept if name in members and members[name].nunique() > 1), "")
        members = members.assign(knob=members[knob].astype(float) if knob else 0.0).sort_values("knob")
        found[str(contender)] = list(fronts(seen, members).values())
        knobs[str(contender)] = list(dict.fromkeys(members["knob"]))
    return found, knobs


def value(front: Sequence[Front], chosen: Sequence[int] | None = None) -> float:
    """Return the mean over seeds of the validation hypervolume."""
    return float(np.mean([one.volume(chosen) for one in front]))


def best_sweep(contender: str, front: Sequence[Front], knobs: Sequence[float], size: int) -> tuple[float, list[int]]:
    """Return the best sweep of `size` configurations; of equals the first."""
    sweeps: Iterator[tuple[int, ...]] = itertools.combinations(range(len(knobs)), min(size, len(knobs)))
    forced = [place for place, knob in enumerate(knobs) if ALWAYS.get(contender) == knob]
    scored = [(value(front, sweep), list(sweep)) for sweep in sweeps if {*forced} <= {*sweep}]
    return max(scored, key=lambda entry: entry[0])


def choose(suite: str, results: str, lr: float | None, epochs: int | None) -> None:
    """Apply the rule and print every number behind it."""
    lengths = [pair for pair in LENGTHS if epochs in (None, pair[0])]
    tried = [(rate, *pair) for pair in lengths for rate in LEARNING_RATES if lr in (None, rate)]
    for rate, length, _ in tried:
        run(suite, rate, length, results)
    rate, length, size = max(tried, key=lambda candidate: _report_sweeps(suite, results, *candidate))
    print(f"\nchosen: lr={rate:g}, epochs={length}, {size} configurations for every swept method")


def _report_sweeps(suite: str, results: str, lr: float, epochs: int, size: int) -> float:
    found, knobs = validation_fronts(candidates(suite, results), suite, lr, epochs)
    best = {name: best_sweep(name, front, knobs[name], size) for name, front in found.items()}
    mean = float(np.mean([score for score, _ in best.values()]))
    print(f"\nlr={lr:g}, {epochs} epochs, sweeps of {size}: mean {mean:.4f}")
    for name, (score, places) in best.items():
        print(f"  {name:18} {score:.3f}  {[knobs[name][place] for place in places] if len(knobs[name]) > 1 else ''}")
    return mean


if __name__ == "__main__":
    given = dict(argument.partition("=")[::2] for argument in sys.argv[1:])
    choose(
        given.get("suite", "compression"),
        given.get("results", "results/tuning"),
        float(given["lr"]) if "lr" in given else None,
        int(given["epochs"]) if "epochs" in given else None,
    )
