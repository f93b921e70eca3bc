"""Plots of PCD's knob."""

from types import SimpleNamespace

import pytest

from mobench import UserError
from mobench.core.outcome import Outcome
from mobench.core.registry import find_problem, plots
from mobench.scoring.indicators.intervals import interval
from mobench.store.stored_runs import HeldRuns
from tests.reporting.frames import drawn, legend, results, run, table
from tests.reporting.pruned_runs import RESULTS, RUNS

VALUES = ["accuracy", "parameter_sparsity", "effective_rank"]


def data(name, found, **options):
    return plots()[name]().data(found, **options)


def test_the_knob_is_swept_and_others_are_lines():
    frame = data("knob", RESULTS, values=VALUES, select="selection_accuracy")
    accuracy = frame[frame["metric"] == "accuracy"]
    assert accuracy[accuracy["contender"] == "pcd"][["knob", "mean"]].values.tolist() == [[0.1, 95.5], [0.3, 85.5]]
    found = interval([90.0, 91.0])
    flat = [90.5, found.low, found.high]
    others = accuracy[accuracy["contender"] == "ws"]
    assert others[["knob", "mean", "low", "high"]].values.tolist() == [[0.1, *flat], [0.3, *flat]]
    assert accuracy[accuracy["contender"] == "mgda"]["mean"].isna().all()
    figure = drawn("knob", RESULTS, values=VALUES)
    assert [axis.get_title(loc="left") for axis in figure.axes] == [
        "test accuracy (%) →",
        "share of zero parameters →",
        "effective rank ←",
    ]
    assert figure.axes[0].get_xlabel() == "τ"
    lines = [line.get_xydata().tolist() for line in figure.axes[0].get_lines()]
    assert [[0.0, 95.5], [1.0, 85.5]] in lines, "the knob's values stand at equal distances"
    assert [[0.0, 90.5], [1.0, 90.5]] in lines


def test_a_knob_that_was_not_run_gives_no_plot_and_a_misspelt_one_an_error():
    without = results(RUNS[RUNS["method"] == "ws"].drop(columns="method.tau"))
    assert data("knob", without, values=VALUES).empty
    with pytest.raises(UserError, match=r"Did you mean 'method\.tau'"):
        data("knob", RESULTS, values=VALUES, setting="method.taw")


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
    figure = drawn("binding", found, frame)
    (axis,) = figure.axes
    assert legend(figure) == ["secondary-1", "secondary-2"]
    assert [line.get_ydata().tolist() for line in axis.get_lines()] == [[0.25, 1.0], [0.0, 0.75]]
