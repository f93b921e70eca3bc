"""A suite's results as one HTML file: no script, no request, and every text of others escaped."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path

from mobench.reporting.format import headings, interval_text, lines_of, value_text
from mobench.reporting.notes import provenance_facts, selection_policy, sentences, state, verdict, verdict_on_claims
from mobench.reporting.pictures import Picture
from mobench.scoring.headline import AIM, DIFFERENCE
from mobench.scoring.results import SuiteResults
from mobench.scoring.tables import Table

INSIDE = 3
"""Pictures inside the page; `plots=` writes all of them beside it."""
SHORT = (AIM, DIFFERENCE, "configurations", "seconds_per_step")
"""The columns of the headline; the folded tables have all."""
STYLE = """
:root { color-scheme: light dark; --text: #1c1f23; --soft: #59616b; --line: #d5dae0; --page: #fff; --card: #f6f7f9 }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e8eb; --soft: #a3abb5; --line: #3a4048; --page: #16181b; --card: #1f2226 }
}
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 62rem; color: var(--text); background: var(--page);
  font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .25rem }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem }
.soft, figcaption, .notes { color: var(--soft); font-size: .9rem }
.verdict { font-size: 1.15rem; padding: .75rem 1rem; background: var(--card); border-left: .25rem solid #2f6fdb }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .75rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
th:first-child { text-align: left }
tbody th { font-weight: 500 }
tr.last-leader > * { border-bottom: 2px solid var(--text) }
td small { color: var(--soft); margin-left: .35rem }
figure { margin: 1rem 0; padding: 1rem; background: #fff; border: 1px solid var(--line); border-radius: .25rem }
figure img { display: block; max-width: 100%; height: auto; margin: 0 auto }
figcaption { color: #59616b }
details { border-top: 1px solid var(--line); padding: .5rem 0 }
summary { cursor: pointer; font-weight: 600 }
pre { background: var(--card); padding: .75rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere }
dt { font-weight: 600 }
dd { margin: 0 0 .35rem 1.25rem }
"""


def html_page(results: SuiteResults, tables: Sequence[Table], pictures: Sequence[Picture]) -> str:
    """Return the page: the verdict, the headline, pictures, and all tables and other details folded."""
    suite, headline = results.suite, results.headline
    ranked = any(column.key == AIM for column in headline.columns)
    claims = f" {verdict_on_claims(results.claims)}" if results.claims else ""
    shown = headline.only(key for key in SHORT if any(column.key == key for column in headline.columns))
    first = f"{verdict(headline)}{claims}" if ranked else claims.strip()
    body = [
        f"<h1>{escape(suite.title)}</h1>",
        f'<p class="soft">{escape(f"Suite {suite.name}, profile {results.profile}: {state(results)}.")}</p>',
        f'<p class="verdict">{escape(first)}</p>' if first else "",
        _section(shown),
        *(_figure(picture) for picture in pictures[:INSIDE]),
        _folded("The question and how it was run", _setup(results)),
        _folded("All tables", "".join(_section(table, level=3) for table in tables)),
        _folded("The command that repeats this", f"<pre>{escape(repeat_command(results))}</pre>"),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(suite.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in body if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def html_table(table: Table) -> str:
    """Return a table; a line stands under the last of its leaders."""
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in headings(table))
    last = max((place for place, row in enumerate(table.rows) if row.label in table.leaders), default=-1)
    rows = []
    for place, (row, texts) in enumerate(zip((*table.rows, *table.references), lines_of(table), strict=True)):
        title, *cells = texts
        pairs = [
            (value_text(value, column), interval_text(value, column))
            for value, column in zip(row.cells, table.columns, strict=True)
        ]
        pairs += [(text, "") for text in cells[len(pairs) :]]
        numbers = "".join(
            f"<td>{escape(text)}{f'<small>{escape(between)}</small>' if between else ''}</td>"
            for text, between in pairs
        )
        mark = ' class="last-leader"' if place == last else ""
        rows.append(f'<tr{mark}><th scope="row">{escape(title)}</th>{numbers}</tr>')
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def repeat_command(results: SuiteResults) -> str:
    """Return the command line that runs the same experiment."""
    suite = results.suite
    words = ["mobench", "run", f"suite={suite.file or suite.name}", f"profile={suite.profile}"]
    plugins = [f"plugins={','.join(results.plugins)}"] if results.plugins else []
    return " ".join([*map(shlex.quote, [*words, *plugins]), *([results.differs] if results.differs else [])])


def _section(table: Table, level: int = 2) -> str:
    title = escape(table.title)
    label = title if level == 2 else f"{title}, all columns"  # the headline stands on the page twice
    notes = "".join(f'<p class="notes">{escape(sentence)}</p>' for sentence in sentences(table))
    region = f'<div class="wide" role="region" tabindex="0" aria-label="{label}">{html_table(table)}</div>'
    return f"<h{level}>{title}</h{level}>\n{region}\n{notes}"


def _figure(picture: Picture) -> str:
    title = escape(picture.title)
    source = f"data:image/png;base64,{base64.b64encode(picture.png).decode()}"
    return f'<figure><img alt="{title}" src="{source}"><figcaption>{title}</figcaption></figure>'


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>\n{content}\n</details>"


def _setup(results: SuiteResults) -> str:
    table = results.table
    seeds = ", ".join(map(str, sorted(table["seed"].unique())))
    facts: list[tuple[str, Iterable[str]]] = [
        ("problems", sorted(table["problem"].unique())),
        ("seeds", [seeds]),
        ("selection", selection_policy(results)),
        ("plugins", [Path(file).name for file in results.plugins]),
        ("report made by", [f"mobench {version('mobench')}"]),
        *provenance_facts(results.provenance),
    ]
    listed = "".join(
        f"<dt>{escape(term)}</dt>" + "".join(f"<dd>{escape(str(text))}</dd>" for text in texts)
        for term, texts in ((term, [*texts]) for term, texts in facts)
        if texts
    )
    return f"<p>{escape(results.suite.about.strip())}</p>\n<dl>{listed}</dl>"
