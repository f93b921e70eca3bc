"""Types of this site's tables; they go with the site."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd
from markupsafe import Markup

from mobench.core.metric import Direction
from mobench.scoring.indicators.intervals import interval
from mobench.scoring.results import SuiteResults
from mobench.scoring.select import Criterion
from mobench.scoring.standings import Standings

from .reading import stem_of
from .submissions import Reference

Key = tuple[str, str]
"""A problem instance and a contender."""


EXPLANATIONS = {
    "best": "the best configuration of the sweep; chosen on the number shown, so a longer sweep has an advantage",
    "mean": "the mean over the sweep; neither direction is better",
}
"""How many configurations become one number."""


@dataclass(frozen=True)
class Shown:
    """A picture as a page shows it."""

    stem: str
    """Its path inside the site without the ending."""
    title: str
    alt: str
    width: int
    height: int


@dataclass(frozen=True)
class Measure:
    """One number per method and problem instance."""

    label: str
    metric: str
    kind: str
    """`selected`, `front`, or a key of `EXPLANATIONS`."""
    best: Direction | None
    criterion: Criterion | None = None
    """How the configuration is chosen, where one is."""
    unit: float = 1.0
    decimals: int | None = None
    selection: str = ""
    """How a configuration was selected, where one was; of a front, what the problem says of its volume."""

    @property
    def how(self) -> str:
        """How many configurations become one number."""
        return self.selection or EXPLANATIONS[self.kind]


@dataclass(frozen=True)
class Number:
    """One number, with everything that a reader needs to doubt it."""

    values: Mapping[int, float]
    """By seed; empty where the contender failed."""
    best: bool = False
    """Whether it is the best of its column, or cannot be told from it."""
    configuration: str | None = None
    """The id of the configuration it belongs to, None where it belongs to the whole sweep."""
    missing: int = 0
    """Number of the instance's seeds that are missing."""
    published: float | None = None
    source: str = ""
    note: str = ""

    @property
    def failed(self) -> bool:
        """Whether there is no number at all."""
        return not self.values

    @cached_property
    def spread(self) -> tuple[float, float | None, float | None]:
        """Mean over seeds, and the bootstrap interval where there is more than one seed."""
        found = interval(self.values.values())
        return found.mean, found.low, found.high


@dataclass(frozen=True)
class SuiteNumbers:
    """The table of a suite: contenders down, problem instances and measures across."""

    results: SuiteResults
    measures: tuple[Measure, ...]
    instances: Mapping[str, str]
    """Labels of the problem instances, in order."""
    entries: Mapping[tuple[int, str, str], Number] = field(repr=False)
    """By position of the measure, instance and contender; none where the contender did not run."""

    def groups(self) -> Iterator[tuple[Key, pd.DataFrame]]:
        """Yield the runs behind every row and problem instance, as they are asked for: all at once are many."""
        for instance, members in self.results.table.groupby("instance", sort=False):
            for contender, runs in members.groupby("contender", sort=False):
                yield (str(instance), str(contender)), runs

    @cached_property
    def files(self) -> dict[Key, int]:
        """The number of the data file behind every row and problem instance."""
        keys = self.results.table[["instance", "contender"]].drop_duplicates()
        pairs = zip(keys["instance"].map(str), keys["contender"].map(str), strict=True)
        return {key: position for position, key in enumerate(pairs)}

    @cached_property
    def problems(self) -> dict[str, str]:
        """The problem of every instance."""
        first = self.results.table.drop_duplicates("instance")
        return dict(zip(first["instance"], first["problem"], strict=True))


@dataclass(frozen=True)
class NumberCell:
    """One number of a table."""

    value: str
    """To sort by; empty where there is none."""
    mean: str
    interval: str
    published: str
    remark: str
    class_: str
    file: int
    key: str
    position: int


@dataclass(frozen=True)
class NumberColumn:
    """One column: a measure on a problem instance."""

    measure: str
    problem: str
    label: str
    instance: str
    best: str


@dataclass(frozen=True)
class NumberRow:
    """A contender's numbers, or a problem's."""

    name: str
    href: str
    marker: Markup
    submitted: str
    cells: list[NumberCell | None]
    verdict: str = ""
    ranked: bool = True
    """Whether it is ranked; one that was sent in and not repeated is not, and stands last."""


@dataclass(frozen=True)
class NumberTable:
    """A table whose numbers open."""

    id: str
    caption: str
    folder: str
    columns: list[NumberColumn]
    rows: list[NumberRow]
    first: str = "method"
    measures: list[tuple[str, str]] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    preferred: str = ""
    sorted_by: int | None = None
    """The column by which the rows are sorted, where it is a single one."""
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class PlainCell:
    """A text, and a value to sort it by."""

    text: str
    value: str | None = None
    strong: bool = False


@dataclass(frozen=True)
class RankRow:
    """One line of a ranking."""

    name: str
    href: str
    marker: Markup
    submitted: str
    verdict: str
    rank: str
    rank_value: str
    interval: str
    bar: Markup
    """Mean rank and interval as a picture."""
    contests: int
    failed_contests: int
    runs: int
    failed: int


@dataclass(frozen=True)
class Ranking:
    """A ranking with its caption and the notes that a reader needs."""

    found: Standings
    caption: str
    rows: list[RankRow]
    notes: list[str]


@dataclass(frozen=True)
class SuiteView:
    """Numbers, ranks and pictures of a suite."""

    numbers: SuiteNumbers
    ranking: Ranking | None
    finish_pictures: Callable[[], list[Shown]]
    """Waits for the pictures, and writes them."""
    reference: Reference | None = None
    """The bundle that its runs come from, where they ship with mobench."""

    @cached_property
    def pictures(self) -> list[Shown]:
        """The plots. Ask late: until they are drawn there is other work."""
        return self.finish_pictures()

    @property
    def results(self) -> SuiteResults:
        """The runs behind it."""
        return self.numbers.results

    @property
    def href(self) -> str:
        """The suite's page."""
        return f"suites/{stem_of(self.results)}.html"
