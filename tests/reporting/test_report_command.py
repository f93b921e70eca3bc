import re
import xml.etree.ElementTree as ElementTree

import pandas as pd
import pytest

from mobench import UserError
from mobench.cli import main
from mobench.planning.suite import load_suite
from mobench.scoring.runs import results_table
from mobench.store.folder import Store

SYNTHETIC = """
title: A <test> of | reports
about: Three problems_at once.
problems: {two-wells@1: {start: [upper, lower]}}
methods: {pcd: {tau: [0.1, 0.3]}, mgda: {}, ws: [{weight: 0.5}, {weight: 0.1, form: penalty}]}
seeds: [0, 1]
training: {optimizer: sgd, lr: 0.01, steps: 30}
split: [method.form]
selected: [{label: "distance", value: distance_to_optimum, select: loss/wells, best: min, decimals: 2}]
tables: [{title: "x at the end", value: x, columns: problem.start}]
published: [{quantity: "x", paper: "2", value: x, where: {method: pcd}}]
plots: [trajectories, gradient-norm]
profiles:
  quick: {seeds: 1, problems: {two-wells@1: {start: upper}}, published_tables: [PAPER]}
"""

PAPER = """
source: a paper
tables:
  - where: {problem: two-wells@1, problem.start: upper}
    columns: [mgda]
    instances: [{distance_to_optimum: [3.943]}]
"""

COMPRESSION = """
title: Compression
problems: {compression@2: {dataset: digits, network: digits-cnn}}
methods: {pcd: {tau: [0.1, 0.3]}, mgda: {}}
seeds: [0]
training: {optimizer: adam, lr: 0.02, epochs: 1}
selected: [{label: "90 %", value: accuracy@90, select: selection_accuracy@90, decimals: 1}]
plots: [accuracy-reduction, accuracy-cost, {plot: knob, values: [accuracy]}, aim, budget]
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A folder with two suites, their results, and the report of the first in results/report."""
    folder = tmp_path_factory.mktemp("reports")
    for name, text in (("mine", SYNTHETIC), ("small", COMPRESSION)):
        (folder / f"{name}.yaml").write_text(text.replace("PAPER", str(folder / "paper.yaml")))
    (folder / "paper.yaml").write_text(PAPER)
    for suite, profile in (("mine", "standard"), ("mine", "quick"), ("small", "standard")):
        settings = [f"suite={folder / suite}.yaml", f"profile={profile}", f"results={folder / 'results'}", "jobs=0"]
        assert main(["run", *settings, "--quiet"]) == 0
    assert report(folder, "mine") == 0
    return folder


def report(folder, suite, *settings):
    return main(["report", f"suite={folder / suite}.yaml", f"results={folder / 'results'}", *settings])


@pytest.mark.parametrize(("profile", "runs"), [("quick", 5), ("standard", 20)])
def test_every_profile_that_was_run_has_a_report_of_its_own(ran, profile, runs):
    folder = ran / "results" / "report" / f"mine.{profile}"
    assert {path.name for path in folder.iterdir()} == {"report.html", "tables.tex", "tables.csv"}
    page = (folder / "report.html").read_text()
    assert "<h1>A &lt;test&gt; of | reports</h1>" in page and "Three problems_at once." in page
    assert f"{runs} of {runs} planned runs are stored" in page
    assert f"mobench run suite={ran / 'mine.yaml'} profile={profile}</pre>" in page
    assert page.count("<figure>") == 2 and "<script" not in page
    assert all(source.startswith("data:image/png;base64,") for source in re.findall(r'(?:src|href)="([^"]*)"', page))


def test_published_numbers_stand_in_the_profile_that_names_them_alone(ran):
    tables = {path.parent.name: pd.read_csv(path) for path in (ran / "results" / "report").glob("mine.*/tables.csv")}
    quick = tables["mine.quick"].dropna(subset=["published"])
    assert quick[["row", "published", "source"]].to_numpy().tolist() == [["mgda", 3.943, "a paper"]]
    assert not tables["mine.standard"]["published"].notna().any()
    page = (ran / "results" / "report" / "mine.quick" / "report.html").read_text()
    assert "distance, published</th>" in page and "<td>3.94</td>" in page and "Published: a paper" in page


def test_the_numbers_are_those_of_the_runs(ran):
    folder = ran / "results" / "report" / "mine.standard"
    store = Store(ran / "results")
    table = results_table(store.records(store.find_manifests(["mine"], "standard")[0].runs))
    pcd = table[(table["method"] == "pcd") & (table["problem.start"] == "upper")]
    best = pcd.groupby("method.tau")["loss/wells"].mean().idxmin()
    expected = pcd[pcd["method.tau"] == best]["distance_to_optimum"].mean()
    tables = pd.read_csv(folder / "tables.csv")
    selected = tables[(tables["table"] == "selected-two-wells-start=upper") & (tables["row"] == "pcd")]
    (found,) = selected[selected["metric"] == "distance_to_optimum"].to_dict("records")
    assert found["value"] == pytest.approx(expected, rel=1e-12)
    assert found["settings"] == f"tau={best:g}" and found["tried"] == 2
    for file in ("tables.tex", "report.html"):
        assert f"{expected:.2f}" in (folder / file).read_text()


def test_plots_are_written_as_files_where_they_are_asked_for(ran, capsys):
    out = ran / "elsewhere"
    assert report(ran, "small", f"out={out}", "plots=svg,png") == 0
    assert capsys.readouterr().out.split() == [str(out / "report.html")]
    for path in (*out.glob("*.svg"), *out.glob("*.png")):
        assert path.with_suffix(".csv").exists()
    assert {path.stem for path in out.glob("*.svg")} == {path.stem for path in out.glob("*.png")} != set()
    for path in out.glob("*.svg"):
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
    for path in out.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
    reduction = pd.read_csv(out / "accuracy-reduction.csv")
    at_90 = reduction[reduction["target"] == 90].set_index("contender")["mean"]
    tables = pd.read_csv(out / "tables.csv")
    selected = tables[(tables["table"] == "selected-compression") & (tables["metric"] == "accuracy@90")]
    assert at_90.to_dict() == selected.set_index("row")["value"].to_dict()
    bars = pd.read_csv(out / "aim.csv").set_index("contender")["mean"]
    curve = pd.read_csv(out / "budget.csv").groupby("contender")["mean"].max()
    assert curve.to_dict() == pytest.approx(bars.to_dict())


def test_selection_on_test_data_has_a_folder_of_its_own_and_never_reports_less(ran):
    plain = ran / "plain" / "small.yaml"
    plain.parent.mkdir()
    plain.write_text(COMPRESSION.replace(", accuracy-cost, {plot: knob, values: [accuracy]}, aim, budget", ""))
    means = {}
    for selection, folder in (("validation", "small.standard"), ("test", "small.standard.selected-on-test")):
        assert main(["report", f"suite={plain}", f"results={ran / 'results'}", f"selection={selection}"]) == 0
        place = ran / "results" / "report" / folder
        assert f"selected on {selection} data" in (place / "report.html").read_text()
        tables = pd.read_csv(place / "tables.csv")
        selected = tables[(tables["table"] == "selected-compression") & (tables["metric"] == "accuracy@90")]
        means[selection] = selected.set_index("row")["value"]
    assert (means["test"] >= means["validation"]).all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["selection=tests"], ["'tests'", "Did you mean 'test'?"]),
        (["profile=quik"], ["'quik'", "Did you mean 'quick'?"]),
        (["outt=x"], ["'outt'", "Did you mean 'out'?"]),
        (["plots=svgg"], ["'svgg'", "Did you mean 'svg'?"]),
        (["method=pdc"], ["'pdc'", "Did you mean 'pcd'?"]),
        (["profile=quick", "out=mine.yaml"], ["out=mine.yaml cannot be written"]),
    ],
)
def test_mistakes_are_explained(ran, monkeypatch, capsys, settings, words):
    monkeypatch.chdir(ran)
    assert report(ran, "mine", *settings) == 2
    error = capsys.readouterr().err
    assert all(word in error for word in words)


def test_a_mistake_in_the_suite_writes_nothing(ran, capsys):
    text = SYNTHETIC.replace("gradient-norm]", "gradient-nrm]").replace("[PAPER]", "[]")
    folder = ran / "broken"
    folder.mkdir()
    (folder / "mine.yaml").write_text(text)
    assert (
        main(["report", f"suite={folder / 'mine.yaml'}", f"results={ran / 'results'}", f"out={ran / 'nothing'}"]) == 2
    )
    assert "Did you mean 'gradient-norm'?" in capsys.readouterr().err
    assert not (ran / "nothing").exists()


def test_a_suite_that_was_not_run_is_named(ran, capsys):
    assert main(["report", "suite=escape", f"results={ran / 'results'}"]) == 2
    assert "'escape'" in capsys.readouterr().err
    assert main(["report", "suite=synthetic", f"results={ran / 'results'}"]) == 2
    assert "no part of synthetic was run" in capsys.readouterr().err
    assert main(["report", f"results={ran / 'results'}"]) == 2
    assert "suites in" in capsys.readouterr().err
    assert main(["report", "suite=escape", f"results={ran / 'absent'}"]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_a_misspelt_key_in_a_profile_is_refused(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("problems: {two-wells@1: {}}\nprofiles: {quick: {sedes: 1}}")
    with pytest.raises(UserError, match="Did you mean 'seeds'"):
        load_suite(str(file), "quick")
