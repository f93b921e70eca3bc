"""Curves along the run: the median over configurations and seeds, and their range as a band.

Every run is read once for all plots of a suite, see `read_together`.
"""

from __future__ import annotations

import math
import textwrap
from abc import abstractmethod
from array import array
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mobench.core.plot import MetricNames, Plot, PlotResults
from mobench.core.registry import register
from mobench.errors import UserError

from .drawing import as_text, in_order, panels_of_lines
from .kinds import FLOOR

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARGIN = 0.05
"""The part of an axis that is left free above the highest number."""
LETTERS_PER_INCH = 10

Array = NDArray[np.float64]


class Samples:
    """One number at the sampled steps of many runs, by problem instance and contender."""

    def __init__(
        self,
        column: str,
        number: Callable[[Any], float | None],
        table: pd.DataFrame,
        diverged: Collection[str] = frozenset(),
    ) -> None:
        """Take which column of a run holds the number, the runs, and the ids of those that diverged."""
        self._column, self._number, self._diverged = column, number, diverged
        keys: dict[tuple[str, str], tuple[str, str]] = {}
        self._places: dict[str, tuple[str, str]] = {}
        for id_, label, contender in zip(table["id"], table["instance_label"], table["contender"], strict=True):
            self._places[str(id_)] = keys.setdefault((label, contender), (label, contender))
        self._found: dict[tuple[str, str], dict[tuple[int, ...], array[float]]] = {}
        self._kept: dict[tuple[str, str], dict[tuple[int, ...], list[bool]]] = {}
        """Which runs of each grid of steps did not diverge."""

    @property
    def ids(self) -> Collection[str]:
        """The runs that are wanted."""
        return self._places.keys()

    def add(self, id_: str, history: Mapping[str, list[Any]]) -> None:
        """Take what a run keeps of its steps."""
        place, values = self._places.get(id_), history.get(self._column)
        if place is None or values is None:
            return
        number = self._number
        found = [None if value is None else number(value) for value in values]
        grids = self._found.setdefault(place, {})
        steps = tuple(history["step"])
        grids.setdefault(steps, array("d")).extend([math.nan if x is None else x for x in found])
        self._kept.setdefault(place, {}).setdefault(steps, []).append(id_ not in self._diverged)

    def frame(self) -> pd.DataFrame:
        """Return `instance_label`, `contender`, `step`, the median over runs as `mean`, their range, and their number.

        `high_undiverged` is the highest number of runs that did not diverge, NaN where there is none. A step at which
        no run has a number is left out.
        """
        rows: list[dict[str, Any]] = []
        for (label, contender), grids in self._found.items():
            steps, numbers = _whole(grids)
            kept = np.concatenate([np.array(flags) for flags in self._kept[label, contender].values()])
            highest = np.where(np.isnan(numbers) | ~kept[:, None], -math.inf, numbers).max(axis=0)
            spreads = zip(steps, *(each.tolist() for each in (*_spreads(numbers), highest)), strict=True)
            rows += [
                {
                    "instance_label": label,
                    "contender": contender,
                    "step": step,
                    "mean": middle,
                    "low": low,
                    "high": high,
                    "runs": runs,
                    "high_undiverged": ceiling if math.isfinite(ceiling) else math.nan,
                }
                for step, low, middle, high, runs, ceiling in spreads
                if runs
            ]
        return pd.DataFrame(rows)


class AlongTheRun(Plot):
    """A number that runs sample, against the step. It is read from the one curve that `reads` names."""

    logarithmic: ClassVar[bool] = True
    """Whether the number is drawn on a logarithmic scale."""
    label: ClassVar[str] = ""
    """The label of the axis."""
    _samples: Samples | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the samples behind: a process that draws gets the numbers that were made of them."""
        return {**vars(self), "_samples": None}

    @abstractmethod
    def number(self, value: Any) -> float | None:
        """Return the number at a sampled step at which the curve has this value, None where there is none."""

    def samples(self, results: PlotResults, *args: Any, **options: Any) -> Samples:
        """Return where to put the runs of these results as they are read; `data` then reads none itself."""
        ((column, _),) = self.reads
        self._samples = Samples(column, partial(self.number, **options), results.table, results.diverged_ids)
        return self._samples

    def data(self, results: PlotResults, *args: Any, **options: Any) -> pd.DataFrame:
        """Return median and range at every sampled step that has a number."""
        samples = self._samples
        if samples is None:
            read_together(results, [samples := self.samples(results, **options)])
        frame = samples.frame()
        return in_order(frame.sort_values("step"), results.order).assign(label=self.label) if len(frame) else frame

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw one panel for each problem instance.

        The axis of a number without bounds ends with the runs that did not diverge; what is cut is said.
        """
        ordered = frame.sort_values("instance_label", kind="stable").assign(step=frame["step"] + 1)
        logarithmic = self.logarithmic and bool((frame["high"] > 0).any()) and bool((frame["low"] >= 0).all())
        if logarithmic:
            ordered[["mean", "low", "high"]] = ordered[["mean", "low", "high"]].clip(lower=FLOOR)
        figure, axes = panels_of_lines(self, ordered, "step")
        cut = []
        for axis, (_, part) in zip(axes, ordered.groupby("instance_label", sort=False), strict=True):
            axis.set(xscale="log", yscale="log" if logarithmic else "linear")
            banded = self.in_color(part)  # of the others the median alone is drawn
            reached, undiverged = (part[name].where(banded, part["mean"]) for name in ("high", "high_undiverged"))
            undiverged = undiverged.clip(upper=part["high_undiverged"]).where(part["high_undiverged"].notna())
            bottom, top = float(part["low"].where(banded, part["mean"]).min()), float(undiverged.max())
            if not self.logarithmic:
                axis.set_ylim(-1.05, 1.05)
                axis.axhline(0.0, color="#8a8a8a", linewidth=1.0, zorder=0)
            elif (reached > top).any():
                cut.append(part[reached > top])
                room = (top / bottom) ** MARGIN if logarithmic else MARGIN * (top - bottom)
                axis.set_ylim((bottom / room, top * room) if logarithmic else (bottom - room, top + room))
        words = textwrap.wrap(_cut(pd.concat(cut)), round(LETTERS_PER_INCH * figure.get_figwidth())) if cut else []
        figure.supxlabel("\n".join(["step", *words]))
        figure.supylabel(str(frame["label"].iloc[0]))
        return figure


@register
class Curves(AlongTheRun):
    """A loss along the run: median and range over configurations and seeds."""

    reads = (("losses", "all"),)

    def data(self, results: PlotResults, *, objective: int = 1) -> pd.DataFrame:
        """Return the median and the range of one objective on the training batch, 1 for the primary."""
        listed = [problem.objectives() for problem in results.problems.values()]
        known = {names[objective - 1] for names in listed if objective <= len(names)}
        label = known.pop() if len(known) == 1 else f"objective {objective}"
        return super().data(results, objective=objective).assign(label=f"{label} loss")

    def samples(self, results: PlotResults, *, objective: int = 1) -> Samples:
        if not isinstance(objective, int) or objective < 1:
            raise UserError(f"the plot curves takes objective=N, 1 for the primary, not {objective}")
        return super().samples(results, objective=objective)

    def number(self, value: Any, objective: int = 1) -> float | None:
        loss: float | None = value[objective - 1] if objective <= len(value) else None
        return loss


@register
class GradientNorm(AlongTheRun):
    """Gradient norm of the primary along the run: median and range over configurations and seeds."""

    name = "gradient-norm"
    reads = (("gradient_norms", "first"),)
    label = "‖∇L₁‖"

    def number(self, value: Any) -> float | None:
        norm: float | None = value[0]
        return norm


@register
class Conflict(AlongTheRun):
    """Conflict along the run: the smallest cosine between the primary's and a secondary's gradient."""

    reads = (("cosines", "least"),)
    label = "smallest cos(g₁, gⱼ)"
    logarithmic = False

    def number(self, value: Any) -> float | None:
        return min((cosine for cosine in value if cosine is not None), default=None)


def _cut(beyond: pd.DataFrame) -> str:
    """Name the contenders whose numbers the axes cut."""
    highest = beyond.groupby("contender")["high"].max()
    listed = ", ".join(f"{as_text(str(name))} (to {value:.3g})" for name, value in highest.items())
    return f"Cut above all runs that did not diverge: {listed}"


def read_together(results: PlotResults, several: Collection[Samples]) -> None:
    """Read every run that is wanted once, and hand it to all."""
    wanted = set().union(*(samples.ids for samples in several))
    for id_, history in results.histories(wanted) if wanted else ():
        for samples in several:
            samples.add(id_, history)


def _whole(grids: Mapping[tuple[int, ...], array[float]]) -> tuple[list[int], Array]:
    """Return all steps, and a row of numbers for each run, NaN where it has none; most runs have the same steps."""
    steps = list(dict.fromkeys(step for grid in grids for step in grid))
    columns = {step: column for column, step in enumerate(steps)}
    parts = []
    for grid, numbers in grids.items():
        part = np.full((len(numbers) // max(len(grid), 1), len(steps)), math.nan)
        part[:, [columns[step] for step in grid]] = np.reshape(numbers, (-1, len(grid)))
        parts.append(part)
    return steps, np.concatenate(parts)


def _spreads(numbers: Array) -> tuple[Array, Array, Array, NDArray[np.int64]]:
    """Return lowest number, median, highest number and count of every column without NaN, as `numpy.quantile` does."""
    ordered = np.sort(numbers, axis=0)  # NaN last
    counts = (~np.isnan(numbers)).sum(axis=0)
    columns, last = np.arange(numbers.shape[1]), np.maximum(counts - 1, 0)
    below, above = ordered[last // 2, columns], ordered[(last + 1) // 2, columns]
    return ordered[0], above - (above - below) * 0.5, ordered[last, columns], counts
