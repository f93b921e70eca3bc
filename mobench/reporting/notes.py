"""Facts about results as sentences. Scoring states facts; every sentence about a table is made here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mobench.scoring.contender import spelled
from mobench.scoring.tables import Note, Table

INTERVALS = "In brackets: 95 % bootstrap interval over seeds."
REFERENCES = (
    "Below the methods: other algorithms at the largest stored number of evaluations that the largest sweep affords. "
    "A step counts as one evaluation, and its gradients are not counted."
)


def sentences(table: Table) -> list[str]:
    """Return what a reader must know beside the numbers, each sentence once."""
    meanings = [f"{column.label}: {column.note.rstrip('.')}." for column in table.columns if column.note]
    return list(dict.fromkeys([*meanings, *map(sentence, table.notes)]))


def sentence(note: Note) -> str:
    """Return a fact as a sentence."""
    return _SENTENCES[note.kind](*note.values)


def how_selected(on: Iterable[tuple[str, str, bool]], measured: str) -> str:
    """Say how configurations are chosen, without a full stop.

    `on` has the data, the label of the metric and whether it is the number shown, for each way of choosing.
    """
    ways: dict[str, None] = {}
    for data, label, itself in on:
        place = f"on {data} data" if data else ""
        if itself:
            place = f"{place} by the numbers shown, so that a longer sweep has an advantage".strip()
        ways[place or f"by {label}"] = None
    if not ways:
        return "every method has one configuration, so none is selected"
    words = f"configurations are selected {', or '.join(ways)}"
    return f"{words}; they are measured on {measured} data" if measured else words


def _selected(on: Iterable[tuple[str, str, bool]], measured: str) -> str:
    words = how_selected(on, measured)
    return f"{words[0].upper()}{words[1:]}."


def _fixed(label: str, settings: Mapping[str, Mapping[str, Any]]) -> str:
    shown = [
        f"{name} at {', '.join(f'{k}={spelled(v)}' for k, v in given.items())}" for name, given in settings.items()
    ]
    return f"{label}: {', '.join(shown)}, not selected."


_SENTENCES: dict[str, Callable[..., str]] = {
    "intervals": lambda: INTERVALS,
    "too-few-seeds": lambda fewest: f"It takes {fewest} seeds to tell methods apart.",
    "selected": _selected,
    "fixed": _fixed,
    "references": lambda: REFERENCES,
    "remark": lambda text: text,
    "published": lambda text: f"Published: {text}",
}
"""By kind of note, what makes its sentence."""
