"""What the site says: failures, ranks, downloads, pages, sizes; and the commands that build and serve it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pandas as pd
import pytest

from mobench.cli import main
from mobench.leaderboard.site.pages import POLICY
from mobench.scoring.metric_catalog import MetricCatalog
from mobench.scoring.results_table import results_table
from mobench.store.folder import Store
from tests.leaderboard.conftest import HOSTILE_METHOD, SUBMITTER, RealSite, mobench

LINK = re.compile(r'(?:href|src)="([^"]*)"')


def test_a_failed_method_is_shown_failed_and_ranked_last(site: RealSite) -> None:
    text = (site.folder / "suites" / "hostile.standard.html").read_text(encoding="utf-8")
    table = text[text.index('id="results-hostile-standard"') : text.index("Ranks in this suite")]
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
    assert "not part of the code that built the site" in page
    table = pd.read_parquet(site.folder / "data" / "results.parquet")
    assert table.groupby("method")["submitted"].first().dropna().to_dict() == {"mine": SUBMITTER}


def test_downloads_hold_every_run_and_explain_every_column(site: RealSite) -> None:
    folders = (site.results, site.results.with_name("theirs"))
    stored = results_table(record for folder in folders for record in Store(folder).records())
    data = site.folder / "data"
    tables = {
        "parquet": pd.read_parquet(data / "results.parquet"),
        "csv": pd.read_csv(data / "results.csv", low_memory=False),
        "json": pd.DataFrame(json.loads((data / "results.json").read_bytes())),
    }
    for name, table in tables.items():
        assert sorted(table["id"]) == sorted(stored["id"]), name
        assert (table["status"] == "failed").sum() == 2, name
        assert set(table["suite"]) == {"plane", "escape", "compression", "hostile"}
    merged = stored.set_index("id").loc[tables["parquet"]["id"], "secondary_progress"]
    assert tables["parquet"]["secondary_progress"].to_numpy() == pytest.approx(merged.to_numpy(), nan_ok=True, abs=0)
    columns = {column["name"]: column for column in json.loads((data / "schema.json").read_bytes())}
    assert set(tables["parquet"].columns) == set(columns) >= set(tables["json"].columns)
    assert all(column["meaning"] and column["type"] for column in columns.values())


def test_a_spreadsheet_meets_no_formula(tmp_path: Path) -> None:
    from mobench.leaderboard.site.downloads import write_results

    table = pd.DataFrame({"id": ["a", "b"], "error": ["=1+1", None], "x": [-1.5, 2.0], "list": [[1, 2], 3.0]})
    write_results(table, MetricCatalog(), tmp_path)
    read = pd.read_csv(tmp_path / "results.csv")
    assert read["error"][0] == "'=1+1" and read["x"][0] == -1.5
    assert pd.read_parquet(tmp_path / "results.parquet")["list"].tolist() == ["[1,2]", "3.0"]
    assert json.loads((tmp_path / "results.json").read_bytes())[1] == {"id": "b", "x": 2.0, "list": 3.0}


def test_every_link_leads_somewhere_and_no_page_has_code_of_its_own(site: RealSite) -> None:
    pages = sorted(site.folder.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert f'content="{POLICY}"'.replace("'", "&#39;") in text
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", re.sub(r"&lt;.*?&gt;", "", text)), page
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
        ((results, "speed=nowhere"), "speed=nowhere"),
        ((results, f"peers={other / 'file'}"), "cannot be read"),
        ((results,), "plugins=PATH names its file"),
    ]:
        assert main(["leaderboard", "build", *arguments]) == 2
        assert complaint in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    assert (other / "file").read_text() == "mine"


def test_serve_sends_pages_with_a_policy_and_nothing_beside_the_site(site: RealSite, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    copy = tmp_path / "site"
    shutil.copytree(site.folder, copy)
    command = [sys.executable, "-m", "mobench", "leaderboard", "serve", f"out={copy}", "port=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[0]
            assert address.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(address, timeout=30) as answer:
                assert answer.headers["Content-Security-Policy"].startswith(POLICY)
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert b"Ranking over all suites" in answer.read()
            with urllib.request.urlopen(f"{address}assets/site.js", timeout=30) as answer:
                assert answer.headers["Content-Type"].startswith("text/javascript")
            for path in ("../secret.txt", "%2e%2e/secret.txt", "data/"):
                with pytest.raises(urllib.error.HTTPError) as refused:
                    urllib.request.urlopen(address + path, timeout=30)
                assert refused.value.code == 404
        finally:
            process.terminate()
            process.wait(timeout=30)


def test_serve_refuses_what_is_no_site(tmp_path: Path) -> None:
    done = mobench("leaderboard", "serve", f"out={tmp_path}", cwd=tmp_path, code=2)
    assert "holds no site" in done.stderr and "Traceback" not in done.stderr
