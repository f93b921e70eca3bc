"""Plans: smallest filters first, exact counts, first to reach the target, never an empty layer."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import nn

from mobench.errors import UserError
from mobench.problems.compression.pruning import Planner, PruningPlan, remove, trace
from tests.problems.compression.pruning.prepared import NAMES, Prepared, count, plan_of, prepared, pruned


def chain(first: list[float], second: list[float]) -> nn.Sequential:
    """Return two 1×1 convolutions with filters of the given norms, and a linear layer."""
    model = nn.Sequential(
        nn.Conv2d(1, len(first), 1, bias=False),
        nn.BatchNorm2d(len(first)),
        nn.Conv2d(len(first), len(second), 1),
        nn.Flatten(),
        nn.Linear(len(second), 2),
    )
    with torch.no_grad():
        model.get_parameter("0.weight").copy_(torch.tensor(first).view(-1, 1, 1, 1))
        model.get_parameter("2.weight").zero_()
        model.get_parameter("2.weight")[:, 0, 0, 0] = torch.tensor(second)
    return model


def planner(model: nn.Module) -> Planner:
    return Planner(model, trace(model, ["0.weight", "2.weight"], torch.zeros(1, 1, 1, 1)))


def test_counts_by_hand() -> None:
    """4 + 2·4 + (3·4 + 3) + (2·3 + 2) = 35 parameters; what a filter saves shrinks as others go."""
    model = chain([0.1, 0.2, 0.3, 4.0], [0.15, 2.0, 0.5])
    plans = planner(model)
    assert plans.parameters == 35
    expected = [
        ({"0": (0,)}, 35 - (1 + 2 + 3)),
        ({"0": (0,), "2": (0,)}, 29 - (3 + 1 + 2)),
        ({"0": (0, 1), "2": (0,)}, 23 - (1 + 2 + 2)),
        ({"0": (0, 1, 2), "2": (0,)}, 18 - (1 + 2 + 2)),
        ({"0": (0, 1, 2), "2": (0, 2)}, 13 - (1 + 1 + 2)),
    ]
    before = 0.0
    for removed, left in expected:
        reduction = 1 - left / 35
        for target in ((before + reduction) / 2, reduction):
            plan = plans.plan(target)
            assert (plan.removed, plan.parameters_after) == (removed, left)
        before = reduction + 1e-9
    assert plans.maximum == pytest.approx(26 / 35)
    assert plans.plan_maximum().removed == expected[-1][0]


def test_the_largest_filter_of_a_layer_stays_even_if_it_is_smaller_than_all_others() -> None:
    plans = planner(chain([1e-5, 2e-5], [1.0, 2.0, 3.0]))
    assert plans.plan_maximum().removed == {"0": (0,), "2": (0, 1)}


def test_equal_norms_go_in_the_order_of_layers_and_filters() -> None:
    plans = planner(chain([0.0, 0.0, 1.0], [0.0, 1.0]))
    assert plans.plan(0.01).removed == {"0": (0,)}
    assert plans.plan(0.3).removed == {"0": (0, 1)}


def norms(subject: Prepared, path: str) -> list[float]:
    weight = subject.model.get_submodule(path).get_parameter("weight").detach()
    sizes: list[float] = weight.flatten(1).norm(dim=1).tolist()
    return sizes


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_is_the_first_to_reach_its_target_and_its_count_is_the_real_one(name: str) -> None:
    subject, target = prepared(name), 0.9
    plan = plan_of(name)
    assert count(pruned(name)) == plan.parameters_after <= (1 - target) * subject.planner.parameters
    sizes = {path: norms(subject, path) for path in plan.removed}
    gone = [(sizes[path][index], path, index) for path, filters in plan.removed.items() for index in filters]
    _, path, index = max(gone)
    filters = tuple(other for other in plan.removed[path] if other != index)
    one_less = PruningPlan({**plan.removed, path: filters}, plan.parameters_before, 0)
    assert count(remove(subject.model, subject.structure, one_less)) > (1 - target) * subject.planner.parameters


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", [0.3, 0.8, 0.9])
def test_no_kept_filter_is_smaller_than_a_removed_one_unless_it_is_the_last_of_its_layer(
    name: str, target: float
) -> None:
    subject = prepared(name)
    removed = subject.planner.plan(target).removed
    largest_removed, smallest_kept = 0.0, float("inf")
    for layer in subject.structure.layers:
        gone = set(removed.get(layer.path, ()))
        kept = set(range(layer.filters)) - gone
        sizes = norms(subject, layer.path)
        assert kept
        largest_removed = max([largest_removed, *(sizes[index] for index in gone)])
        if len(kept) > 1:
            smallest_kept = min([smallest_kept, *(sizes[index] for index in kept)])
    assert 0 < largest_removed <= smallest_kept < float("inf")


def test_resnet_34_reaches_the_published_maximum_and_says_so() -> None:
    """Published: about 98.5 % on CIFAR-100, with channels of residual sums in place."""
    subject = prepared("resnet-34", 100)
    assert subject.planner.maximum == pytest.approx(0.986, abs=1e-3)
    with pytest.raises(UserError, match=r"target=0.99 cannot be reached: at most 0\.98\d\d of the 21,328,292"):
        subject.planner.plan(0.99)
    assert subject.planner.plan_maximum().reduction == pytest.approx(subject.planner.maximum)


@pytest.mark.parametrize("target", [0.0, 1.0, -0.5, 90, float("nan")])
def test_a_target_outside_the_unit_interval_is_refused(target: float) -> None:
    with pytest.raises(UserError, match=r"target=.* is not accepted; target takes a number in \(0, 1\)"):
        prepared("digits-cnn").planner.plan(target)


@pytest.mark.parametrize("name", ["digits-cnn", "resnet-narrow"])
def test_more_reduction_removes_a_superset(name: str) -> None:
    plans = [prepared(name).planner.plan(target) for target in (0.3, 0.6, 0.9)]
    for less, more in pairwise(plans):
        assert all(set(removed) <= set(more.removed[path]) for path, removed in less.removed.items())


def test_a_network_without_prunable_filters_reaches_nothing() -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 1))
    plans = Planner(model, trace(model, ["0.weight"], torch.zeros(1, 1, 2, 2)))
    assert plans.maximum == 0
    assert plans.plan_maximum().removed == {}
    with pytest.raises(UserError, match=r"at most 0\.0000 of the 4"):
        plans.plan(0.1)
