"""What every column of a results table is called, which way it is better, and what it means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from mobench.core import registry
from mobench.core.columns import DELTA, IDENTITY, MEASURED
from mobench.core.method import Method
from mobench.core.metric import Metric
from mobench.core.problem import Problem
from mobench.core.settings import Configurable


class MetricCatalog:
    """The columns that some problems and methods declare, by name, and the engine's own.

    Where two problems declare one name differently, the first counts; `MetricCatalog([problem])` is what one of them
    says. `name in catalog` says whether a column is declared; one that is not is labelled by its name.
    """

    def __init__(self, problems: Iterable[Problem] = (), methods: Iterable[type[Method]] | None = None) -> None:
        """Read the declarations of these problems and methods, by default of all known methods."""
        from mobench.training.optimizer import Training

        given = list(problems)
        kinds = list(registry.methods().values() if methods is None else methods)
        declared = [
            *(Metric(name, name.replace("_", " "), meaning=meaning) for name, meaning in IDENTITY.items()),
            *MEASURED,
            DELTA,
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
