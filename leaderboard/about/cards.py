"""The contents of a method's or a problem's page, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from mobench.core.problem import Bounds
from mobench.core.registry import find_method, find_problem

from .docstrings import blocks, paragraphs, setting_rows
from .parts import Block, Formula, Reference, SettingRow
from .properties import Measured, measure
from .written import written


@dataclass(frozen=True)
class Card:
    """What methods and problems have in common."""

    id: str
    title: str
    definition: tuple[str, ...]
    """Paragraphs in plain words."""
    formulas: tuple[Formula, ...]
    documentation: tuple[Block, ...]
    """The docstring in full: what the code says of itself."""
    reference: Reference
    settings: tuple[SettingRow, ...]


@dataclass(frozen=True)
class MethodCard(Card):
    """A method's page."""

    version: int
    measured: Measured
    """At the default settings."""


@dataclass(frozen=True)
class ProblemCard(Card):
    """A problem's page, at the default settings."""

    objectives: tuple[str, ...]
    """The primary first."""
    hypervolume_metrics: tuple[str, ...]
    hypervolume_bounds: Bounds | None
    """The box in which the hypervolume is taken, None where none is defined."""


def method_card(name: str) -> MethodCard:
    """Return the card of a registered method; measuring its properties takes a fraction of a second, once."""
    method = find_method(name)
    documentation = blocks(method)
    entry = written("methods").get(name) if method.__module__.startswith("mobench.methods.") else None
    return MethodCard(
        id=name,
        title=entry.title if entry else method.__name__,
        definition=entry.words if entry else paragraphs(documentation),
        formulas=entry.formulas if entry else (),
        documentation=documentation,
        reference=entry.reference if entry else Reference(method.reference),
        settings=setting_rows(method),
        version=method.version,
        measured=measure(method),
    )


def problem_card(id_: str) -> ProblemCard:
    """Return the card of a registered problem."""
    kind = find_problem(id_)
    documentation = blocks(kind)
    entry = written("problems").get(kind.id) if kind.__module__.startswith("mobench.problems.") else None
    problem = kind()
    return ProblemCard(
        id=kind.id,
        title=entry.title if entry else kind.__name__,
        definition=entry.words if entry else paragraphs(documentation),
        formulas=entry.formulas if entry else (),
        documentation=documentation,
        reference=entry.reference if entry else Reference(kind.reference),
        settings=setting_rows(kind),
        objectives=problem.objectives(),
        hypervolume_metrics=problem.hypervolume_metrics(),
        hypervolume_bounds=problem.hypervolume_bounds(),
    )
