"""What every column of a results table is called, which way it is better, and what it means."""

from __future__ import annotations

from collections.abc import Iterable

from mobench.core.metric import Metric
from mobench.core.problem import Problem


class MetricCatalog:
    """The metrics that some problems declare; a column that nobody declares is called by its own name."""

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        self._declared: dict[str, Metric] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._declared

    def __getitem__(self, name: str) -> Metric:
        return self._declared.get(name) or Metric(name, name.replace("_", " "))
