"""What a method or problem says about itself: the texts of its page, and how it is drawn."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from mobench.core.settings import Configurable
from mobench.errors import UserError

MARKERS = ("o", "s", "^", "v", "<", ">", "D", "d", "P", "X", "p", "h", "H", "8", "*")
"""The filled markers of matplotlib."""


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

    def at(self, place: str) -> Reference:
        """Return the reference to one section or figure."""
        return replace(self, place=place)

    def __str__(self) -> str:
        parts = [f"{self.authors} ({self.year})" if self.year else self.authors, self.title, self.venue]
        return ". ".join(part for part in parts if part) + (f", {self.place}." if self.place else ".")


@dataclass(frozen=True)
class Look:
    """How a method is drawn: one hue in two shades, a marker, and for lines a dash."""

    color: str
    """The shade for white pages, `#rrggbb`."""
    on_dark: str
    """The shade for dark pages."""
    marker: str
    """As matplotlib calls it."""
    dash: tuple[float, ...] | str = ""
    """On and off lengths; empty for a solid line."""

    def __post_init__(self) -> None:
        for name, color in (("color", self.color), ("on_dark", self.on_dark)):
            if not re.fullmatch("#[0-9a-fA-F]{6}", color):
                raise UserError(f"Look.{name}={color} is not accepted; Look.{name} takes a colour as #rrggbb")
        if self.marker not in MARKERS:
            raise UserError(f"Look.marker={self.marker} is not accepted; Look.marker takes one of {' '.join(MARKERS)}")

    @property
    def linestyle(self) -> Any:
        """The dash as matplotlib's lines take it."""
        return (0, self.dash) if self.dash else "-"


class Described(Configurable):
    """A class whose page on the leaderboard is made from what it says itself; a derived class speaks for itself."""

    title: ClassVar[str] = ""
    """The heading of its page; by default the class name."""
    words: ClassVar[str] = ""
    """The text that opens its page, in paragraphs; by default the docstring's, up to the first displayed formula."""
    formulas: ClassVar[tuple[Formula, ...]] = ()
    """Formulas for its page."""
    reference: ClassVar[Reference | str] = ""
    """The paper that defines it."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        cls.title, cls.words, cls.formulas = (
            own.get("title") or cls.__name__,
            own.get("words", ""),
            own.get("formulas", ()),
        )
        if not isinstance(cls.formulas, tuple) or not all(isinstance(formula, Formula) for formula in cls.formulas):
            raise UserError(f"{cls.__name__}.formulas takes a tuple of mobench.Formula")
