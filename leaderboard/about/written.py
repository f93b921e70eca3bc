"""What people wrote about methods and problems, beside this file: titles, words, formulas, references."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml
from latex2mathml.converter import convert
from markupsafe import Markup

from .parts import Formula, Reference

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
BARS = ("‖", "|")


@dataclass(frozen=True)
class Written:
    """The entry of one method or problem."""

    title: str
    words: tuple[str, ...]
    formulas: tuple[Formula, ...]
    reference: Reference


@cache
def written(kind: str) -> dict[str, Written]:
    """Return all entries of `methods` or `problems` by id."""
    return {id_: _entry(entry) for id_, entry in _raw(kind).items()}


def _raw(kind: str) -> dict[str, dict[str, Any]]:
    loaded: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / f"{kind}.yaml").read_text("utf-8"))
    return loaded


def _entry(entry: dict[str, Any]) -> Written:
    formulas = tuple(Formula(says, latex, mathml(latex)) for latex, says in entry["formulas"])
    return Written(entry["title"], tuple(entry["words"]), formulas, _reference(**entry["reference"]))


def _reference(
    authors: str = "",
    title: str = "",
    venue: str = "",
    year: int | None = None,
    place: str = "",
    link: str = "",
    paper: str = "",
) -> Reference:
    """Return the reference, or that of the method called `paper` at the given place."""
    if paper:
        return _reference(**_raw("methods")[paper]["reference"], place=place)
    parts = [f"{authors} ({year})", title, venue]
    text = ". ".join(part for part in parts if part) + (f", {place}." if place else ".")
    return Reference(text, authors, title, venue, year, place, link)


def mathml(latex: str) -> Markup:
    """Return LaTeX as displayed MathML, written out again from its tree so that it is well-formed XML."""
    tree = ElementTree.fromstring(convert(latex, display="block"))
    for bar in tree.iter(f"{{{NAMESPACE}}}mo"):
        if bar.text in BARS:  # bars of a norm enclose: no space beside them, and no taller than a letter
            bar.attrib.update(stretchy="false", lspace="0", rspace="0")
    ElementTree.register_namespace("", NAMESPACE)
    return Markup(ElementTree.tostring(tree, encoding="unicode"))
