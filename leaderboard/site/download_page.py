"""The page of downloads: files, the meaning of their columns, citation and badges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from .badge import badge
from .downloads import bibtex
from .names import file_stem
from .output import SiteFolder
from .pages import Pages
from .ranking import Ranking
from .schema import schema
from .tables import PlainCell

ABOUT = {
    "results.parquet": "for pandas, polars, R, DuckDB",
    "results.csv": "for everything else",
    "results.json": "a list of runs",
    "schema.json": "the table below, for programs",
}


def download_page(
    pages: Pages, table: pd.DataFrame, sizes: Mapping[str, int], overall: Ranking | None, folder: SiteFolder
) -> str:
    """Return the page, and write the badges that it shows."""
    badges = _badges(overall, folder)
    folder.write("data/mobench.bib", bibtex())
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
            [PlainCell(column.name), PlainCell(column.type), PlainCell(column.meaning)] for column in schema(table)
        ],
        bibtex=bibtex(),
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
