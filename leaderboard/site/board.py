"""What the pages show of one suite under one profile."""

from __future__ import annotations

from dataclasses import dataclass

from mobench.scoring.provenance import Provenance
from mobench.scoring.suite_results import SuiteResults

from .grid import Grid
from .loading import stem_of
from .pictures import Shown
from .ranking import Ranking


@dataclass(frozen=True)
class Board:
    """Numbers, ranks and pictures of a suite."""

    grid: Grid
    ranking: Ranking | None
    pictures: list[Shown]

    @property
    def results(self) -> SuiteResults:
        """The runs behind it."""
        return self.grid.results

    @property
    def href(self) -> str:
        """The suite's page."""
        return f"suites/{stem_of(self.results)}.html"


def provenance_facts(found: Provenance) -> list[tuple[str, list[str]]]:
    """Return where results come from, as terms and descriptions."""

    def counted(counts: dict[str, int]) -> list[str]:
        return [f"{key} ({count} runs)" for key, count in sorted(counts.items(), key=lambda item: -item[1])]

    rows = [
        ("mobench", counted(found.versions)),
        ("commit", counted(found.commits)),
        ("libraries", counted(found.libraries)),
        ("machines", counted(found.machines)),
        ("ran", [f"{_minute(found.first)} to {_minute(found.last)}"] if found.first else []),
    ]
    notes = ["A plus after a commit: the sources differed from it."] if any("+" in key for key in found.commits) else []
    return [(term, entries) for term, entries in [*rows, ("", notes)] if entries]


def _minute(stamp: str) -> str:
    return f"{stamp[:10]} {stamp[11:16]} UTC"
