"""A method's results that others sent in: by whom, and how far those who show them have repeated them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SentIn:
    """The submitted runs of one method in one suite."""

    by: str
    verdict: str
    """What came of repeating them, in words, with the share that was repeated."""
    ranked: bool
    """Whether that is enough to rank them."""
    runs: int
    repeated: frozenset[str]
    """The ids of the repeated runs, whose records are the repeated ones. The cost of all others is a claim."""

    @property
    def claimed(self) -> bool:
        """Whether what the runs cost is, at least in part, the submitter's word."""
        return len(self.repeated) < self.runs


def verdict_over(parts: Sequence[SentIn]) -> str:
    """Return the verdict on a method's runs in several suites, empty where none were sent in."""
    if len(parts) < 2:
        return parts[0].verdict if parts else ""
    unranked = sum(not part.ranked for part in parts)
    words = f"{sum(len(part.repeated) for part in parts)} of {sum(part.runs for part in parts)} runs repeated"
    return f"{words}; too few in {unranked} of {len(parts)} suites" if unranked else words
