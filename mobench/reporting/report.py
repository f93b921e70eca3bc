"""A suite's report: one Markdown page, and every table and plot of it as files of their own."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from mobench.reporting.csv import csv_text
from mobench.reporting.latex import latex_table
from mobench.reporting.markdown import escape_markdown, markdown_table
from mobench.reporting.notes import selection_policy, state
from mobench.reporting.pictures import Picture
from mobench.scoring.results import SuiteResults
from mobench.scoring.suite_tables import has_settings, settings_table
from mobench.scoring.tables import Table


def report_files(results: SuiteResults, pictures: Sequence[Picture]) -> dict[str, bytes]:
    """Return the content of every file of the report by name, `report.md` last; at least one run has finished."""
    tables = [*results.tables, *(settings_table(table) for table in results.tables if has_settings(table))]
    files: dict[str, bytes] = {}
    for table in tables:
        files[f"{table.name}.tex"] = latex_table(table).encode()
        files[f"{table.name}.csv"] = csv_text(table.frame()).encode()
    for picture in pictures:
        files[f"{picture.name}.svg"] = picture.svg
        files[f"{picture.name}.png"] = picture.png
        files[f"{picture.name}.csv"] = csv_text(picture.frame).encode()
    files["report.md"] = _page(results, tables, pictures).encode()
    return files


def _page(results: SuiteResults, tables: Sequence[Table], pictures: Sequence[Picture]) -> str:
    suite, table = results.suite, results.table
    ids, seeds = sorted(table["problem"].unique()), sorted(table["seed"].unique())
    facts = [
        f"suite {suite.name}, profile {results.profile}, mobench {version('mobench')}",
        state(results),
        f"problems: {', '.join(ids)}; seeds: {', '.join(map(str, seeds))}",
        *selection_policy(results),
    ]
    parts = [
        f"# {escape_markdown(suite.title)}",
        escape_markdown(suite.about.strip()),
        "\n".join(f"- {escape_markdown(fact)}" for fact in facts),
    ]
    for picture in pictures:
        links = ", ".join(f"[{kind}]({picture.name}.{kind})" for kind in ("svg", "csv"))
        title = escape_markdown(picture.title)
        parts.append(f"## {title}\n\n![{title}]({picture.name}.png)\n\n{links}")
    for found in tables:
        links = ", ".join(f"[{kind}]({found.name}.{kind})" for kind in ("csv", "tex"))
        parts.append(f"## {escape_markdown(found.title)}\n\n{markdown_table(found)}\n{links}")
    return "\n\n".join(part for part in parts if part) + "\n"
