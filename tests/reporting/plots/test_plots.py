import struct
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from mobench import UserError
from mobench.cli import main
from mobench.core.outcome import Outcome
from mobench.core.registry import find_problem, plots
from mobench.planning.suite import Suite, load_suite
from mobench.reporting.format import headings
from mobench.reporting.plots import draw, draw_plots, house_style
from mobench.reporting.plots.along_the_run import FLOOR
from mobench.reporting.rendering import at_once, beside
from mobench.scoring.indicators.intervals import interval
from mobench.scoring.results import SuiteResults
from mobench.scoring.select import selected_indicators
from mobench.scoring.suite_tables import volume_tables
from mobench.scoring.tables import number_of
from mobench.store.folder import Store
from mobench.store.stored_runs import HeldRuns, StoredRuns
from tests.reporting.frames import results, run, table

TARGETS = (80, 90)


def pruned(method, seed, accuracies, tau=None, status="done"):
    """A run with accuracies (dense, 80 %, 90 %) on test data; validation is one point lower."""
    columns = {"problem.scale": 1.0}
    for mark, accuracy in zip(("", "@80", "@90"), accuracies, strict=True):
        columns |= {f"accuracy{mark}": accuracy + seed, f"selection_accuracy{mark}": accuracy - 1.0}
        removed = float(mark[1:] or 0) / 100
        columns |= {f"flops{mark}": 1e6 * (1 - removed), f"bytes{mark}": 1e5, f"latency_ms{mark}": 1.0}
        if mark:
            columns[f"reduction{mark}"] = removed + 0.001
    columns |= {"parameter_sparsity": accuracies[0] / 100, "effective_rank": 5.0}
    settings = {} if tau is None else {"tau": tau}
    return run(
        method, seed, settings=settings, status=status, **(columns if status == "done" else {"problem.scale": 1.0})
    )


RUNS = table(
    [pruned("pcd", seed, values, tau) for seed in (0, 1) for tau, values in ((0.1, (95, 90, 40)), (0.3, (85, 84, 80)))],
    [pruned("ws", seed, (90, 60, 50)) for seed in (0, 1)],
    [pruned("mgda", seed, (0, 0, 0), status="failed") for seed in (0, 1)],
)
RESULTS = results(RUNS, find_problem("compression")())


def data(name, found, **options):
    return plots()[name]().data(found, **options)


def drawn(name, frame, found=RESULTS):
    with house_style():
        figure = plots()[name]().draw(frame, found.metrics)
        figure.canvas.draw()
    return figure


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_accuracy_against_reduction_shows_the_numbers_of_the_table():
    frame = data("accuracy-reduction", RESULTS)
    rows = tuple(
        {"label": str(target), "value": f"accuracy@{target}", "select": f"selection_accuracy@{target}"}
        for target in TARGETS
    )
    asked = selected_indicators(Suite(name="x", profile="y", title="z", selected=rows))
    for target, indicator in zip(TARGETS, asked, strict=True):
        (estimates,) = results(RUNS).estimates(indicator).values()
        for line in frame[frame["target"] == target].to_dict("records"):
            shown = estimates[line["contender"]]
            assert (line["n"], line["chosen"]) == (len(shown.values), shown.settings)
            if shown.interval is not None:
                assert [line[end] for end in ("mean", "low", "high")] == [
                    getattr(shown.interval, end) for end in ("mean", "low", "high")
                ]
    pcd = frame[frame["contender"] == "pcd"]
    assert pcd["chosen"].tolist() == ["tau=0.1", "tau=0.3"]
    assert pcd["mean"].tolist() == [90.5, 80.5]
    assert pcd["reduction"].tolist() == pytest.approx([80.1, 90.1])
    assert legend(drawn("accuracy-reduction", frame)) == ["pcd", "ws", "mgda (failed)"]


def test_lines_and_bands_are_where_the_data_says():
    frame = data("accuracy-reduction", RESULTS)
    (axis,) = drawn("accuracy-reduction", frame).axes
    lines = [line.get_xydata() for line in axis.get_lines() if len(line.get_xydata())]
    pcd = frame[frame["contender"] == "pcd"]
    assert any(np.array_equal(line, pcd[["reduction", "mean"]]) for line in lines)
    reach = [
        (path.vertices[:, 1].min(), path.vertices[:, 1].max()) for band in axis.collections for path in band.get_paths()
    ]
    assert (pcd["low"].min(), pcd["high"].max()) in reach


def test_accuracy_against_costs_has_the_unpruned_network_too():
    frame = data("accuracy-cost", RESULTS)
    pcd = frame[frame["contender"] == "pcd"].set_index("target")
    assert pcd["flops"].to_dict() == pytest.approx({0.0: 1e6, 80.0: 2e5, 90.0: 1e5})
    assert pcd.at[0.0, "mean"] == 95.5
    figure = drawn("accuracy-cost", frame)
    assert [axis.get_xlabel() for axis in figure.axes] == [
        "CPU latency (ms) ←",
        "file size (KiB) ←",
        "operations per image (MFLOPs) ←",
    ]


def test_selection_on_test_data_reaches_the_plots():
    swapped = RUNS.assign(**{"selection_accuracy@80": -RUNS["accuracy@80"]})
    chosen = {}
    for selection in ("validation", "test"):
        frame = data("accuracy-reduction", results(swapped, selection=selection))
        chosen[selection] = frame[(frame["contender"] == "pcd") & (frame["target"] == 80)]["chosen"].item()
    assert chosen == {"validation": "tau=0.3", "test": "tau=0.1"}


def test_runs_that_were_not_pruned_give_no_accuracy_plot():
    plain = results(table([run("pcd", 0, **{"loss/a": 1.0})]))
    assert data("accuracy-reduction", plain).empty
    assert data("accuracy-cost", plain).empty


def test_the_knob_is_swept_and_others_are_lines():
    frame = data("knob", RESULTS)
    accuracy = frame[frame["metric"] == "accuracy"]
    assert accuracy[accuracy["contender"] == "pcd"][["knob", "mean"]].values.tolist() == [[0.1, 95.5], [0.3, 85.5]]
    found = interval([90.0, 91.0])
    assert accuracy[accuracy["contender"] == "ws"][["mean", "low", "high"]].values.tolist() == [
        [90.5, found.low, found.high]
    ]
    assert accuracy[accuracy["contender"] == "ws"]["knob"].isna().all()
    assert accuracy[accuracy["contender"] == "mgda"]["mean"].isna().all()
    figure = drawn("knob", frame)
    assert [axis.get_ylabel() for axis in figure.axes] == [
        "test accuracy (%) →",
        "share of zero parameters →",
        "effective rank ←",
    ]
    assert figure.axes[0].get_xlabel() == "τ"


def test_an_arrow_points_at_the_knob_at_zero_and_costs_have_few_digits():
    wide = [pruned("pcd", seed, (95, 90, 40), tau) for seed in (0, 1) for tau in (0.0, 0.01, 0.3)]
    found = results(table(wide), find_problem("compression")())
    frame = data("knob", found, values=["accuracy", "flops"])
    accuracy, operations = drawn("knob", frame, found).axes
    assert accuracy.get_xscale() == "log"
    assert operations.get_ylabel() == "operations per image (MFLOPs)\n←"
    for axis, value in ((accuracy, 95.5), (operations, 1.0)):
        (arrow,) = axis.texts
        assert arrow.get_text() == f"{value:.3g}" and arrow.xy[1] == value
        (line,) = [line.get_xydata() for line in axis.get_lines() if len(line.get_xydata())]
        assert line.tolist() == [[0.01, value], [0.3, value]]


def test_every_configuration_is_shown_natively_pruned_and_plain_training_unpruned():
    def native(method, tau, accuracy):
        row = pruned(method, 0, (98, 90, 40), tau)
        left = {"accuracy": accuracy, "flops": 2e5, "bytes": 3e4, "latency_ms": 0.5, "reduction": 1 - accuracy / 100}
        return row | {f"{name}@native": value for name, value in left.items()}

    runs = [native("pcd", 0.1, 97.0), native("pcd", 0.3, 60.0), native("plain", None, 10.0)]
    found = results(table(runs), find_problem("compression")())
    frame = data("accuracy-cost", found, at="native").set_index("chosen")
    assert frame["mean"].to_dict() == {"pcd(tau=0.1)": 97.0, "pcd(tau=0.3)": 60.0, "plain": 98.0}
    assert frame["flops"].to_dict() == {"pcd(tau=0.1)": 2e5, "pcd(tau=0.3)": 2e5, "plain": 1e6}
    axis = drawn("accuracy-cost", frame.reset_index(), found).axes[0]
    stars = [line.get_xydata().tolist() for line in axis.get_lines() if line.get_marker() == "*"]
    assert [[1.0, 98.0]] in stars, "the unpruned network"


def test_a_knob_that_was_not_run_gives_no_plot_and_a_misspelt_one_an_error():
    without = results(RUNS[RUNS["method"] == "ws"].drop(columns="method.tau"))
    assert data("knob", without).empty
    with pytest.raises(UserError, match=r"Did you mean 'method\.tau'"):
        data("knob", RESULTS, setting="method.taw")


def test_scale_selects_nothing():
    scaled = table(
        [
            run("pcd", seed, instance=f"x{scale}", **{"problem.scale": scale, "accuracy@90": 10 * scale + seed})
            for seed in (0, 1)
            for scale in (10.0, 0.1)
        ]
    )
    frame = data("scale", found := results(scaled, find_problem("compression")()))
    assert frame[["scale", "mean", "n"]].values.tolist() == [[0.1, 1.5, 2.0], [10.0, 100.5, 2.0]]
    (axis,) = drawn("scale", frame, found).axes
    assert (axis.get_title(loc="left"), axis.get_xscale(), axis.get_ylabel()) == (
        "toy",
        "log",
        "test accuracy, 90 % removed (%) →",
    )


def test_the_end_of_runs_against_k_is_a_median_with_its_range():
    norms = {2: [1.0, 3.0, 8.0], 3: [0.0, 0.0, 1e-3]}
    runs = table(
        [
            run("pcd", seed, instance=f"{k}", **{"problem.k": k, "primary_gradient_norm": norm})
            for k, values in norms.items()
            for seed, norm in enumerate(values)
        ]
    )
    frame = data("end-by-setting", found := results(runs, find_problem("double-well")()))
    assert frame[["x", "mean", "low", "high", "runs"]].values.tolist() == [
        [2, 3.0, 1.0, 8.0, 3],
        [3, 0.0, 0.0, 1e-3, 3],
    ]
    (axis,) = drawn("end-by-setting", frame, found).axes
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
    figure = drawn("end-by-setting", frame, found)
    (axis,) = figure.axes
    assert [line.get_linestyle() for line in axis.get_lines()][-1] == "--"
    assert axis.get_lines()[-1].get_ydata().tolist() == [0.5, 2.0]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["mgda", "0.5 * (problem.k - 1)"]


def test_how_often_a_secondary_binds_is_counted_over_the_kept_steps():
    problem = find_problem("random-gradients")(k=3)
    runs = table([run("pcd", seed, settings={"tau": tau}) for tau in (0.0, 0.5) for seed in (0, 1)])
    noted = {
        (0.0, 0): [[0.0, 0.0], [1.0, 0.0]],
        (0.0, 1): [[0.0, 0.0], [0.0, 0.0]],
        (0.5, 0): [[2.0, 0.1], None, [1.0, 0.0]],
        (0.5, 1): [[1.0, 1.0]],
    }
    ids = dict(zip(zip(runs["method.tau"], runs["seed"], strict=True), runs["id"], strict=True))
    records = [
        SimpleNamespace(id=ids[key], outcome=Outcome("done", history={"multipliers": noted[key]})) for key in ids
    ]
    frame = data("binding", found := results(runs, problem, records=HeldRuns(records)))
    assert frame[["knob", "secondary", "mean", "low", "high", "runs"]].values.tolist() == [
        [0.0, "secondary-1", 0.25, 0.0, 0.5, 2],
        [0.0, "secondary-2", 0.0, 0.0, 0.0, 2],
        [0.5, "secondary-1", 1.0, 1.0, 1.0, 2],
        [0.5, "secondary-2", 0.75, 0.5, 1.0, 2],
    ]
    (axis,) = drawn("binding", frame, found).axes
    assert [line.get_ydata().tolist() for line in axis.get_lines()] == [[0.25, 1.0], [0.0, 0.75]]


def test_where_restricts_a_plot_and_keeps_failures():
    frame = data("accuracy-reduction", RESULTS.where({"method": ["pcd", "mgda"]}))
    assert set(frame["contender"]) == {"pcd", "mgda"}


def test_names_are_drawn_as_they_are():
    names = {"pcd": r"$\undefined{$", "ws": "50 %_x"}
    strange = RUNS.assign(contender=RUNS["method"].map(lambda name: names.get(name, name)))
    (picture,) = draw_plots(["accuracy-reduction"], results(strange.assign(instance_label="$a$ <b>")))
    assert picture.png.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("accuracy-reductoin", ["'accuracy-reductoin'", "Did you mean 'accuracy-reduction'?"]),
        ({"plot": "scale", "vale": "x"}, ["'vale'", "Did you mean 'value'?"]),
        ({"value": "x"}, ["lacks the key plot"]),
        ({"plot": "scale", "value": "acuracy@90"}, ["Did you mean 'accuracy@90'?"]),
        ({"plot": "scale", "where": {"methd": "pcd"}}, ["Did you mean 'method'?"]),
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


def test_a_png_has_150_dots_per_inch_and_another_number_where_it_is_asked_for():
    frame = data("accuracy-reduction", RESULTS)
    plot = plots()["accuracy-reduction"]()
    inches = drawn("accuracy-reduction", frame, RESULTS).get_size_inches()
    for asked, dots in ((None, 150), (72, 72)):
        svg, png = draw(plot, frame, RESULTS.metrics, dpi=asked)
        assert struct.unpack(">II", png[16:24]) == tuple(int(side * dots) for side in inches)
    assert svg == draw(plot, frame, RESULTS.metrics)[0]


def test_hypervolume_bars_are_the_numbers_of_the_table():
    columns = {"problem.start": "upper", "seconds_per_step": 1.0}
    runs = table(
        *([run(m, s, problem="two-wells@1", **{"loss/wells": w + s, "loss/square": w, **columns}) for s in (0, 1)]
          for m, w in (("pcd", 1.0), ("ws", 2.0)))
    )  # fmt: skip
    found = results(runs, find_problem("two-wells")())
    frame = data("hypervolume", found)
    assert frame["mean"].tolist() == pytest.approx([(0.8 * 0.8 + 0.6 * 0.8) / 2, (0.6 * 0.6 + 0.4 * 0.6) / 2])
    (volumes,) = volume_tables(found)
    assert volumes.name == "hypervolumes" and headings(volumes)[:2] == ["method", "hypervolume ↑"]
    assert [number_of(value) for value in volumes.column("frozen")] == pytest.approx(frame["mean"].tolist())
    (axis,) = drawn("hypervolume", frame, found).axes
    assert sorted(bar.get_width() for bar in axis.patches) == pytest.approx(sorted(frame["mean"]))


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
    axis = drawn("trajectories", frame, found).axes[0]
    assert sum(len(line.get_xdata()) > 60 for line in axis.get_lines()) == 5, "four paths and the front"
    assert draw_plots([{"plot": "trajectories", "where": {"problem.scale": 0.5}}], found) == []
