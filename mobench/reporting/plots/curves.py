"""A loss along a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from mobench.core.registry import register
from mobench.errors import UserError

from .along_the_run import AlongTheRun

if TYPE_CHECKING:
    from mobench.core.plot import MetricNames, PlotResults


@register
class Curves(AlongTheRun):
    """A loss along the run: median and range over configurations and seeds."""

    reads = (("losses", "all"),)
    place = 0

    def data(self, results: PlotResults, *, objective: int = 1) -> pd.DataFrame:
        """Return the median and the range of one objective on the training batch, 1 for the primary."""
        self.take(objective=objective)
        frame = self.curves(results)
        names = {name: problem.objectives() for name, problem in results.problems.items()}
        known = {listed[self.place] for listed in names.values() if self.place < len(listed)}
        return frame.assign(objective=known.pop() if len(known) == 1 else f"objective {objective}")

    def take(self, *, objective: int = 1, **options: Any) -> None:
        if not isinstance(objective, int) or objective < 1:
            raise UserError(f"the plot curves takes objective=N, 1 for the primary, not {objective}")
        self.place = objective - 1

    def number(self, value: Any) -> float | None:
        loss: float | None = value[self.place] if self.place < len(value) else None
        return loss

    def label(self, frame: pd.DataFrame, metrics: MetricNames) -> str:
        return f"{frame['objective'].iloc[0]} loss"
