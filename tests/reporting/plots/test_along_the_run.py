"""Curves, conflict and Pareto plots: the numbers behind them, and the files."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mobench import UserError
from mobench.core.plot import OTHERS
from mobench.core.registry import plots
from mobench.planning.plan import make_plan
from mobench.planning.problem_suite import suite_of_problem
from mobench.reporting.plots import draw_plots, figure_of
from mobench.reporting.plots.along_the_run import Samples
from mobench.reporting.plots.kinds import undominated
from mobench.reporting.plots.style import color_contenders
from mobench.running.environment import environment
from mobench.scoring.results import SuiteResults
from mobench.store.record import RunRecord
from mobench.store.stored_runs import HeldRuns
from mobench.training.loop import train

NOW = "2030-01-01T00:00:00+00:00"


@pytest.fixture(scope="module")
def found():
    """Real runs of two methods on the toy, two of them a sweep."""
    suite = suite_of_problem("toy")
    sweep = {"methods": ["ws", "mgda"], "methods.ws.weight": "[0.2,0.8]", "seeds": 2, "training.steps": 30}
    plan = make_plan(suite, sweep)
    outcomes = train(plan.specs)
    records = [
        RunRecord(spec, outcome, None, environment(), NOW, NOW)
        for spec, outcome in zip(plan.specs, outcomes, strict=True)
    ]
    return SuiteResults.read(plan.suite, HeldRuns(records))


def data(name, results, **options):
    return plots()[name]().data(results, **options)


def sampled(results, method, column):
    return [record.outcome.history[column] for record in results.records() if record.spec.method == f"{method}@1"]


@pytest.mark.parametrize("objective", [1, 2])
def test_curves_are_the_median_and_range_of_all_runs(found, objective):
    frame = data("curves", found, objective=objective)
    last = frame[(frame["contender"] == "ws") & (frame["step"] == 29)].iloc[0]
    ends = [losses[-1][objective - 1] for losses in sampled(found, "ws", "losses")]
    assert last["runs"] == len(ends) == 4
    assert (last["mean"], last["low"], last["high"]) == (np.median(ends), min(ends), max(ends))
    name = found.problems[found.table["instance"].iloc[0]].objectives()[objective - 1]
    assert set(frame["label"]) == {f"{name} loss"}


def test_curves_refuse_an_objective_that_is_no_place(found):
    with pytest.raises(UserError, match="objective=N"):
        data("curves", found, objective=0)


def test_an_objective_that_no_problem_has_draws_nothing(found):
    assert draw_plots([{"plot": "curves", "objective": 3}], found) == []


def test_conflict_is_the_smallest_cosine(found):
    frame = data("conflict", found)
    first = frame[(frame["contender"] == "mgda") & (frame["step"] == 0)].iloc[0]
    starts = [min(cosines[0]) for cosines in sampled(found, "mgda", "cosines")]
    assert first["mean"] == np.median(starts) and -1.0 <= first["mean"] <= 1.0


def test_pareto_shows_every_configuration_and_marks_trade_offs(found):
    frame = data("pareto", found)
    ws = frame[frame["contender"] == "ws"]
    runs = found.done[found.done["method"] == "ws"]
    objectives = found.problems[runs["instance"].iloc[0]].objectives()
    means = runs.groupby("configuration")[[f"loss/{objectives[1]}", f"loss/{objectives[0]}"]].mean()
    assert len(ws) == 2
    assert np.allclose(np.sort(ws[["x", "y"]].to_numpy(), axis=0), np.sort(means.to_numpy(), axis=0))
    with pytest.raises(UserError, match="two metrics"):
        data("pareto", found, values=["loss/left"])
    assert draw_plots([{"plot": "pareto", "values": ["seed", "absent"]}], found) == []


def test_contenders_in_colour_have_a_line_and_a_band_and_all_others_share_one_grey_line():
    rows = [
        {"instance_label": f"k={k}", "contender": f"m{i}", "step": step, "mean": 0.5, "low": 0.1, "high": 0.9,
         "high_undiverged": 0.9, "label": "norm"}
        for i in range(30) for k in (2, 3) for step in (0, 9)
    ]  # fmt: skip
    plot = color_contenders(plots()["gradient-norm"](), {f"m{i}": "?" for i in range(30)}, ["m7", "m3"])
    figure = figure_of(plot, pd.DataFrame(rows), {})
    assert len(figure.axes) == 2
    for axis in figure.axes:
        grey, *colored = axis.get_lines()
        assert grey.get_color() == OTHERS and np.isfinite(grey.get_xdata()).sum() == 2 * 28
        assert np.isnan(grey.get_xdata()).sum() == 28, "a gap after each contender"
        assert [line.get_color() for line in colored] == [plot.colors["m3"], plot.colors["m7"]]
        assert len(axis.collections) == 2 and all(list(line.get_xdata()) == [1, 10] for line in colored)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["m3", "m7", "others"]


def colored(methods):
    names = [f"m{i}" for i in range(methods)]
    return color_contenders(plots()["gradient-norm"](), dict.fromkeys(names, "?"), [], names)


def steep(methods, highest, undiverged):
    rows = [
        {"instance_label": "k=2", "contender": f"m{i}", "step": step, "mean": 1.0, "low": 0.1, "high": 10.0,
         "high_undiverged": 10.0, "label": "norm"}
        for i in range(methods) for step in (0, 9)
    ]  # fmt: skip
    rows[-1] |= {"high": highest, "high_undiverged": undiverged}
    return pd.DataFrame(rows)


@pytest.mark.parametrize("methods", [2, 13])
def test_the_axis_ends_with_what_did_not_diverge_and_the_rest_is_named(methods):
    figure = colored(methods).draw(steep(methods, 1e125, np.nan), {})
    bottom, top = figure.axes[0].get_ylim()
    assert 10.0 < top < 20.0 and bottom < 0.1
    assert f"m{methods - 1} (to 1e+125)" in " ".join(figure.get_supxlabel().split())


def test_a_grey_median_that_diverged_does_not_stretch_the_axis():
    frame = steep(3, 1e125, np.nan)
    frame.loc[frame["contender"] == "m2", ["mean", "high", "high_undiverged"]] = (1e125, 1e125, np.nan)
    plot = color_contenders(plots()["gradient-norm"](), dict.fromkeys(["m0", "m1", "m2"], "?"), ["m0"])
    plot.colors["m2"] = OTHERS
    figure = plot.draw(frame, {})
    assert figure.axes[0].get_ylim()[1] < 20.0 and "m2 (to 1e+125)" in " ".join(figure.get_supxlabel().split())


@pytest.mark.parametrize(("highest", "undiverged"), [(10.0, 10.0), (1e30, 1e30)])
def test_an_axis_without_divergence_is_whole(highest, undiverged):
    figure = colored(2).draw(steep(2, highest, undiverged), {})
    assert figure.axes[0].get_ylim()[1] > highest and figure.get_supxlabel() == "step"


@pytest.mark.parametrize(
    ("better", "kept"),
    [(["min", "min"], [0, 1, 4]), (["max", "max"], [2, 3]), (["max", "min"], [1, 3, 4])],
)
def test_undominated_points(better, kept):
    points = np.array([[0.0, 2.0], [1.0, 1.0], [1.0, 3.0], [2.0, 2.0], [1.0, 1.0]])
    assert np.flatnonzero(undominated(points, better)).tolist() == kept


def test_all_of_them_are_drawn(found):
    names = ["pareto", "curves", "conflict", "trajectories"]
    pictures = {picture.name: picture for picture in draw_plots(names, found)}
    assert list(pictures) == names


def test_the_runs_are_read_once_for_all_plots_along_them(found):
    reads = []

    class Noted(HeldRuns):
        def histories(self, ids):
            reads.append(1)
            return super().histories(ids)

    entries = ["curves", {"plot": "curves", "objective": 2}, {"plot": "conflict", "where": {"method": "mgda"}}]
    drawn = draw_plots(entries, replace(found, records=Noted(list(found.records()))))
    assert len(reads) == 1
    alone = [data("curves", found), data("curves", found, objective=2)]
    alone.append(data("conflict", found.where({"method": "mgda"})))
    for picture, frame in zip(drawn, alone, strict=True):
        pd.testing.assert_frame_equal(picture.frame, frame)


def test_samples_of_runs_with_different_steps_are_taken_step_by_step():
    rng = np.random.default_rng(0)
    steps = {f"{run}": [0, 1, 5, 9] if run % 3 else [0, 5, 7] for run in range(8)}
    numbers = {id_: [None if rng.random() < 0.3 else rng.normal() for _ in grid] for id_, grid in steps.items()}
    runs = pd.DataFrame({"id": list(steps), "instance_label": "toy", "contender": ["ws"] * 7 + ["mgda"]})
    diverged = {"1", "2"}
    samples = Samples("noted", lambda value: value, runs, diverged)
    for id_, grid in steps.items():
        samples.add(id_, {"step": grid, "noted": numbers[id_]})
    samples.add("0", {"step": [0]})
    samples.add("of another suite", {"step": [0], "noted": [1.0]})
    frame = samples.frame()
    for contender, ids in runs.groupby("contender")["id"]:
        kept, undiverged = {}, {}
        for id_ in ids:
            for step, number in zip(steps[id_], numbers[id_], strict=True):
                if number is not None:
                    kept.setdefault(step, []).append(number)
                if number is not None and id_ not in diverged:
                    undiverged.setdefault(step, []).append(number)
        part = frame[frame["contender"] == contender].set_index("step")
        expected = {
            step: {"mean": np.median(found), "low": min(found), "high": max(found), "runs": len(found)}
            for step, found in kept.items()
        }
        assert part[["mean", "low", "high", "runs"]].to_dict("index") == expected
        assert part["high_undiverged"].dropna().to_dict() == {s: max(found) for s, found in undiverged.items()}
