"""What a method or problem says about itself on its page: formulas and a reference."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Formula:
    """A displayed formula, and the words before it."""

    latex: str
    says: str = ""


@dataclass(frozen=True)
class Reference:
    """Where something is defined. `str(reference)` is the whole reference in one line."""

    authors: str
    title: str
    venue: str = ""
    year: int | None = None
    link: str = ""
    """An https address, or empty."""
    place: str = ""
    """The section or figure."""

    def __str__(self) -> str:
        parts = [f"{self.authors} ({self.year})" if self.year else self.authors, self.title, self.venue]
        return ". ".join(part for part in parts if part) + (f", {self.place}." if self.place else ".")
