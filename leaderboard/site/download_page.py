"""The page of downloads: files, the meaning of their columns, and citation."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from mobench.scoring.catalog import MetricCatalog

from .citation import snapshot_bibtex
from .downloads import schema
from .old_tables import PlainCell
from .output import SiteFolder
from .pages import Pages

ABOUT = {
    "results.parquet": "for pandas, polars, R, DuckDB",
    "results.csv": "for everything else",
    "schema.json": "the table below, for programs",
}


def download_page(
    pages: Pages,
    table: pd.DataFrame,
    metrics: MetricCatalog,
    sizes: Mapping[str, int],
    folder: SiteFolder,
) -> str:
    """Return the page, and write the citation that it shows."""
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
    )


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{max(1, round(count / 1e3))} kB"
