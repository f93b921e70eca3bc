"""What the page of a method or a problem says of it, read from its class.

Texts may be a stranger's. What is marked as safe here is escaped text with code spans, and our own MathML.
"""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from mobench.core.about import Reference
from mobench.core.method import UNVERIFIED, Method
from mobench.core.problem import Problem
from mobench.core.registry import find_method, find_problem, methods
from mobench.errors import UserError

from .citation import reference_bibtex
from .commands import spelled_value
from .formulas import ShownFormula, shown_formula
from .pages import ticks

if TYPE_CHECKING:
    from mobench.conformance import Finding

QUESTIONS = {
    "scale-invariant direction": "Scale-invariant?",
    "symmetric in all objectives": "Permutation-symmetric?",
    "no objective ascends": "Guarantees progress on every objective?",
    "stops where gradients cancel": "Stops at a conflict equilibrium?",
    "reads only losses": "One backward pass, from the losses alone?",
}
"""The measured properties that head a method's page, as questions."""


@dataclass(frozen=True)
class Block:
    """A piece of text."""

    text: Markup
    preformatted: bool
    """Whether line breaks and spaces matter, as in a displayed formula or an example."""


@dataclass(frozen=True)
class SettingRow:
    """One setting in words."""

    name: str
    default: str
    accepted: str
    meaning: str


@dataclass(frozen=True)
class Card:
    """What a page says of a method or a problem."""

    id: str
    title: str
    words: tuple[Block, ...]
    formulas: tuple[ShownFormula, ...]
    details: tuple[Block, ...]
    """The rest of the docstring."""
    reference: str
    link: str
    settings: tuple[SettingRow, ...]
    bibtex: str = ""
    """The entry of the reference."""
    verified: str = ""
    """The check of a method's form."""
    findings: tuple[Finding, ...] = ()
    """What the battery found of a method at its default settings."""
    refusal: str = ""
    """Why nothing could be measured; empty where something was."""
    problem: Problem | None = None
    """The problem at its default settings."""

    @property
    def headline(self) -> list[tuple[str, Finding]]:
        """The findings that `QUESTIONS` asks for, in that order."""
        by_name = {found.name: found for found in self.findings}
        return [(question, by_name[name]) for name, question in QUESTIONS.items() if name in by_name]

    @property
    def conforms(self) -> bool:
        """Whether all that is required of a method holds."""
        from mobench.conformance import conforms

        return conforms(self.findings)


@dataclass(frozen=True)
class Battery:
    """What the battery found of a method at its default settings, or why it could not look."""

    findings: tuple[Finding, ...]
    refusal: str = ""


def method_card(name: str, battery: Battery | None = None) -> Card:
    """Return the card of a registered method; what is not known of its properties is measured here."""
    method = find_method(name)
    known = battery or battery_of(method)
    verified = verified_of(name)
    return replace(_card(name, method), findings=known.findings, refusal=known.refusal, verified=verified)


def verified_of(name: str) -> str:
    """Return the check of a method's form, empty for a method that is not known here."""
    return known.verified or UNVERIFIED if (known := methods().get(name)) else ""


def problem_card(id_: str) -> Card:
    """Return the card of a registered problem."""
    kind = find_problem(id_)
    return replace(_card(kind.id, kind), problem=kind())


def _card(id_: str, plugin: type[Method] | type[Problem]) -> Card:
    words, details = _texts(plugin)
    reference = plugin.reference
    return Card(
        id=id_,
        title=plugin.title,
        words=words,
        formulas=tuple(map(shown_formula, plugin.formulas)),
        details=details,
        reference=str(reference),
        link=reference.link if isinstance(reference, Reference) else "",
        settings=tuple(
            SettingRow(name, spelled(setting.default), setting.accepted, setting.meaning)
            for name, setting in plugin.settings.items()
        ),
        bibtex=reference_bibtex(id_.partition("@")[0], reference),
    )


@cache
def battery_of(method: type[Method]) -> Battery:
    """Measure the properties of a method, which takes a fraction of a second, and torch."""
    from mobench.conformance import check_method

    try:
        return Battery(tuple(check_method(method)))
    except UserError as error:
        return Battery((), str(error))


def _texts(plugin: type[Method] | type[Problem]) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """Return what opens the page, and what is left of the docstring.

    Where formulas are stated they take the place of those in the docstring: it opens the page only up to the
    paragraph that leads to its first displayed formula, which ends without a full stop.
    """
    documentation = blocks(vars(plugin).get("__doc__") or "")
    if plugin.words:
        return blocks(plugin.words), documentation
    if not plugin.formulas:
        return documentation, ()
    ends = (place for place, block in enumerate(documentation) if block.preformatted or not block.text.endswith("."))
    end = next(ends, len(documentation))
    return documentation[:end], documentation[end:]


def blocks(text: str) -> tuple[Block, ...]:
    """Return a text in blocks: paragraphs in one line each, indented parts as they are, `words` in ticks as code."""
    pieces = (piece.strip("\n") for piece in inspect.cleandoc(text).split("\n\n"))
    return tuple(_block(piece) for piece in pieces if piece.strip())


def _block(piece: str) -> Block:
    lines = piece.split("\n")
    if all(line.startswith("    ") or not line.strip() for line in lines):
        return Block(escape(textwrap.dedent(piece)), preformatted=True)
    return Block(ticks(" ".join(line.strip() for line in lines)), preformatted=False)


def spelled(value: Any) -> str:
    """Return a value as it is written after `key=`."""
    return "none" if value is None else spelled_value(value).strip('"')
