"""A suite's report: one HTML page, its tables in LaTeX and as CSV, and its plots as files where they are asked for."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mobench.reporting.csv import csv_text, tables_csv
from mobench.reporting.html import html_page
from mobench.reporting.latex import latex_table
from mobench.reporting.pictures import Picture
from mobench.scoring.results import SuiteResults
from mobench.scoring.suite_tables import has_settings, settings_table


def report_files(results: SuiteResults, pictures: Sequence[Picture], plots: Collection[str] = ()) -> dict[str, bytes]:
    """Return the content of every file of the report by name; at least one run has finished.

    `plots` are the formats in which the pictures stand beside the page, `svg` or `png`, each with its numbers.
    """
    tables = [*results.tables, *(settings_table(table) for table in results.tables if has_settings(table))]
    files = {
        "report.html": html_page(results, tables, pictures).encode(),
        "tables.tex": "\n".join(map(latex_table, tables)).encode(),
        "tables.csv": tables_csv(results.tables).encode(),
    }
    for picture in pictures if plots else ():
        files |= {f"{picture.name}.{kind}": getattr(picture, kind) for kind in plots}
        files[f"{picture.name}.csv"] = csv_text(picture.frame).encode()
    return files
