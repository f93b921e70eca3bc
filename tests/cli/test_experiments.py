"""Runs with overrides have tables of their own, wherever results are read; through the real command line."""

import contextlib
import io
import json
import re

import pandas as pd
import pytest

from mobench.cli import main
from mobench.leaderboard.site import SiteOptions, build_site

OVERRIDES = ("methods=pcd", "training.steps=30", "training.lr=0.5")
FOUR = "methods=mgda,ws,pcgrad,pcd"
"""In an order that is neither that of their hypervolumes nor the alphabet's."""
DIFFERS = "training.lr=0.5, training.steps=30"


def mobench(*arguments, cwd):
    out = io.StringIO()
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out):
        assert main(arguments) == 0
    return out.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example that once was pooled: a suite, and one of its methods with another training, in one folder."""
    path = tmp_path_factory.mktemp("work")
    mobench("run", "suite=plane", FOUR, "jobs=0", "results=out", "--quiet", cwd=path)
    printed = mobench("run", "suite=plane", *OVERRIDES, "jobs=0", "results=out", "--quiet", cwd=path)
    assert f"(plane, profile standard with {DIFFERS})" in " ".join(printed.split())
    return path


@pytest.fixture(scope="module")
def reports(folder):
    """The folder of the reports on all experiments."""
    mobench("report", "suite=plane", "results=out", "plots=svg", cwd=folder)
    return folder / "out" / "report"


@pytest.fixture(scope="module")
def site(folder):
    """The site of all experiments, built in this process, which has loaded already what is needed."""
    build_site(SiteOptions(folder / "out", folder / "site"), say=lambda line: None)
    return folder / "site"


def hypervolume(text):
    """Return the hypervolume of PCD in the first table."""
    row = next(line.split() for line in text.splitlines() if line.startswith("PCD "))
    return row[1]


def test_the_terminal_has_a_table_for_each_experiment(folder):
    whole, own, other = (
        mobench("results", "results=out", cwd=folder)
        .partition("Two wells in the plane")[2]
        .partition("Two wells in the plane")
    )
    assert own and hypervolume(whole) == "1.000"
    assert "profile standard)" in whole and f"standard with {DIFFERS})" in " ".join(other.split())
    assert float(hypervolume(other)) < 0.99
    assert "MGDA" in whole and "MGDA" not in other


def test_every_report_counts_its_own_runs_and_plots_say_what_differs(reports):
    written = {path.parent.name: path for path in reports.glob("*/report.html")}
    assert sorted(written) == ["plane.standard", "plane.standard.training.lr=0.5-training.steps=30"]
    own, other = (written[name].read_text() for name in sorted(written))
    assert "12 of 12 planned" in own and "3 of 3 planned" in other
    assert f"profile standard with {DIFFERS}" in other
    drawn = (written["plane.standard.training.lr=0.5-training.steps=30"].parent / "trajectories.svg").read_text()
    assert DIFFERS in drawn  # matplotlib notes every text as a comment
    assert DIFFERS not in (written["plane.standard"].parent / "trajectories.svg").read_text()


@pytest.mark.parametrize("view", ["runs", "scores"])
def test_files_name_the_experiment_of_every_row(folder, view):
    for format_, read in (("csv", pd.read_csv), ("json", pd.read_json)):
        mobench("results", "results=out", f"format={format_}", f"view={view}", f"out=all.{format_}", cwd=folder)
        table = read(folder / f"all.{format_}")
        groups = table.assign(experiment=table["experiment"].fillna("")).groupby("experiment")
        assert {name: len(rows) for name, rows in groups} == {"": 12, DIFFERS: 3}


def test_the_site_has_a_page_for_each_and_ranks_the_profile_alone(site):
    pages = {path.name: path.read_text() for path in (site / "suites").iterdir()}
    (other,) = (text for name, text in pages.items() if name != "plane.standard.html")
    assert "12 of 12 planned runs" in pages["plane.standard.html"]
    assert "3 of 3 planned runs" in other and DIFFERS in other
    front = (site / "index.html").read_text()
    assert DIFFERS in front and "4 contenders over 3 contests of plane (standard)<" in front
    runs = pd.read_parquet(site / "data" / "results.parquet")
    assert (runs["experiment"] == DIFFERS).sum() == 3


def test_nothing_is_said_to_be_selected_on_validation_data_where_there_is_none(folder, reports, site):
    printed = mobench("results", "results=out", cwd=folder)
    written = [path for place in (reports, site) for path in place.rglob("*") if path.is_file()]
    about_all = {"leaderboard.html", "metrics.html", "protocol.html", "statistics.html", "submissions.html"}
    shown = [path for path in written if path.name not in about_all and path.suffix in (".html", ".js", ".tex")]
    assert len(shown) > 20
    assert "validation" not in printed
    assert [path.name for path in shown if "validation data" in path.read_text()] == []


def test_an_edited_suite_makes_its_old_runs_another_experiment(tmp_path):
    suite = tmp_path / "mine.yaml"
    text = "problems: {two-wells@1: {}}\nmethods: {mgda: {}, ws: {}}\ntraining: {steps: %d}\n"
    for steps in (3, 4):
        suite.write_text(text % steps)
        mobench("run", "suite=mine.yaml", "jobs=0", "results=out", "--quiet", cwd=tmp_path)
    mobench("results", "suite=mine.yaml", "results=out", "format=csv", "out=all.csv", cwd=tmp_path)
    table = pd.read_csv(tmp_path / "all.csv", keep_default_na=False)
    assert table.groupby("experiment")["training.steps"].unique().map(list).to_dict() == {
        "": [4],
        "training.steps=3": [3],
    }


def test_runs_are_listed_with_ids_that_show_takes_and_tables_are_sorted(folder):
    lines = mobench("results", "results=out", "view=runs", cwd=folder).splitlines()
    id_ = lines[1].split()[0]
    assert f"run {id_}: done" in mobench("show", id_, "results=out", cwd=folder)
    table = mobench("results", "results=out", cwd=folder).partition("method ")[2].splitlines()[1:5]
    volumes = [float(re.search(r" (\d\.\d{3})", line)[1]) for line in table]
    assert volumes == sorted(volumes, reverse=True) and len(volumes) == 4


def test_one_method_and_all_parameters_can_be_listed(tmp_path):
    one = mobench("list", "method", "pcd", cwd=tmp_path)
    assert one.startswith("pcd ") and "tau = " in one and "mgda" not in one
    assert mobench("list", "methods", "only=pcd", cwd=tmp_path) == one
    parameters = mobench("list", "params", cwd=tmp_path).splitlines()
    assert any(line.startswith("methods.pcd.tau=") for line in parameters)
    assert any(line.startswith("training.lr=0.001 ") for line in parameters)
    (found,) = json.loads(mobench("list", "problem", "two-wells", "--json", cwd=tmp_path))
    assert found["id"] == "two-wells@1"
