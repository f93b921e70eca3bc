"""Plots of compression: the numbers behind them, and where they are drawn."""

import numpy as np
import pytest

from mobench.core.registry import find_problem, plots
from mobench.planning.suite import Suite
from mobench.scoring.select import selected_indicators
from tests.reporting.frames import drawn, legend, results, run, table
from tests.reporting.pruned_runs import RESULTS, RUNS, TARGETS, pruned


def data(name, found, **options):
    return plots()[name]().data(found, **options)


def test_accuracy_against_reduction_shows_the_numbers_of_the_table():
    frame = data("accuracy-reduction", RESULTS)
    rows = tuple(
        {"label": str(target), "value": f"accuracy@{target}", "select": f"selection_accuracy@{target}"}
        for target in TARGETS
    )
    asked = selected_indicators(Suite(name="x", profile="y", title="z", selected=rows))
    for target, indicator in zip(TARGETS, asked, strict=True):
        (estimates,) = RESULTS.estimates(indicator).values()
        for line in frame[frame["target"] == target].to_dict("records"):
            shown = estimates[line["contender"]]
            assert (line["n"], line["chosen"]) == (len(shown.values), shown.settings)
            if shown.interval is not None:
                ends = ("mean", "low", "high")
                assert [line[end] for end in ends] == [getattr(shown.interval, end) for end in ends]
    pcd = frame[frame["contender"] == "pcd"]
    assert pcd["chosen"].tolist() == ["tau=0.1", "tau=0.3"]
    assert pcd["mean"].tolist() == [90.5, 80.5]
    assert pcd["reduction"].tolist() == pytest.approx([80.1, 90.1])
    assert legend(drawn("accuracy-reduction", RESULTS)) == ["pcd", "ws"], "MGDA has no number"


def test_lines_and_bands_are_where_the_data_says():
    frame = data("accuracy-reduction", RESULTS)
    (axis,) = drawn("accuracy-reduction", RESULTS).axes
    lines = [line.get_xydata() for line in axis.get_lines() if len(line.get_xydata())]
    pcd = frame[frame["contender"] == "pcd"]
    assert any(np.array_equal(line, pcd[["reduction", "mean"]]) for line in lines)
    reach = [(band.get_xy()[:, 1].min(), band.get_xy()[:, 1].max()) for band in axis.patches]
    assert (pcd["low"].min(), pcd["high"].max()) in reach


def test_accuracy_against_costs_has_the_unpruned_network_too():
    frame = data("accuracy-cost", RESULTS)
    pcd = frame[(frame["contender"] == "pcd") & (frame["cost"] == "flops")].set_index("target")
    assert pcd["value"].to_dict() == pytest.approx({0.0: 1e6, 80.0: 2e5, 90.0: 1e5})
    assert pcd.at[0.0, "mean"] == 95.5
    figure = drawn("accuracy-cost", RESULTS)
    assert [axis.get_title(loc="left") for axis in figure.axes] == [
        "CPU latency (ms) ←",
        "file size (B) ←",
        "operations per image (FLOPs) ←",
    ]
    assert figure.axes[0].get_xscale() != "linear"


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


def test_every_configuration_is_shown_natively_pruned_and_plain_training_unpruned():
    def native(method, tau, accuracy):
        row = pruned(method, 0, (98, 90, 40), tau)
        left = {"accuracy": accuracy, "flops": 2e5, "bytes": 3e4, "latency_ms": 0.5, "reduction": 1 - accuracy / 100}
        return row | {f"{name}@native": value for name, value in left.items()}

    runs = [native("pcd", 0.1, 97.0), native("pcd", 0.3, 60.0), native("plain", None, 10.0)]
    found = results(table(runs), find_problem("compression")())
    frame = data("accuracy-cost", found, at="native")
    frame = frame[frame["cost"] == "flops"].set_index("method_label")
    assert frame["mean"].to_dict() == {"pcd(tau=0.1)": 97.0, "pcd(tau=0.3)": 60.0, "plain": 98.0}
    assert frame["value"].to_dict() == {"pcd(tau=0.1)": 2e5, "pcd(tau=0.3)": 2e5, "plain": 1e6}


def test_where_restricts_a_plot_and_keeps_failures():
    frame = data("accuracy-reduction", RESULTS.where({"method": ["pcd", "mgda"]}))
    assert set(frame["contender"]) == {"pcd", "mgda"}
