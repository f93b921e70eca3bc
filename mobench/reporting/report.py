"""A suite's report: one Markdown page, and every table and plot of it as files of their own."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import pandas as pd

from mobench.planning.suite import Suite
from mobench.reporting.latex import latex_table
from mobench.reporting.markdown import escape_markdown, markdown_table
from mobench.reporting.rendering import Picture
from mobench.reporting.selected_tables import selected_sheets
from mobench.reporting.sheet import Sheet
from mobench.reporting.tables import hypervolume_sheets, methods_sheet, pivot_sheets, published_sheet
from mobench.scoring.contenders import ordered_contenders, with_contenders
from mobench.scoring.hypervolumes import hypervolume_frame
from mobench.scoring.published import compare
from mobench.scoring.published_values import load_published
from mobench.scoring.selected import selected_frame, selected_rows
from mobench.scoring.tables import suite_tables


def report_sheets(suite: Suite, table: pd.DataFrame, selection: str) -> list[Sheet]:
    """Return all tables of a suite, the most important first."""
    contended = with_contenders(table, suite.split)
    order = ordered_contenders(contended, suite.methods)
    rows = selected_rows(suite, selection)
    sheets = [methods_sheet(contended, order)]
    if rows:
        frame = selected_frame(rows, contended, load_published(suite.published_tables))
        sheets += selected_sheets(frame, rows, order, selection)
    sheets += hypervolume_sheets(hypervolume_frame(contended), order)
    sheets += pivot_sheets(suite_tables(suite, table))
    if suite.published:
        sheets.append(published_sheet(compare(suite, table)))
    return sheets


def report_files(
    suite: Suite, table: pd.DataFrame, pictures: Sequence[Picture], *, planned: int, selection: str
) -> dict[str, bytes]:
    """Return the content of every file of the report, by name; `report.md` comes last.

    `table` holds the stored runs of one suite under one profile, at least one of them finished; `planned`
    says how many there should be.
    """
    sheets = report_sheets(suite, table, selection)
    files: dict[str, bytes] = {}
    for sheet in sheets:
        files[f"{sheet.name}.tex"] = latex_table(sheet).encode()
        if sheet.data is not None:
            files[f"{sheet.name}.csv"] = sheet.data.to_csv(index=False).encode()
    for picture in pictures:
        files[f"{picture.name}.svg"] = picture.svg
        files[f"{picture.name}.png"] = picture.png
        files[f"{picture.name}.csv"] = picture.data.to_csv(index=False).encode()
    files["report.md"] = _page(suite, table, sheets, pictures, planned, selection).encode()
    return files


def _page(
    suite: Suite, table: pd.DataFrame, sheets: list[Sheet], pictures: Sequence[Picture], planned: int, selection: str
) -> str:
    failed = int((table["status"] != "done").sum())
    ids, seeds = sorted(table["problem"].unique()), sorted(table["seed"].unique())
    facts = [
        f"suite {suite.name}, profile {suite.profile}, mobench {version('mobench')}",
        f"{len(table)} of {planned} planned runs are stored, {failed} of them failed",
        f"problems: {', '.join(ids)}; seeds: {', '.join(map(str, seeds))}",
    ]
    if suite.selected:
        facts.append(f"configurations are selected on {selection} data")
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
