"""What a problem declares is what is measured of its runs: nothing more, nothing less, and in its range."""

from __future__ import annotations

from typing import Any

import pytest

from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.scoring.catalog import MEASURED
from mobench.training.optimizer import Training
from tests.problems.compression.runs import trained

CONFIGURED: list[tuple[str, dict[str, Any]]] = [
    ("double-well", {}),
    ("double-well", {"k": 5}),
    ("two-wells", {}),
    ("toy", {"start": "origin", "scale": 0.1}),
    ("zdt3", {}),
    ("dtlz7", {"k": 4}),
    ("burgers", {"width": 8, "depth": 1, "points": 16}),
    ("two-digits", {}),
    ("multi-output", {}),
    ("fairness", {}),
    ("quadratic", {}),
    ("quadratic", {"secondary": "quadratic"}),
    ("random-gradients", {}),
    ("planar-gradients", {}),
    ("planar-gradients", {"angles": (0.0, 100.0, 170.0)}),
    ("random-linear", {"k": 4}),
    ("given-gradients", {}),
    ("given-gradients", {"lengths": (0.0, 0.0, 1.0), "angles": (90.0, 90.0, 180.0)}),
    ("conflict-line", {}),
    ("step-progress", {}),
    ("step-progress", {"penalty": "l1-nuclear"}),
    ("compression", {}),
    ("compression", {"penalty": "l1-nuclear", "holdout": False}),
    ("compression", {"penalty": "quantisation"}),
    ("compression", {"penalty": "distillation", "teacher_epochs": 1}),
]


@pytest.mark.parametrize(("name", "settings"), CONFIGURED)
def test_what_is_measured_is_what_is_declared(name: str, settings: dict[str, Any]) -> None:
    problem = find_problem(name)(**settings)
    training = Training(optimizer="sgd", lr=0.01, steps=2).configuration()
    outcome = trained(RunSpec.of(problem, find_method("mgda")(), training, 0))
    found = {**outcome.metrics, **outcome.timings}
    measured = {metric: value for metric, value in found.items() if metric not in {own.name for own in MEASURED}}
    declared = {metric.name: metric for metric in problem.metrics()}
    assert set(measured) == set(declared)
    assert len(declared) == len(problem.metrics())
    assert all(declared[name].allows(value) for name, value in measured.items())
    assert all(metric.meaning and metric.label for metric in declared.values())


def test_every_objective_is_declared_as_a_loss_to_minimise() -> None:
    for name, settings in CONFIGURED:
        problem = find_problem(name)(**settings)
        better = {metric.name: metric.better for metric in problem.metrics()}
        assert {better[f"loss/{objective}"] for objective in problem.objectives()} == {"min"}
        assert {better[metric] for metric in problem.hypervolume_metrics()} == {"min"}


def test_both_objectives_of_the_smooth_quadratic_are_recorded() -> None:
    problem = find_problem("quadratic")(secondary="quadratic", scale=4.0)
    training = Training(optimizer="sgd", lr=0.01, steps=2).configuration()
    metrics = trained(RunSpec.of(problem, find_method("mgda")(), training, 0)).metrics
    assert metrics["loss/distance"] == pytest.approx(4.0 * metrics["secondary"], rel=1e-12)
    assert metrics["loss/quadratic"] != metrics["loss/distance"]
