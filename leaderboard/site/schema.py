"""What every column of the downloadable results means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import pandas as pd

from mobench.core.registry import methods, problems
from mobench.core.settings import Configurable
from mobench.training.optimizer import Training

MEANINGS = {
    "suite": "the suite that the run belongs to",
    "profile": "the suite's profile; results of different profiles are never compared",
    "id": "the run: the sha256 of its spec; `mobench show ID` prints it",
    "problem": "name and version of the problem",
    "method": "name of the method",
    "method_label": "the method with the settings that differ from their defaults",
    "problem_label": "the problem with the settings that differ from their defaults",
    "contender": "the row of the tables: a method, or one of its forms where a suite tells them apart",
    "instance_label": "the problem instance as the tables name it",
    "seed": "the seed; runs of equal seed share initial point and data order",
    "status": "done or failed",
    "configuration": "equal for runs that differ in the seed alone",
    "instance": "equal for runs of one problem and training, whatever the method",
    "submitted": "who sent the run in; empty for the project's own runs",
    "seconds": "wall-clock time of the run",
    "seconds_per_step": "wall-clock time of a step; a group's time is divided by its members",
    "method_seconds_per_step": "the part of it spent inside the method",
    "steps": "steps taken",
    "runs_in_lockstep": "how many runs shared every step",
    "backward_passes": "backward passes of the run",
    "peak_memory": "highest resident memory in bytes while the run trained",
    "failed_at_step": "the step at which the run failed",
    "error": "the traceback of a failed run",
    "primary_gradient_norm": "norm of the primary objective's gradient at the end",
    "cms_residual": "largest gradient norm of all objectives at the end; 0 where every objective is stationary",
    "secondary_progress": "mean cosine of the update with the gradient of the worst served secondary",
    "accuracy@mean": "mean of the test accuracies over all shares of parameters removed",
    "accuracy@*": "test accuracy in per cent with so many per cent of the parameters removed",
    "accuracy": "test accuracy in per cent of the whole network",
    "selection_*": "the same metric on validation data, for choosing configurations",
    "loss/*": "the objective of that name at the end, minimised",
    "diagnostic/*": "what the method noted about its steps: mean over the run",
    "total/*": "what the method noted about its steps: sum over the run",
    "group_sparsity": "share of filters without weight",
    "parameter_sparsity": "share of zero weights",
    "effective_rank": "mean effective rank of the weight matrices",
    "flops*": "multiply-adds of the network; after @, with so many per cent of the parameters removed",
    "latency_ms*": "milliseconds for one image on the CPU; after @, with so many per cent of the parameters removed",
    "bytes*": "size of the network's file; after @, with so many per cent of the parameters removed",
    "parameters*": "parameters of the network; after @, with so many per cent of them removed",
    "reduction@*": "share of parameters that was removed for this target",
    "log10/*": "decimal logarithm of the objective of that name at the end",
    "farkas_margin": "hull margin of the secondaries, mean over draws: how far PCD's constraints are from infeasible",
    "smallest_farkas_margin": "the smallest hull margin of the secondaries over all draws",
    "x": "first coordinate at the end",
    "y": "second coordinate at the end",
    "distance_to_optimum": "distance from the joint optimum at the end",
    "barriers_crossed": "how many barriers between wells the run crossed",
    "secondary": "the secondary objective at the end in its original unit",
}
"""By column or pattern; settings explain themselves."""


@dataclass(frozen=True)
class ColumnMeaning:
    """One column of the downloads."""

    name: str
    type: str
    meaning: str


def schema(table: pd.DataFrame) -> list[ColumnMeaning]:
    """Return name, type and meaning of every column of the table."""
    return [ColumnMeaning(str(name), _type(table[name]), meaning_of(str(name))) for name in table.columns]


def meaning_of(column: str) -> str:
    """Return what a column holds."""
    part, dot, setting = column.partition(".")
    owners: dict[str, Iterable[type[Configurable]]] = {
        "problem": problems().values(),
        "method": methods().values(),
        "training": [Training],
    }
    if dot and part in owners:
        found = [owner.settings[setting].meaning for owner in owners[part] if setting in owner.settings]
        return "; ".join(dict.fromkeys(found)) or f"a setting of the {part}"
    if column in MEANINGS:
        return MEANINGS[column]
    return next(
        (text for pattern, text in MEANINGS.items() if fnmatchcase(column, pattern)), "a metric of the problem's own"
    )


def _type(column: pd.Series[Any]) -> str:
    kinds = {"b": "boolean", "i": "integer", "u": "integer", "f": "number"}
    if column.dtype.kind in kinds:
        return kinds[column.dtype.kind]
    present = column.dropna()
    if len(present) and present.map(lambda value: isinstance(value, list)).any():
        return "number or list"
    return "text"
