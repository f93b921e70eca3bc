"""Who stands in the tables: a contender's name, page, marker, and who sent it in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from mobench.scoring.results import SuiteResults

from .markers import markers
from .names import file_stem


@dataclass(frozen=True)
class ContenderLink:
    """A row's name as the pages show it."""

    name: str
    method: str
    marker: Markup
    href: str = ""
    submitted: str = ""
    """Who sent the method's runs in; empty for the project's own."""
    verdict: str = ""
    """What came of repeating them; a table of a suite states its own."""


def contender_links(results: Iterable[SuiteResults]) -> dict[str, ContenderLink]:
    """Return every contender of the site, and every method, each with the same marker wherever it appears."""
    methods: dict[str, str] = {}
    submitted: dict[str, str] = {}
    own: set[str] = set()
    for found in results:
        methods |= found.methods
        submitted |= {method: sent_in.by for method, sent_in in found.submitted.items()}
        own |= set(found.methods.values()) - found.submitted.keys()
    for method in sorted(set(methods.values())):
        methods.setdefault(method, method)
    drawn = markers(sorted(methods))
    return {
        name: ContenderLink(
            name,
            method,
            drawn[name],
            f"methods/{file_stem(method)}.html",
            "" if method in own else submitted.get(method, ""),
        )
        for name, method in methods.items()
    }
