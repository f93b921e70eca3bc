"""The base of plots: numbers from a suite's results, and a figure from these numbers.

    @register
    class Depth(Plot):
        '''Loss against the depth of the network.'''

        def data(self, results, *, value="loss/fit"):
            return results.summary(["instance_label", "contender", "configuration", "problem.depth"], [value])

        def draw(self, frame, metrics):
            return self.lines(frame, "problem.depth", "instance_label").label(y=metrics[frame["metric"][0]].axis)

A suite asks for it by name, `plots: [{plot: depth, value: loss/fit}]`; the keywords of `data` are the options that it
takes. `draw` returns a `seaborn.objects.Plot`, whose size, theme and legend are set by the caller, or a figure of
matplotlib. Labelled artists are in the legend.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

if TYPE_CHECKING:
    import pandas as pd
    import seaborn.objects as so
    from matplotlib.figure import Figure

    from mobench.core.metric import Metric
    from mobench.core.problem import Problem


Take = Literal["first", "all", "least", "last"]
"""What of the samples of a curve is read: of each its first number, all, or the smallest; or the last sample alone."""


OTHERS = "#c4c4c4"
"""The colour of contenders that have none of their own."""


class MetricNames(Protocol):
    """Declarations of metrics by the name of their column."""

    def __getitem__(self, name: str, /) -> Metric:
        """Return the declaration; a column that nobody declares is labelled by its name."""
        ...

    def __contains__(self, name: object, /) -> bool: ...


class PlotResults(Protocol):
    """The part of a suite's results that plots read."""

    @property
    def table(self) -> pd.DataFrame:
        """A row per run, failed ones too: `id`, `problem`, `instance`, `instance_label`, `method`, `method_label`,
        `contender`, `configuration`, `seed`, `status`, settings (`problem.k`, `method.tau`) and metrics.
        """
        ...

    @property
    def done(self) -> pd.DataFrame:
        """The rows of `table` that finished."""
        ...

    @property
    def order(self) -> tuple[str, ...]:
        """The contenders in the order of the suite."""
        ...

    @property
    def problems(self) -> Mapping[str, Problem]:
        """The problem of every instance."""
        ...

    @property
    def metrics(self) -> MetricNames:
        """The declarations of all columns."""
        ...

    @property
    def diverged_ids(self) -> set[str]:
        """The runs that failed because losses or gradients were NaN or infinite."""
        ...

    @property
    def aims(self) -> pd.DataFrame:
        """The number that ranks: `instance_label`, `contender`, `metric`, `label`, `better`, `mean`, `low`, `high`."""
        ...

    @property
    def budget_curves(self) -> pd.DataFrame:
        """Expected hypervolume of m configurations: `instance_label`, `contender`, `tried`, `mean`, `low`, `high`."""
        ...

    @property
    def performance(self) -> pd.DataFrame:
        """Performance profiles: `contender`, `ratio`, `mean`, and the numbers of `blocks`, `contests`, `suites`."""
        ...

    def where(self, conditions: Mapping[str, Any]) -> PlotResults:
        """Return the runs whose columns have these values; a list means any of them."""
        ...

    def has(self, column: str) -> bool:
        """Say whether the table has a column; raise `UserError` where no problem or method has such a setting."""
        ...

    def histories(self, ids: Collection[str] | None = None) -> Iterator[tuple[str, Mapping[str, list[Any]]]]:
        """Yield the curves of all runs, or of some, by run id."""
        ...

    def panels_over(self, setting: str) -> pd.DataFrame:
        """Return the table with a column `panel`: the instance's name without the setting that is an axis."""
        ...

    def summary(self, by: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
        """Return mean, interval and number of seeds of each group and metric: `metric`, `mean`, `low`, `high`, `n`."""
        ...

    def select_metric(self, validation: str, test: str) -> str:
        """Return the metric that chooses configurations, by the data on which they are selected."""
        ...

    def selected_by(self, value: str, select: str) -> pd.DataFrame:
        """Return `value` of the configuration that `select` chooses of each contender on each instance.

        Columns: `instance`, `instance_label`, `contender`, `configuration`, `chosen`, `mean`, `low`, `high`.
        """
        ...


class Plot(ABC):
    """One kind of plot. The first line of its docstring is its title."""

    name: ClassVar[str] = ""
    """The name by which suites ask for it; by default the class name in lower case."""
    reads: ClassVar[tuple[tuple[str, Take], ...]] = ()
    """The curves of records that it reads, and what of them. Bundles of results keep no others."""
    panel: tuple[float, float] = (3.1, 2.6)
    """Width and height of one panel in inches."""

    colors: Mapping[str, str] = MappingProxyType({})
    """The colour of every contender, set before `data` and `draw`.

    The best five of the suite, baselines and contenders that the command names have a colour of their own, the rest
    has `OTHERS`.
    """
    markers: Mapping[str, str] = MappingProxyType({})
    """The marker of every contender."""
    kept: Collection[str] = ()
    """The baselines, and the contenders that the command names: they are shown wherever others are left out."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.name = vars(cls).get("name") or cls.__name__.lower()

    @classmethod
    def title(cls) -> str:
        """Return the first line of the docstring."""
        return inspect.cleandoc(cls.__doc__ or cls.name).partition("\n")[0].rstrip(".")

    @classmethod
    def options(cls) -> dict[str, Any]:
        """Return the options of `data` with their defaults."""
        signature = inspect.signature(cls.data)
        return {
            name: parameter.default
            for name, parameter in signature.parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }

    @abstractmethod
    def data(self, results: PlotResults, *args: Any, **options: Any) -> pd.DataFrame:
        """Return the numbers to draw; an empty frame means that there is nothing to draw."""

    @abstractmethod
    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure | so.Plot:
        """Draw what `data` returned; `metrics` says how columns are called."""

    def in_color(self, frame: pd.DataFrame) -> pd.Series[bool]:
        """Mark the rows of contenders that have a colour of their own."""
        return frame["contender"].map(lambda name: self.colors.get(name, OTHERS) != OTHERS).astype(bool)

    def lines(self, frame: pd.DataFrame, x: str, panel: str) -> so.Plot:
        """Describe lines of `mean` against `x`, a panel for each value of `panel`.

        Contenders in colour have markers and a band from `low` to `high`; the others are thin and grey.
        """
        import seaborn.objects as so

        drawn = frame.dropna(subset=["mean"]).reset_index(drop=True)
        colored = drawn[self.in_color(drawn)]
        described = so.Plot(drawn, x=x, y="mean").facet(panel, wrap=4).share(x=False, y=False)
        if len(colored) < len(drawn):
            grey = drawn[~self.in_color(drawn)]
            described = described.add(so.Lines(color=OTHERS, linewidth=0.8), data=grey, group="contender")
        if len(colored):
            band, line = so.Band(alpha=0.13), so.Line(edgecolor="w", edgewidth=0.6, pointsize=5)
            described = described.add(band, data=colored, color="contender", ymin="low", ymax="high", legend=False)
            described = described.add(line, data=colored, color="contender", marker="contender")
        return described.scale(color=dict(self.colors), marker=dict(self.markers))
