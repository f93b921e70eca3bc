"""What the pages show of one suite under one profile."""

from __future__ import annotations

from dataclasses import dataclass

from mobench.scoring.suite_results import SuiteResults

from .pictures import Shown
from .ranking import Ranking
from .reading import stem_of
from .suite_numbers import SuiteNumbers


@dataclass(frozen=True)
class SuiteView:
    """Numbers, ranks and pictures of a suite."""

    numbers: SuiteNumbers
    ranking: Ranking | None
    pictures: list[Shown]

    @property
    def results(self) -> SuiteResults:
        """The runs behind it."""
        return self.numbers.results

    @property
    def href(self) -> str:
        """The suite's page."""
        return f"suites/{stem_of(self.results)}.html"
