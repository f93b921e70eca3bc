"""How to cite what the site shows: the benchmark at the state of this site, and a method's paper."""

from __future__ import annotations

import re
from importlib.metadata import version

from mobench.core.about import Reference

_UNSAFE = re.compile(r"[{}\\%#&$_^~\x00-\x1f]")
"""Signs that mean something to LaTeX."""


def snapshot_bibtex(built: str, commit: str, runs: int) -> str:
    """Return the entry of this very site: version, day, commit and number of runs say which numbers are meant."""
    day = built.partition(" ")[0]
    fields = {
        "title": "mobench: a benchmark suite for multi-objective optimizers in deep learning",
        "author": "{The mobench authors}",
        "version": version("mobench"),
        "year": day.partition("-")[0],
        "note": f"Leaderboard of {day}, {runs} runs" + (f", commit {commit}" if commit else ""),
    }
    return _entry("software", f"mobench-{day}", fields)


def reference_bibtex(key: str, reference: Reference | str) -> str:
    """Return the entry of the paper that defines a method; empty where the method names none in parts."""
    if not isinstance(reference, Reference):
        return ""
    fields = {
        "title": f"{{{_plain(reference.title)}}}",
        "author": f"{{{_plain(reference.authors)}}}",
        "howpublished": _plain(reference.venue),
        "year": str(reference.year or ""),
        "url": reference.link,
    }
    return _entry("misc", key, fields)


def _plain(text: str) -> str:
    return _UNSAFE.sub(" ", text)


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    lines = [f"  {name} = {{{value}}},\n" for name, value in fields.items() if value]
    return f"@{kind}{{{key},\n{''.join(lines)}}}\n"
