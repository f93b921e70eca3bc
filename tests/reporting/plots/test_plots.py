import struct
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from mobench import UserError
from mobench.cli import main
from mobench.core.plot import OTHERS
from mobench.core.registry import find_method, find_problem, plots
from mobench.planning.suite import load_suite
from mobench.reporting.pictures import at_once, beside
from mobench.reporting.plots import draw_plots
from mobench.reporting.plots.kinds import FLOOR
from mobench.reporting.plots.style import best_first, color_contenders
from mobench.scoring.results import SuiteResults
from mobench.scoring.tables import number_of
from mobench.store.folder import Store
from mobench.store.stored_runs import StoredRuns
from tests.reporting.frames import drawn, legend, results, run, table
from tests.reporting.pruned_runs import RESULTS, RUNS


def data(name, found, **options):
    return plots()[name]().data(found, **options)


def test_the_end_of_runs_against_k_is_a_median_with_its_range():
    norms = {2: [1.0, 3.0, 8.0], 3: [0.0, 0.0, 1e-3]}
    runs = table(
        [
            run("pcd", seed, instance=f"{k}", **{"problem.k": k, "primary_gradient_norm": norm})
            for k, values in norms.items()
            for seed, norm in enumerate(values)
        ]
    )
    frame = data("end-by-setting", found := results(runs, find_problem("double-well")()), value="primary_gradient_norm")
    assert frame[["x", "mean", "low", "high", "runs"]].values.tolist() == [
        [2, 3.0, 1.0, 8.0, 3],
        [3, 0.0, 0.0, 1e-3, 3],
    ]
    (axis,) = drawn("end-by-setting", found, frame).axes
    assert axis.get_lines()[0].get_ydata().tolist() == [3.0, FLOOR]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("number of objectives K", "‖∇L₁‖ at the end ←")


def test_the_law_of_a_plot_is_drawn_beside_what_was_measured():
    runs = table(
        [
            run("mgda", seed, instance=f"{k}", **{"problem.k": k, "loss/wells": 0.5 * (k - 1)})
            for k in (2, 5)
            for seed in range(2)
        ]
    )
    options = {"value": "loss/wells", "law": "0.5 * (problem.k - 1)", "scale": "linear"}
    frame = data("end-by-setting", found := results(runs, find_problem("double-well")()), **options)
    assert frame["law_value"].tolist() == frame["mean"].tolist() == [0.5, 2.0]
    figure = drawn("end-by-setting", found, frame)
    (axis,) = figure.axes
    assert [line.get_linestyle() for line in axis.get_lines()][-1] == "--"
    assert axis.get_lines()[-1].get_ydata().tolist() == [0.5, 2.0]
    assert legend(figure) == ["mgda"]
    assert axis.get_xlabel() == "number of objectives K\ndashed: 0.5 * (problem.k - 1)"


def test_names_are_drawn_as_they_are():
    names = {"pcd": r"$\undefined{$", "ws": "50 %_x"}
    strange = RUNS.assign(contender=RUNS["method"].map(lambda name: names.get(name, name)))
    (picture,) = draw_plots(
        ["accuracy-reduction"], results(strange.assign(instance_label="$a$ <b>"), find_problem("compression")())
    )
    assert picture.png.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("accuracy-reductoin", ["'accuracy-reductoin'", "Did you mean 'accuracy-reduction'?"]),
        ({"plot": "end-by-setting", "vale": "x"}, ["'vale'", "Did you mean 'value'?"]),
        ({"value": "x"}, ["lacks the key plot"]),
        (
            {"plot": "end-by-setting", "setting": "problem.scale", "value": "acuracy@90"},
            ["Did you mean 'accuracy@90'?"],
        ),
        ({"plot": "budget", "where": {"methd": "pcd"}}, ["Did you mean 'method'?"]),
    ],
)
def test_mistakes_in_a_suites_plots_are_explained(entry, words):
    with pytest.raises(UserError) as caught:
        draw_plots([entry], RESULTS)
    assert all(word in str(caught.value) for word in words)


def test_equal_data_give_equal_files_and_repeated_plots_get_names_of_their_own():
    first, second = draw_plots(["accuracy-reduction", "accuracy-reduction"], RESULTS)
    assert (first.name, second.name) == ("accuracy-reduction", "accuracy-reduction_2")
    assert (first.svg, first.png) == (second.svg, second.png)
    assert b"<svg" in first.svg


def test_a_png_has_150_dots_per_inch():
    inches = drawn("accuracy-reduction", RESULTS).get_size_inches()
    (picture,) = draw_plots(["accuracy-reduction"], RESULTS)
    assert struct.unpack(">II", picture.png[16:24]) == tuple(int(side * 150) for side in inches)


def wells(values):
    columns = {"problem.start": "upper", "seconds_per_step": 1.0}
    return table(
        *([run(m, s, problem="two-wells@1", **{"loss/wells": w + s, "loss/square": w, **columns}) for s in (0, 1)]
          for m, w in values.items())
    )  # fmt: skip


def test_dots_of_the_aim_are_the_numbers_of_the_table_best_first():
    found = results(wells({"ws": 2.0, "pcd": 1.0}), find_problem("two-wells")())
    frame = data("aim", found)
    assert frame["contender"].tolist() == ["pcd", "ws"]
    assert frame["mean"].tolist() == pytest.approx([(0.8 * 0.8 + 0.6 * 0.8) / 2, (0.6 * 0.6 + 0.4 * 0.6) / 2])
    assert [row.label for row in found.headline.rows] == ["pcd", "ws"]
    assert [number_of(value) for value in found.headline.column("aim")] == frame["mean"].tolist()
    (axis,) = drawn("aim", found, frame).axes
    spans, dots = axis.collections
    assert dots.get_offsets().tolist() == [[frame["mean"][0], 0.0], [frame["mean"][1], 1.0]]
    assert [line[:, 0].tolist() for line in spans.get_segments()] == frame[["low", "high"]].to_numpy().tolist()
    assert [label.get_text() for label in axis.get_yticklabels()] == ["pcd", "ws"]


def test_the_best_five_baselines_and_what_is_named_are_in_colour_and_no_other():
    names = ["cagrad", "famo", "mgda", "pcgrad", "nashmtl", "fairgrad", "plain", "ws", "upgrad"]
    found = results(wells({name: 1.0 + 0.1 * place for place, name in enumerate(names)}), find_problem("two-wells")())
    best = best_first(found.aims)
    assert best == names
    for named, more in (((), set()), (("upgrad",), {"upgrad"})):
        plot = color_contenders(plots()["aim"](), {name: name for name in names}, best, named)
        assert {name for name, color in plot.colors.items() if color != OTHERS} == {*names[:5], "plain", "ws", *more}
        assert set(plot.kept) == {"plain", "ws", *more}
    (picture,) = draw_plots(["aim"], found, named=["upgrad"])
    assert all(plot.colors[name].lower().encode() in picture.svg for name in ("cagrad", "plain", "upgrad"))
    assert find_method("fairgrad").look.color.lower().encode() not in picture.svg


def test_a_contender_without_a_number_ranks_behind_all_others():
    aims = pd.DataFrame(
        {"instance_label": ["a", "a", "b", "b"], "contender": ["x", "y", "x", "y"], "better": "min",
         "mean": [1.0, np.nan, 5.0, 4.0]}
    )  # fmt: skip
    assert best_first(aims) == ["x", "y"] and best_first(aims.assign(better="max")) == ["x", "y"]
    assert best_first(aims[aims["instance_label"] == "b"]) == ["y", "x"]
    assert best_first(pd.DataFrame()) == []


def test_figures_rendered_in_another_process_are_the_same_files():
    elsewhere = [*draw_in(beside), *draw_in(lambda: nullcontext(at_once))]
    assert len(elsewhere) == 2 and elsewhere[0].svg == elsewhere[1].svg and elsewhere[0].png == elsewhere[1].png


def draw_in(place):
    with place() as render:
        return draw_plots(["accuracy-reduction"], RESULTS, render)


def test_trajectories_have_one_path_for_each_run_of_a_sweep_and_the_pareto_set(tmp_path):
    suite = tmp_path / "sweep.yaml"
    suite.write_text(
        "title: t\nproblems: {toy@1: {start: [left, right]}}\nmethods: {ws: {weight: [0.2, 0.8]}}\n"
        "training: {optimizer: sgd, lr: 0.1, steps: 200}\n"
    )
    assert main(["run", f"suite={suite}", f"results={tmp_path / 'out'}", "jobs=1"]) == 0
    store = Store(tmp_path / "out")
    read = load_suite(str(suite))
    found = SuiteResults.read(read, StoredRuns(store, None))
    frame = data("trajectories", found)
    paths = frame[frame["kind"] == "path"]
    assert paths["id"].nunique() == 4
    assert (paths.groupby("id")["step"].nunique() > 64).all(), "a path is sampled evenly too"
    front = frame[frame["kind"] == "front"]
    assert np.allclose(front[["x", "y"]].to_numpy(dtype=float), find_problem("toy")().pareto_set(0))
    axis = drawn("trajectories", found, frame).axes[0]
    assert sum(len(line.get_xdata()) > 60 for line in axis.get_lines()) == 5, "four paths and the front"
    assert draw_plots([{"plot": "trajectories", "where": {"problem.scale": 0.5}}], found) == []
