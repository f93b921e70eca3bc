import numpy as np
import pandas as pd
import pytest

from mobench.core.registry import find_problem, plots
from mobench.reporting.plots import draw_plots, house_style
from mobench.reporting.plots.drawing import add_legend, panels
from mobench.scoring.performance import performance_frame
from mobench.scoring.standings import Contest
from tests.reporting.frames import drawn, legend, results, run, table

COLUMNS = {"problem.start": "upper", "seconds_per_step": 1.0}


def two_wells(instance, values, failed=()):
    """Runs with both losses equal to w: the hypervolume in the box of side 5 is (1 − w/5)²."""
    return [
        run(m, s, instance=instance, problem="two-wells@1", status="failed" if m in failed else "done",
            **{"loss/wells": w, "loss/square": w, **COLUMNS})
        for m, w in values.items() for s in (0, 1)
    ]  # fmt: skip


RUNS = table(
    two_wells("x", {"pcd": 0.0, "ws": 2.5, "mgda": 1.0}), two_wells("y", {"pcd": 2.5, "ws": 0.0, "mgda": 1.0}, ["mgda"])
)
RESULTS = results(RUNS, find_problem("two-wells")())
PROFILE = plots()["performance-profile"]()


def contest(values, suite="s", instance="i"):
    frame = pd.DataFrame(values, dtype=float)
    return Contest(suite, "p", "toy@1", instance, instance, "m", "max", frame, dict.fromkeys(frame, 1))


def test_a_profile_of_stored_runs_is_where_hand_arithmetic_puts_it():
    frame = PROFILE.data(RESULTS)
    steps = {name: part[["ratio", "mean"]].to_numpy().tolist() for name, part in frame.groupby("contender")}
    # Hypervolumes: x has pcd 1, mgda 0.64, ws 0.25; y has ws 1, pcd 0.25 and mgda failed.
    assert steps == {"pcd": [[1, 0.5], [4, 1]], "ws": [[1, 0.5], [4, 1]], "mgda": [[1, 0], [1.5625, 0.5]]}
    figure = drawn("performance-profile", RESULTS)
    (axis,) = figure.axes
    ends = {tuple(line.get_xydata()[-1]) for line in axis.get_lines() if len(line.get_xydata()) > 1}
    assert {y for _, y in ends} == {1.0, 0.5}
    mgda = next(line.get_xydata() for line in axis.get_lines() if line.get_ydata()[-1] == 0.5)
    assert np.allclose(mgda[:3], [[1.0, 0.0], [1.5625, 0.0], [1.5625, 0.5]])
    assert legend(figure) == ["pcd", "ws", "mgda"]


def test_suites_weigh_the_same_in_a_profile():
    many = [contest({"a": [1.0], "b": [0.5]}, "many", str(index)) for index in range(3)]
    frame = performance_frame([*many, contest({"a": [0.5], "b": [1.0]}, "few")])
    assert frame[frame["ratio"] == 1.0].set_index("contender")["mean"].to_dict() == pytest.approx({"a": 0.5, "b": 0.5})
    assert frame["suites"].unique().tolist() == [2]


@pytest.mark.parametrize("count", [13, 14, 15, 16, 31, 32, 47])
def test_a_legend_of_any_length_stands_inside_the_picture(count):
    with house_style():
        figure, (axis,) = panels(["one panel"], (3.3, 2.9))
        for place in range(count):
            axis.plot([0, 1], label=f"method-{place}")
        add_legend(figure, {}, others=False)
        figure.canvas.draw()
    box = figure.legends[0].get_window_extent()
    assert box.y0 >= 0.0 and box.y1 <= figure.bbox.y1 and box.x1 <= figure.bbox.x1


def test_nothing_to_rank_gives_no_plot():
    one = results(table(two_wells("x", {"pcd": 0.0, "ws": 2.5})), find_problem("two-wells")())
    assert draw_plots(["performance-profile"], one) == []
    assert performance_frame([]).empty
