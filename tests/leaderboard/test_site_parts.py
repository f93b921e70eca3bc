"""The small parts of the site: names, data scripts, documents, places, commands."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from mobench.cli.run import Run
from mobench.core.about import Reference
from mobench.core.outcome import Outcome
from mobench.core.settings import text
from mobench.core.spec import RunSpec
from mobench.errors import UserError
from mobench.leaderboard.site.citation import reference_bibtex, snapshot_bibtex
from mobench.leaderboard.site.commands import reproduce_commands, spelled_value
from mobench.leaderboard.site.contents import PLACE, with_contents
from mobench.leaderboard.site.documents import rendered
from mobench.leaderboard.site.names import file_stem
from mobench.leaderboard.site.output import MARKER, check_place, replacing
from mobench.leaderboard.site.script_data import script_of
from mobench.planning.overrides import read_value
from mobench.planning.plan import make_plans
from mobench.running.environment import environment
from mobench.scoring.runs import results_table
from mobench.store.record import RunRecord

HOSTILE = ["../../etc/passwd", "a/b", "<script>", "", ".", "..", "con\x00trol", "ü" * 300, "A", "a b", "pcd@1@2"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_stem_is_one_harmless_file_name(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,70}", file_stem(name))
    assert ".." not in file_stem(name)


def test_stems_tell_names_apart_and_keep_plain_ones() -> None:
    names = [*HOSTILE, "pcd", "two-wells@1", "two-wells@2", "pcd(epsilon_form=relative)", "pcd(epsilon_form_relative)"]
    assert len({file_stem(name) for name in names}) == len(names)
    assert file_stem("pcd") == "pcd"
    assert file_stem("two-wells@1") == "two-wells.v1"


def test_data_cannot_leave_its_script() -> None:
    value = {
        "</script>": "<!--",
        "line": "\u2028\u2029",
        "__proto__": {"polluted": True},
        "quote": "\"'\\",
        "nan": float("nan"),
    }
    text = script_of("a'b", value).decode()
    assert not set("<>&'\u2028\u2029") & set(text.replace("\n", ""))
    literal = re.fullmatch(r".*JSON\.parse\((\".*\")\)\);\n", text)
    assert literal is not None
    assert json.loads(json.loads(literal[1])) == {**value, "nan": None}


def test_markdown_shows_html_as_text_and_links_into_the_site() -> None:
    text = "# Title\n\n<script>alert(1)</script> [a](metrics.md#x) [b](javascript:alert(1)) "
    text += "[c](../README.md) ![d](e.png)\n"
    markup = str(rendered(text + "\n|a|b|\n|:-|-:|\n|1|2|\n"))
    assert "<script" not in markup and "javascript:" not in re.sub(r"\[b\]\([^)]*\)", "", markup)
    assert 'href="metrics.html#x"' in markup
    assert "README" not in markup and "<img" not in markup and "style=" not in markup and "<h1" not in markup


def test_headings_can_be_linked_to() -> None:
    markup = str(rendered("# Title\n\n## Is a difference *noise*?\n\n### `x` — y\n"))
    assert 'id="is-a-difference-noise"' in markup and 'id="x--y"' in markup


def test_the_citation_is_that_of_the_project() -> None:
    citation = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    title = re.search(r'^title: "(.+)"$', citation, re.MULTILINE)
    version = re.search(r"^version: (.+)$", citation, re.MULTILINE)
    shown = snapshot_bibtex("2026-11-17 10:00 UTC", "abc123", 42)
    assert title and title[1] in shown
    assert version and f"version = {{{version[1]}}}" in shown
    assert "Leaderboard of 2026-11-17, 42 runs, commit abc123" in shown and "year = {2026}" in shown


def test_a_papers_entry_says_nothing_to_latex_but_its_fields() -> None:
    shown = reference_bibtex(
        "mine", Reference(authors="A & B", title="50 % {more}", year=2020, link="https://x.org/a_b")
    )
    assert shown.startswith("@misc{mine,\n") and "{{A   B}}" in shown and "{{50    more }}" in shown
    assert "url = {https://x.org/a_b}" in shown and "howpublished" not in shown
    assert reference_bibtex("mine", "in one line") == ""


def test_contents_are_the_headings_in_order_and_only_of_pages_that_need_them() -> None:
    headings = ['<h2 id="a">A <em>b</em></h2>', "<h3 id='c'>no</h3>", '<h2 id="d"><a href="x">R &amp; D</a></h2>']
    page = f"<h1>T</h1>{PLACE}" + "".join(headings)
    assert with_contents(page) == page.replace(PLACE, "")
    shown = with_contents(page + '<h2 id="e">E</h2>')
    links = ['<a href="#a">A b</a>', '<a href="#d">R &amp; D</a>', '<a href="#e">E</a>']
    assert re.findall(r"<li>(.*?)</li>", shown) == links and PLACE not in shown


def test_a_folder_of_somebody_else_is_never_replaced(tmp_path: Path) -> None:
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter.tex").write_text("precious")
    with pytest.raises(UserError, match="left alone"):
        check_place(other)
    with pytest.raises(UserError), replacing(other):
        pytest.fail("nothing may be written")
    assert (other / "chapter.tex").read_text() == "precious"
    with pytest.raises(UserError, match="not a folder"):
        check_place(other / "chapter.tex")


def test_a_site_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    place = tmp_path / "site"
    for number in (1, 2):
        with replacing(place) as folder:
            folder.write(MARKER, "{}")
            folder.write(f"{number}.html", str(number))
    assert sorted(file.name for file in place.iterdir()) == ["2.html", MARKER]
    with pytest.raises(RuntimeError), replacing(place) as folder:
        folder.write("3.html", "3")
        raise RuntimeError
    assert sorted(file.name for file in place.iterdir()) == ["2.html", MARKER]
    assert [file.name for file in tmp_path.iterdir()] == ["site"]


PLANS = [
    ("plane", "quick"),
    ("escape", "quick"),
    ("scale-invariance", "quick"),
    ("feasibility", "quick"),
    ("compression", "digits"),
    ("low-rank", "quick"),
    ("normalization", "digits"),
    ("compression-scale", "paper"),
]


@pytest.mark.parametrize(("suite", "profile"), PLANS)
def test_the_command_plans_exactly_the_runs_of_a_configuration(suite: str, profile: str) -> None:
    (plan,) = make_plans([suite], profile, {})
    groups = list(_table(plan.specs).groupby("configuration"))
    for _, runs in groups[:: max(1, len(groups) // 12)]:
        (command,) = reproduce_commands(plan.suite, runs.to_dict("records")[:1], runs["seed"])
        assert _planned(command) == set(runs["id"])


def test_one_command_covers_a_sweep_that_is_a_product() -> None:
    (plan,) = make_plans(["escape"], "quick", {})
    table = _table(plan.specs)
    runs = table[(table["method"] == "pcd") & (table["instance"] == table["instance"].iloc[0])]
    rows = runs.drop_duplicates("configuration").to_dict("records")
    (command,) = reproduce_commands(plan.suite, rows, runs["seed"].unique())
    assert len(rows) == 3
    assert _planned(command) == set(runs["id"])


def test_configurations_that_are_no_product_get_a_command_each() -> None:
    (plan,) = make_plans(["normalization"], "digits", {"methods": ["pcd"]})
    runs = _table(plan.specs)
    rows = runs.drop_duplicates("configuration").to_dict("records")
    commands = reproduce_commands(plan.suite, rows, runs["seed"].unique())
    assert len(commands) == len(rows) == 5
    assert set().union(*map(_planned, commands)) == set(runs["id"])


def test_settings_beyond_the_suite_are_part_of_the_command() -> None:
    overrides = {
        "methods": ["pcd"], "methods.pcd.tau": [[0.1, 0.2]], "problems.double-well.k": 3,
        "training.lr": 1e-05, "training.optimizer": "adam",
    }  # fmt: skip
    (plan,) = make_plans(["escape"], "quick", overrides)
    (suite,) = make_plans(["escape"], "quick", {})
    runs = _table(plan.specs[:1])
    (command,) = reproduce_commands(suite.suite, runs.to_dict("records"), runs["seed"])
    assert _planned(command) == {plan.specs[0].id}


def test_values_are_spelled_as_the_command_line_reads_them() -> None:
    for value in (1e-05, 0.1, 3, True, "none", "a b", "1e5x", [1, 2], 1e22, "yes"):
        declared = text("", meaning="a text") if isinstance(value, str) else None
        assert read_value("training.x", declared, spelled_value(value)) == value


def _table(specs: Sequence[RunSpec]) -> pd.DataFrame:
    return results_table(RunRecord(spec, Outcome("done"), None, environment(), "", "") for spec in specs)


def _planned(command: str) -> set[str]:
    words = shlex.split(command)
    assert words[:2] == ["mobench", "run"]
    asked = Run.read(words[2:])
    (plan,) = make_plans(asked.suite, asked.profile, asked.overrides)
    return {spec.id for spec in plan.specs}


def test_the_site_is_imported_without_torch_which_needs_the_memory_of_very_many_runs() -> None:
    program = "import sys, mobench.leaderboard.site.build\nassert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
