"""What columns are called and mean: the declarations of problems, methods and the engine in one place."""

from __future__ import annotations

import math

import pytest

from mobench import Metric
from mobench.core.registry import find_method, find_problem, methods, problems
from mobench.core.spec import RunSpec
from mobench.planning.plan import make_groups
from mobench.running.executor import execute
from mobench.scoring.catalog import MetricCatalog
from mobench.scoring.runs import results_table
from mobench.training.optimizer import Training


def test_every_column_of_every_shipped_method_is_declared(store):
    training = Training(optimizer="sgd", lr=0.01, steps=3).configuration()
    given = [kind() for kind in problems().values() if not kind.id.startswith("celeba@")]  # its images are not shipped
    shipped = [kind for name, kind in methods().items() if ":" not in name]  # another test may have asked for TorchJD's
    combining = [kind for kind in shipped if kind().proximal_weight is None]
    for problem in given:
        usable = [kind for kind in combining if problem.has_second_batch or not kind().needs_second_batch]
        kinds = [find_method("pcd")] if problem.id.startswith("compression@") else usable
        groups = make_groups([RunSpec.of(problem, kind(), training, 0) for kind in kinds])
        assert execute(groups, store, jobs=0).failed == 0
    catalog, table = MetricCatalog(given), results_table(store.records())
    assert [column for column in table if column not in catalog] == []
    assert [column for column in table if not catalog[column].meaning] == []
    noted = {f"diagnostic/{metric.name}" for kind in shipped for metric in kind.diagnostics}
    learned = {"diagnostic/power"}  # noted only where the powers of AuxiNash are learned
    assert {column for column in table if column.startswith("diagnostic/")} == noted - learned


def test_a_column_says_its_label_unit_direction_and_range():
    catalog = MetricCatalog([find_problem("compression")()])
    accuracy = catalog["accuracy@90"]
    assert accuracy.heading == "test accuracy, 90 % removed (%)"
    assert accuracy.axis == "test accuracy, 90 % removed (%) →"
    assert (accuracy.better, accuracy.range) == ("max", (0.0, 100.0))
    assert catalog["effective_rank"].axis == "effective rank ←"
    assert catalog["reduction@90"].axis == "share removed for 90 %"
    assert "held out" not in catalog["selection_accuracy"].meaning
    assert "held out" in MetricCatalog([find_problem("compression")(holdout=False)])["selection_accuracy"].meaning


def test_a_metric_allows_the_finite_numbers_of_its_range():
    share = Metric("share", "share", range=(0.0, 1.0))
    assert [share.allows(value) for value in (0.0, 1.0, 1.1, -1e-9, math.nan)] == [True, True, False, False, False]
    assert [Metric("x", "x").allows(value) for value in (-1e300, math.inf, math.nan)] == [True, False, False]


def test_settings_are_explained_by_their_declaration():
    catalog = MetricCatalog([find_problem("double-well")(), find_problem("double-well")(k=5)])
    assert catalog["problem.k"].meaning == "number of objectives K"
    assert catalog["training.lr"].meaning == "learning rate"
    assert (catalog["method.tau"].label, catalog["method.weight"].label, catalog["method.c"].label) == ("τ", "λ", "c")
    assert find_method("famo").settings["lr"].meaning in catalog["method.lr"].meaning
    assert "problem.scale" not in catalog, "no problem with a scale was given"


def test_several_meanings_of_one_setting_are_all_given():
    catalog = MetricCatalog([find_problem("quadratic")(), find_problem("compression")()])
    assert catalog["problem.scale"].meaning == "factor q on the secondary; factor on every secondary objective"


def test_of_two_declarations_the_first_counts_and_each_problem_keeps_its_own():
    wells, double = find_problem("two-wells")(), find_problem("double-well")()
    one, other = (MetricCatalog([problem])["distance_to_optimum"] for problem in (wells, double))
    assert one != other
    assert MetricCatalog([wells, double])["distance_to_optimum"] == one
    assert MetricCatalog([double, wells])["distance_to_optimum"] == other


def test_what_a_method_notes_has_a_mean_and_a_total():
    catalog = MetricCatalog([], [find_method("pcd")])
    mean, total = catalog["diagnostic/infeasible"], catalog["total/infeasible"]
    assert (mean.label, mean.range, mean.better) == ("infeasible steps", (0.0, 1.0), "min")
    assert (total.label, total.range) == ("infeasible steps, total", (0.0, math.inf))
    assert mean.meaning.endswith(": mean over the run") and total.meaning.endswith(": sum over the run")
    assert "diagnostic/unsolved" not in catalog, "AuxiNash was not given"


@pytest.mark.parametrize("name", ["secondary_progress", "seconds_per_step", "peak_memory", "seed", "error"])
def test_the_engine_declares_what_it_measures_itself(name):
    assert name in MetricCatalog([], [])
    assert name in list(MetricCatalog([], []))


def test_what_nobody_declares_is_called_by_its_name():
    assert "my_own" not in MetricCatalog()
    assert MetricCatalog()["my_own"] == Metric("my_own", "my own")
