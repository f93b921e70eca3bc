"""The project's own documents as pages: Markdown, with raw HTML shown as text."""

from __future__ import annotations

import re
from importlib import resources
from itertools import count

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

NAMES = (
    "findings",
    "paper",
    "escape",
    "statistics",
    "metrics",
    "protocol",
    "performance",
    "leaderboard",
    "submissions",
)
PAGES = {f"{name}.md": f"{name}.html" for name in NAMES}
"""Documents that are pages of the site; a link to another document is shown as its text."""

BOX = '<div class="scroll" role="region" aria-label="Table {}" tabindex="0">'
"""A wide table scrolls in a box of its own, which the keyboard reaches."""


def document(name: str) -> Markup:
    """Return a document as markup, without its title, which the page shows; raw HTML in it stays inert."""
    return rendered(text_of(name))


def text_of(name: str) -> str:
    """Return a document as it is written."""
    return (resources.files("mobench.docs") / name).read_text(encoding="utf-8")


def title_of(name: str) -> str:
    """Return the first heading of a document."""
    found = re.search(r"^# (.+)$", text_of(name), re.MULTILINE)
    return found[1].strip() if found else name.removesuffix(".md")


def rendered(text: str) -> Markup:
    """Return Markdown as markup that refers to nothing outside of the site."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    numbers = count(1)
    parser.add_render_rule("table_open", lambda *_: BOX.format(next(numbers)) + '<table class="numbers">\n')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    tokens = parser.parse(text)
    if tokens and tokens[0].type == "heading_open" and tokens[0].tag == "h1":
        tokens = tokens[3:]
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", anchor(tokens[place + 1].content))
        _tame(token)
        for child in token.children or ():
            _tame(child)
    return Markup(parser.renderer.render(tokens, parser.options, {}))


def anchor(heading: str) -> str:
    """Return the name under which a heading is linked to, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _tame(token: Token) -> None:
    """Point links into the site, and take attributes away that the page's policy refuses."""
    token.attrs.pop("style", None)
    if token.type == "link_open":
        target, hash_, place = str(token.attrs.get("href", "")).partition("#")
        page = PAGES.get(target.rpartition("/")[2])
        if page is not None:
            token.attrs["href"] = f"{page}{hash_}{place}"
        elif not target.startswith("https://") and target:
            token.attrs.pop("href")
    if token.type == "image":
        token.type, token.attrs = "text", {}
