"""What every column of a results table is called, which way it is better, and what it means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from mobench.core import registry
from mobench.core.method import Method
from mobench.core.metric import NON_NEGATIVE, Metric
from mobench.core.problem import Problem
from mobench.core.settings import Configurable

IDENTITY = {
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
    "error": "the traceback of a failed run",
}
"""What says which run a row is, and what became of it."""

_SHARED = "wall-clock time of a step; a group's time is divided by its members"
_INSIDE = "the part of a step's time that is spent inside the method"
_WORST = "mean cosine of the update with the gradient of the worst served secondary"
MEASURED = (
    Metric("secondary_progress", "secondary progress", "", "max", (-1.0, 1.0), _WORST),
    Metric("seconds", "time", "s", "min", NON_NEGATIVE, "wall-clock time of the run"),
    Metric("seconds_per_step", "time per step", "s", "min", NON_NEGATIVE, _SHARED),
    Metric("method_seconds_per_step", "method's own time per step", "s", "min", NON_NEGATIVE, _INSIDE),
    Metric("steps", "steps", "", None, NON_NEGATIVE, "steps taken"),
    Metric("runs_in_lockstep", "runs in lockstep", "", None, NON_NEGATIVE, "how many runs shared every step"),
    Metric("backward_passes", "backward passes", "", "min", NON_NEGATIVE, "backward passes of the run"),
    Metric("peak_memory", "peak memory", "B", "min", NON_NEGATIVE, "highest resident memory while the run trained"),
    Metric("failed_at_step", "failed at step", "", None, NON_NEGATIVE, "the step at which the run failed"),
)
"""What the engine measures of every run, whatever its problem."""


class MetricCatalog:
    """The columns that some problems and methods declare, by name, and the engine's own.

    Where two problems declare one name differently, the first counts; `MetricCatalog([problem])` is what one of them
    says. `name in catalog` tells whether anybody declares a column; one that nobody does is labelled by its name.
    """

    def __init__(self, problems: Iterable[Problem] = (), methods: Iterable[type[Method]] | None = None) -> None:
        """Read the declarations of these problems and methods, by default of all known methods."""
        from mobench.training.optimizer import Training

        given = list(problems)
        kinds = list(registry.methods().values() if methods is None else methods)
        declared = [
            *(Metric(name, name.replace("_", " "), meaning=meaning) for name, meaning in IDENTITY.items()),
            *MEASURED,
            *(metric for problem in given for metric in problem.metrics()),
            *_settings("problem", dict.fromkeys(map(type, given))),
            *_settings("method", kinds),
            *_settings("training", [Training]),
            *(column for kind in kinds for metric in kind.diagnostics for column in _mean_and_total(metric)),
        ]
        self._declared: dict[str, Metric] = {}
        for metric in declared:
            self._declared.setdefault(metric.name, metric)

    def __getitem__(self, name: str) -> Metric:
        return self._declared.get(name) or Metric(name, name.replace("_", " "))

    def __contains__(self, name: object) -> bool:
        return name in self._declared

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)


def _settings(part: str, owners: Iterable[type[Configurable]]) -> Iterator[Metric]:
    """Yield the columns of the settings; a name to which owners give several meanings has them all."""
    meanings: dict[str, list[str]] = {}
    symbols: dict[str, str] = {}
    for owner in owners:
        symbols |= getattr(owner, "symbols", {})
        for name, setting in owner.settings.items():
            meanings.setdefault(name, []).append(setting.meaning)
    for name, found in meanings.items():
        yield Metric(f"{part}.{name}", symbols.get(name, name), meaning="; ".join(dict.fromkeys(found)))


def _mean_and_total(noted: Metric) -> Iterator[Metric]:
    """Yield the two columns of what a method notes at every step."""
    yield replace(noted, name=f"diagnostic/{noted.name}", meaning=f"{noted.meaning}: mean over the run")
    yield replace(
        noted,
        name=f"total/{noted.name}",
        label=f"{noted.label}, total",
        range=(-math.inf if noted.range[0] < 0.0 else 0.0, math.inf),
        meaning=f"{noted.meaning}: sum over the run",
    )
