"""The table of contents of a page: its headings of the second level, found in the page itself."""

from __future__ import annotations

from html import escape
from html.parser import HTMLParser

PLACE = "<!-- contents -->"
"""Where a page has its table of contents."""
FEWEST = 3
"""With fewer headings a page is seen at a glance."""


class _Headings(HTMLParser):
    """Collects the anchors and texts of the headings."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        anchor = dict(attrs).get("id")
        if tag == "h2" and anchor:
            self.found.append((anchor, ""))
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "h2"

    def handle_data(self, data: str) -> None:
        if self._inside:
            anchor, text = self.found[-1]
            self.found[-1] = anchor, text + data


def with_contents(page: str) -> str:
    """Return a page with its table of contents in place."""
    if PLACE not in page:
        return page
    headings = _Headings()
    headings.feed(page)
    links = [f'<li><a href="#{escape(anchor)}">{escape(text.strip())}</a></li>' for anchor, text in headings.found]
    shown = f'<nav class="contents" aria-label="On this page"><ul>{"".join(links)}</ul></nav>'
    return page.replace(PLACE, shown if len(links) >= FEWEST else "", 1)
