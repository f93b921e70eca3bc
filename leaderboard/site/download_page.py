"""The page of downloads: files, the meaning of their columns, citation and badges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

import pandas as pd

from mobench.scoring.metric_catalog import MetricCatalog

from .citation import snapshot_bibtex
from .downloads import schema
from .names import file_stem
from .output import SiteFolder
from .pages import Pages
from .ranking import Ranking
from .tables import PlainCell

ABOUT = {
    "results.parquet": "for pandas, polars, R, DuckDB",
    "results.csv": "for everything else",
    "results.json": "a list of runs",
    "schema.json": "the table below, for programs",
}

HEIGHT = 20
PER_LETTER = 6.6
PADDING = 12
LEFT, RIGHT = "#444444", "#1f5f8b"
"""White on either has a contrast above 6."""


def download_page(
    pages: Pages,
    table: pd.DataFrame,
    metrics: MetricCatalog,
    sizes: Mapping[str, int],
    overall: Ranking | None,
    folder: SiteFolder,
) -> str:
    """Return the page, and write the badges that it shows."""
    badges = _badges(overall, folder)
    bibtex = snapshot_bibtex(pages.built, pages.commit, len(table))
    folder.write("data/mobench.bib", bibtex)
    return pages.render(
        "downloads.html",
        "downloads.html",
        "Downloads",
        runs=len(table),
        files=[
            {"href": f"data/{name}", "name": name, "size": _size(size), "about": ABOUT[name]}
            for name, size in sizes.items()
        ],
        columns=[
            [PlainCell(column.name), PlainCell(column.type), PlainCell(column.meaning)]
            for column in schema(table, metrics)
        ],
        bibtex=bibtex,
        badges=badges,
    )


def badge_text(rank: str, among: int) -> str:
    """Return what a badge says of a contender's mean rank."""
    return f"mean rank {rank} of {among}"


def _badges(overall: Ranking | None, folder: SiteFolder) -> list[dict[str, Any]]:
    shown = []
    ranked = [row for row in overall.rows if row.rank_value] if overall else []
    for row in ranked:
        text = badge_text(f"{float(row.rank_value):.1f}", len(ranked))
        path = f"badges/{file_stem(row.name)}.svg"
        folder.write(path, badge(text))
        shown.append({"name": row.name, "badge": path, "badge_text": f"mobench: {text}"})
    return shown


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{max(1, round(count / 1e3))} kB"


def badge(text: str, label: str = "mobench") -> str:
    """Return the badge `label | text`; every badge has the same colours, whatever the rank."""
    left, right = (round(PER_LETTER * len(part)) + PADDING for part in (label, text))
    whole = f"{label}: {text}"
    title = escape(whole, {'"': "&quot;"})
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HEIGHT}" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left + right}" height="{HEIGHT}" rx="3" fill="{RIGHT}"/>'
        f'<path d="M3 0h{left - 3}v{HEIGHT}H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="{LEFT}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f"{_label(label, left / 2, left - PADDING)}{_label(text, left + right / 2, right - PADDING)}</g></svg>\n"
    )


def _label(text: str, middle: float, width: float) -> str:
    return f'<text x="{middle:g}" y="14" textLength="{width:g}">{escape(text)}</text>'
