"""A suite's report: one Markdown page, and every table and plot of it as files of their own."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from mobench.reporting.latex import latex_table
from mobench.reporting.markdown import escape_markdown, markdown_table
from mobench.reporting.pictures import Picture
from mobench.reporting.sheet import Sheet
from mobench.reporting.sheets import selection_policy, suite_sheets
from mobench.reporting.spreadsheet import csv_text
from mobench.scoring.suite_results import SuiteResults


def report_files(results: SuiteResults, pictures: Sequence[Picture]) -> dict[str, bytes]:
    """Return the content of every file of the report by name, `report.md` last; at least one run has finished."""
    sheets = suite_sheets(results)
    files: dict[str, bytes] = {}
    for sheet in sheets:
        files[f"{sheet.name}.tex"] = latex_table(sheet).encode()
        if sheet.data is not None:
            files[f"{sheet.name}.csv"] = csv_text(sheet.data).encode()
    for picture in pictures:
        files[f"{picture.name}.svg"] = picture.svg
        files[f"{picture.name}.png"] = picture.png
        files[f"{picture.name}.csv"] = csv_text(picture.frame).encode()
    files["report.md"] = _page(results, sheets, pictures).encode()
    return files


def _page(results: SuiteResults, sheets: list[Sheet], pictures: Sequence[Picture]) -> str:
    suite, table = results.suite, results.table
    ids, seeds = sorted(table["problem"].unique()), sorted(table["seed"].unique())
    facts = [
        f"suite {suite.name}, profile {results.profile}, mobench {version('mobench')}",
        f"{len(table)} of {results.planned} planned runs are stored, {results.failed} of them failed",
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
    for sheet in sheets:
        kinds = ("tex",) if sheet.data is None else ("csv", "tex")
        links = ", ".join(f"[{kind}]({sheet.name}.{kind})" for kind in kinds)
        parts.append(f"## {escape_markdown(sheet.title)}\n\n{markdown_table(sheet)}\n{links}")
    return "\n\n".join(part for part in parts if part) + "\n"
