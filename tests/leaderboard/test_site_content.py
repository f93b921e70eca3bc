"""What the site says: failures, ranks, downloads, pages, sizes; and the command that builds it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from mobench.cli import main
from mobench.leaderboard.site.contender_links import contender_links
from mobench.leaderboard.site.pages import POLICY
from mobench.leaderboard.site.ranking import rank
from mobench.leaderboard.site.submissions import WithSubmissions, read_submissions
from mobench.leaderboard.site.suite_numbers import suite_numbers
from mobench.leaderboard.site.tables import contenders_table, cost_rows
from mobench.planning.suite import load_suite
from mobench.scoring.catalog import MetricCatalog
from mobench.scoring.results import SuiteResults
from mobench.scoring.runs import results_table
from mobench.store.folder import Store
from mobench.store.stored_runs import StoredRuns
from tests.leaderboard.browser import browser
from tests.leaderboard.conftest import HOSTILE_METHOD, SUBMITTER, RealSite

__all__ = ["browser"]

LINK = re.compile(r'(?:href|src)="([^"]*)"')


def test_a_failed_method_is_shown_failed_and_ranked_last(site: RealSite) -> None:
    text = (site.folder / "suites" / "hostile.standard.html").read_text(encoding="utf-8")
    table = text[text.index('id="results-hostile-standard"') : text.index('id="ranking-heading"')]
    assert "&lt;img src=x onerror=alert(1)&gt;" in table and HOSTILE_METHOD not in text
    assert table.count('class="failed"') == 2, "the loss and the hypervolume"
    ranking = text[text.index('id="ranking"') :]
    names = re.findall(r'<th scope="row">.*?<a href="[^"]*">([^<]*)</a>', ranking)
    assert names[:3][-1] == "&lt;img src=x onerror=alert(1)&gt;"
    last = re.findall(r'<td data-value="([0-9.]+)"><span class="mean">', ranking)[:3]
    assert float(last[2]) == 3.0


def test_submitted_results_are_shown_and_marked(site: RealSite) -> None:
    said = (site.folder.parent / "build.log").read_text(encoding="utf-8")
    assert "left out: broken.jsonl.gz" in said
    marked = {
        name: (site.folder / name).read_text(encoding="utf-8").count(">submitted</span>")
        for name in ("suites/plane.quick.html", "suites/escape.quick.html", "methods/pcd.html")
    }
    assert marked == {"suites/plane.quick.html": 2, "suites/escape.quick.html": 0, "methods/pcd.html": 0}
    page = (site.folder / "methods" / "mine.html").read_text(encoding="utf-8")
    assert "Results sent in by Ada &lt;b&gt;Lovelace&lt;/b&gt;" in page
    assert "Descend the sum. &lt;script&gt;alert" in page and "<script>alert" not in page, "the source is read as text"
    assert "Ada &amp; &lt;b&gt;Charles&lt;/b&gt;, 1843" in page and "is not run here" in page
    table = pd.read_parquet(site.folder / "data" / "results.parquet")
    assert table.groupby("method")["submitted"].first().dropna().to_dict() == {"mine": SUBMITTER}


def test_only_repeated_results_are_ranked_and_the_verdict_stands_beside_them(site: RealSite, tmp_path: Path) -> None:
    """Once without repeated runs, once with some of them repeated to the last bit, once with all."""
    root, suite = site.folder.parent, load_suite("plane", "quick")
    runs = sorted(Store(root / "theirs").records(), key=lambda record: record.id)
    found = {}
    for count in (0, 1, len(runs)):
        verified = tmp_path / f"verified-{count}"
        for record in runs[:count]:
            Store(verified).save(replace(record, outcome=replace(record.outcome, timings={"seconds": 7.0})))
        submissions = read_submissions(root / "bundles", verified, lambda line: None)
        (part,) = submissions.parts["plane", "quick"]
        ids = Store(site.results).find_manifests(["plane"])[0].runs
        records = WithSubmissions(StoredRuns(Store(site.results), ids), [part])
        results = SuiteResults.read(suite, records, submitted=records.sent_in)
        links = contender_links([results])
        ranking = rank([results], links)
        assert ranking is not None
        (row,) = (row for row in ranking.rows if row.name == "mine")
        instances = [str(one) for one in results.table["instance"].unique()]
        shown = contenders_table(suite_numbers(results), links, instances)
        (line,) = (line for line in shown.rows if line.name == "mine")
        costs = [cells[0].text for cells in cost_rows(results)]
        assert row.verdict == line.verdict
        found[count] = (row.rank != "not ranked", row.verdict, "mine (claimed)" in costs, "mine" in costs)
        repeated = results.table[results.table["method"] == "mine"].set_index("id")["repeated"]
        assert [repeated[record.id] for record in runs] == ["yes"] * count + ["no"] * (len(runs) - count)
        assert row.rank != "not ranked" or any("mine" in note for note in ranking.notes)
        assert all("mine" not in contest.values for contest in results.contests) == (row.rank == "not ranked")
    total = len(runs)
    assert found == {
        0: (False, f"not repeated: 0 of {total} runs", True, False),
        1: (True, f"repeated to the last bit: 1 of {total} runs", True, False),
        total: (True, f"repeated to the last bit: {total} of {total} runs", False, True),
    }
    page = (site.folder / "suites" / "plane.quick.html").read_text(encoding="utf-8")
    assert page.count(f'<span class="verdict">not repeated: 0 of {total} runs</span>') == 2
    assert "mine (claimed)" in page and ">not ranked<" in page
    other = replace(runs[0], outcome=replace(runs[0].outcome, metrics={**runs[0].outcome.metrics, "x": 9.0}))
    Store(tmp_path / "differs").save(other)
    said: list[str] = []
    assert read_submissions(root / "bundles", tmp_path / "differs", said.append).parts == {}
    assert any("left out: mine.jsonl.gz: re-run of mine" in line and "x recorded as" in line for line in said)


def test_downloads_hold_every_run_and_explain_every_column(site: RealSite) -> None:
    folders = (site.results, site.results.with_name("theirs"))
    stored = results_table(record for folder in folders for record in Store(folder).records())
    data = site.folder / "data"
    tables = {
        "parquet": pd.read_parquet(data / "results.parquet"),
        "csv": pd.read_csv(data / "results.csv", low_memory=False),
    }
    for name, table in tables.items():
        assert sorted(table["id"]) == sorted(stored["id"]), name
        assert (table["status"] == "failed").sum() == 2, name
        assert set(table["suite"]) == {"plane", "escape", "compression", "hostile"}
    merged = stored.set_index("id").loc[tables["parquet"]["id"], "secondary_progress"]
    assert tables["parquet"]["secondary_progress"].to_numpy() == pytest.approx(merged.to_numpy(), nan_ok=True, abs=0)
    columns = {column["name"]: column for column in json.loads((data / "schema.json").read_bytes())}
    assert set(tables["parquet"].columns) == set(columns) == set(tables["csv"].columns)
    assert all(column["meaning"] and column["type"] for column in columns.values())


def test_a_spreadsheet_meets_no_formula(tmp_path: Path) -> None:
    from mobench.leaderboard.site.downloads import write_results

    table = pd.DataFrame({"id": ["a", "b"], "error": ["=1+1", None], "x": [-1.5, 2.0], "list": [[1, 2], 3.0]})
    write_results(table, MetricCatalog(), tmp_path)
    read = pd.read_csv(tmp_path / "results.csv")
    assert read["error"][0] == "'=1+1" and read["x"][0] == -1.5
    assert pd.read_parquet(tmp_path / "results.parquet")["list"].tolist() == ["[1,2]", "3.0"]


def _own_code(text: str) -> list[str]:
    """Return the tags with scripts, styles or handlers of their own, as a browser's parser sees them."""
    found: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            names = [name for name, _ in attrs]
            scripted = tag == "style" or (tag == "script" and "src" not in names)
            if scripted or any(name == "style" or name.startswith("on") for name in names):
                found.append(str(self.get_starttag_text()))

    Tags().feed(text)
    return found


@pytest.mark.parametrize(
    "text",
    [
        '<a title="a > b" onclick="x()">',
        "<p\nSTYLE='x'>",
        "<script>x()</script>",
        "<style>p{}</style>",
        "<img/onload=x>",
    ],
)
def test_code_in_a_page_is_found(text: str) -> None:
    assert len(_own_code(text)) == 1
    assert _own_code("<p>make peers only=step style=x &lt;b onclick=x&gt;</p><script src='a.js'></script>") == []


def test_every_link_leads_somewhere_and_no_page_has_code_of_its_own(site: RealSite) -> None:
    pages = sorted(site.folder.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert f'content="{POLICY}"'.replace("'", "&#39;") in text
        assert _own_code(text) == [], page
        for target in LINK.findall(text):
            if target.startswith(("https://", "#")):
                continue
            path, _, place = target.partition("#")
            found = (page.parent / path).resolve()
            assert found.is_file() and found.is_relative_to(site.folder.resolve()), f"{page}: {target}"
            if place and found.suffix == ".html":
                assert f'id="{place}"' in found.read_text(encoding="utf-8"), f"{page}: {target}"


def test_the_front_page_is_light(site: RealSite) -> None:
    text = (site.folder / "index.html").read_text(encoding="utf-8")
    needed = [site.folder / target for target in LINK.findall(text) if target.endswith((".css", ".js"))]
    total = len(text.encode()) + sum(path.stat().st_size for path in needed)
    assert len(needed) >= 5 and total < 300_000


def test_every_picture_has_both_themes_and_its_data(site: RealSite) -> None:
    plots = sorted((site.folder / "plots").rglob("*.png"))
    assert len(plots) > 10
    for plot in plots:
        light, dark = plot.with_suffix(".svg"), plot.with_suffix(".dark.svg")
        assert light.read_bytes() != dark.read_bytes()
        assert len(plot.with_suffix(".csv").read_text(encoding="utf-8").splitlines()) > 1


def test_mistakes_are_named_and_leave_the_place_alone(
    site: RealSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").write_text("mine")
    results = f"results={site.results}"
    for arguments, complaint in [
        ((results, f"out={other}"), "left alone"),
        (("results=nowhere",), "results=nowhere: there is no such folder"),
        ((results, "ouput=x"), "Did you mean 'out'?"),
        ((results,), "plugins=PATH names its file"),
    ]:
        assert main(["leaderboard", "build", *arguments]) == 2
        assert complaint in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    assert (other / "file").read_text() == "mine"
