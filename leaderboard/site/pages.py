"""Pages from templates: everything is escaped unless this package made the markup itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from .contents import with_contents
from .names import file_stem

HOME = Path(__file__).resolve().parent.parent
TEMPLATES, ASSETS = HOME / "templates", HOME / "assets"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'none'; connect-src 'none'; "
    "base-uri 'none'; form-action 'none'"
)
"""Scripts, styles and pictures of the site itself, and nothing else: no inline code, no other host."""


@dataclass(frozen=True)
class Link:
    """An entry of the navigation."""

    href: str
    text: str


NAVIGATION = (
    Link("index.html", "Leaderboard"),
    Link("findings.html", "What it shows"),
    Link("directions.html", "Directions"),
    Link("downloads.html", "Downloads"),
    Link("statistics.html", "Statistics"),
    Link("submissions.html", "Add a method"),
)
FURTHER = (
    Link("protocol.html", "Protocol"),
    Link("metrics.html", "Metrics"),
    Link("performance.html", "Performance"),
    Link("leaderboard.html", "About this site"),
)
"""Documents that the foot of every page leads to."""


def ticks(text: str) -> Markup:
    """Return a text, escaped, with words in ticks as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


class Pages:
    """Renders the site's pages."""

    def __init__(self, title: str, built: str, version: str, commit: str) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= {"stem": file_stem, "ticks": ticks}
        self.built, self.commit = built, commit
        self._site = {
            "title": title,
            "built": built,
            "version": version,
            "commit": commit,
            "navigation": NAVIGATION,
            "further": FURTHER,
        }

    def render(self, template: str, here: str, heading: str, **values: Any) -> str:
        """Return the page that will lie at `here`, a path inside the site."""
        root = "../" * here.count("/")
        page = self._environment.get_template(template)
        return with_contents(
            page.render(site=self._site, here=here, root=root, heading=heading, policy=POLICY, **values)
        )
