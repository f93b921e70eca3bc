"""Named hypervolumes: several points of a run, chosen on validation data and measured on test data."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mobench.core.operating_points import Axis, Hypervolume, OperatingPoint
from mobench.core.registry import find_problem
from mobench.scoring.budget import budget_curves
from mobench.scoring.indicators.budget import expected_hypervolume, expected_value
from mobench.scoring.indicators.hypervolume import hypervolume
from mobench.scoring.suite_tables import volume_tables
from mobench.scoring.volumes import fronts, worth_keeping
from tests.reporting.frames import results, run, table

SIZE = Hypervolume(
    "size",
    "HV size",
    "hypervolume of accuracy and size",
    (Axis("accuracy", 100.0, 10.0), Axis("size", 0.01, 1.0, log=True, relative_to="whole")),
    (OperatingPoint(("test", "kept"), ("validation", "kept")),),
)


def volume(*runs, whole=1000.0):
    rows = [
        run("pcd", 0, settings={"tau": place}, test=test, validation=validation, kept=kept, whole=whole)
        for place, (test, validation, kept) in enumerate(runs)
    ]
    return fronts(SIZE, table(rows))[0].volume()


def test_a_volume_by_hand():
    # half of the way from chance to all correct, and one of two decades
    assert volume((55.0, 55.0, 100.0)) == pytest.approx(0.25)
    assert volume((100.0, 100.0, 10.0)) == 1.0


@pytest.mark.parametrize("accuracy", [10.0, 9.0, 0.0])
@pytest.mark.parametrize("kept", [1.0, 10.0, 1000.0])
def test_a_classifier_at_chance_adds_exactly_nothing(accuracy, kept):
    assert volume((accuracy, accuracy, kept)) == 0.0
    assert volume((accuracy, 90.0, kept)) == 0.0
    assert volume((55.0, 55.0, 100.0), (accuracy, 90.0, kept)) <= volume((55.0, 55.0, 100.0))


def test_a_network_of_full_size_adds_exactly_nothing():
    assert volume((99.0, 99.0, 1000.0)) == 0.0


def test_what_validation_rejects_is_not_measured_on_test():
    chosen, lucky = (55.0, 60.0, 100.0), (100.0, 50.0, 100.0)
    assert volume(chosen, lucky) == volume(chosen)
    assert volume((100.0, 10.0, 10.0)) == 0.0
    assert volume(chosen, (100.0, 60.0, 100.0)) == pytest.approx(0.5)  # equal on validation: both are kept


def test_points_worth_keeping():
    points = np.array([[0.0, 3.0], [1.0, 1.0], [1.0, 1.0], [1.0, 2.0], [3.0, 0.0], [5.0, 0.0]])
    assert worth_keeping(points, (4.0, 4.0)).tolist() == [True, True, True, False, True, False]


def compression_runs(accuracies, **more):
    """Return one finished run for each accuracy at 90 % removed; at all other points it is at chance."""
    rows = []
    problem = find_problem("compression@2")()
    for place, accuracy in enumerate(accuracies):
        columns = {metric.name: 1.0 for metric in problem.metrics()}
        for name in columns:
            if "accuracy" in name:
                columns[name] = 10.0
            elif name.startswith(("parameters", "flops", "latency_ms")):
                columns[name] = 1000.0 if "@" not in name else 100.0
        columns |= {"accuracy@90": accuracy, "selection_accuracy@90": accuracy, "seconds_per_step": 1.0}
        rows.append(run("pcd", 0, problem="compression@2", settings={"tau": place / 10}, **columns, **more))
    return table(rows)


def test_the_second_version_ranks_by_error_and_size():
    found = results(compression_runs([100.0]), find_problem("compression@2")())
    assert found.volumes["a"]["pcd"][0] == pytest.approx(1 / 3)
    assert [*found.all_volumes["a"]] == ["size", "flops", "latency", "losses"]
    assert found.all_volumes["a"]["latency"]["pcd"][0] == pytest.approx(1 / 2)
    (volumes,) = volume_tables(found)
    columns = ["HV size", "HV flops", "HV latency", "HV losses", "HV, paper's form"]
    assert [column.label for column in volumes.columns] == columns
    assert {column.direction for column in volumes.columns} == {"max"}


def test_chance_on_digits_is_the_largest_class():
    found = results(compression_runs([100 * 37 / 360]), find_problem("compression@2")())
    assert found.volumes["a"]["pcd"][0] == 0.0


def test_the_budget_curve_of_thinned_points_ends_at_the_hypervolume():
    found = results(compression_runs([40.0, 90.0, 70.0]), find_problem("compression@2")())
    curve = budget_curves(found).set_index("tried")["mean"]
    single = [
        results(compression_runs([a]), find_problem("compression@2")()).volumes["a"]["pcd"][0] for a in (40, 90, 70)
    ]
    assert curve[1] == pytest.approx(sum(single) / 3)
    assert curve[3] == pytest.approx(found.volumes["a"]["pcd"][0]) == pytest.approx(max(single))


def test_both_ways_to_a_budget_curve_agree():
    points = np.array([[0.1, 0.8], [0.5, 0.4], [0.9, 0.2]])
    by_parts = expected_hypervolume(points, (0.0, 0.0), (1.0, 1.0), failed=1)
    whole = expected_value(
        lambda trials: hypervolume(points[[trial for trial in trials if trial < 3]].reshape(-1, 2), (0, 0), (1, 1)), 4
    )
    assert by_parts.exact and whole.exact
    assert whole.expected == pytest.approx(by_parts.expected)


def test_the_losses_box_ends_at_chance_and_at_the_start():
    for dataset, classes in (("digits", 10), ("cifar-100", 100)):
        losses = find_problem("compression@2")(dataset=dataset).hypervolumes()[-1]
        assert losses.bounds.reference == (math.log10(math.log(classes)), 0.0)
