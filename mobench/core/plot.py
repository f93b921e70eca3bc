"""What a plot is: numbers from a suite's results, and a figure from these numbers.

    @register
    class Scale(Plot):
        name = "scale"

        def data(self, results, *, value="accuracy@90", setting="problem.scale"): ...
        def draw(self, frame, metrics): ...

A suite asks for it by name, `plots: [{plot: scale, value: secondary}]`; the keywords of `data` are the
options that it takes.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from mobench.scoring.catalog import MetricCatalog
    from mobench.scoring.results import SuiteResults


Take = Literal["first", "all", "least", "last"]
"""What of the samples of a curve is read: of each its first number, all, or the smallest; or the last sample alone."""


class Plot(ABC):
    """One kind of plot. The first line of its docstring is its title."""

    name: ClassVar[str] = ""
    """The name by which suites ask for it; by default the class name in lower case."""
    reads: ClassVar[tuple[tuple[str, Take], ...]] = ()
    """The curves of records that it reads, and what of them. Bundles of results keep no others."""

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
    def data(self, results: SuiteResults, *args: Any, **options: Any) -> pd.DataFrame:
        """Return the numbers to draw; an empty frame means that there is nothing to draw."""

    @abstractmethod
    def draw(self, frame: pd.DataFrame, metrics: MetricCatalog) -> Figure:
        """Draw what `data` returned; `metrics` says how columns are called."""
