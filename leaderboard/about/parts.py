"""What the cards of methods and problems are made of. All texts are plain: a page escapes them."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True)
class Block:
    """A piece of a docstring."""

    text: str
    preformatted: bool
    """Whether line breaks and spaces matter, as in a displayed formula or an example."""


@dataclass(frozen=True)
class Formula:
    """A displayed formula and the words before it."""

    says: str
    latex: str
    mathml: Markup
    """Safe to show unescaped: MathML elements only, made from the project's own LaTeX."""


@dataclass(frozen=True)
class Reference:
    """Where something is defined; only `text` is known of what a plugin states."""

    text: str
    """The whole reference in one line; empty where none is stated."""
    authors: str = ""
    title: str = ""
    venue: str = ""
    year: int | None = None
    place: str = ""
    """The section or figure."""
    link: str = ""
    """An https address, or empty."""


@dataclass(frozen=True)
class SettingRow:
    """One setting in words."""

    name: str
    meaning: str
    default: str
    accepted: str
