"""What the pages show of one suite under one profile."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from mobench.scoring.results import SuiteResults

from .pictures import Shown
from .ranking import Ranking
from .reading import stem_of
from .submissions import Reference
from .suite_numbers import SuiteNumbers


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


def shipped_facts(views: Iterable[SuiteView]) -> list[tuple[str, list[str]]]:
    """Return which numbers come from bundles that ship with mobench, as a term and its descriptions."""
    found = dict.fromkeys(view.reference.words for view in views if view.reference is not None)
    return [("reference bundles", list(found))] if found else []
