"""Networks that step together: the same bits as alone, and a member's trouble is its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from mobench import Method
from mobench.core import registry
from mobench.core.problem import Task, TaskProblem
from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.planning.plan import make_groups
from mobench.problems.compression.stack import CompressionStack
from mobench.training.checkpoint import load_checkpoint
from mobench.training.loop import Group, train
from mobench.training.optimizer import Training
from mobench.training.stacked_workload import NeighboursMatterError, StackedWorkload
from mobench.training.workload import TaskWorkload

STEPS = 6


@pytest.fixture(autouse=True)
def _with_methods_of_this_file(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (FirstRow, FailsAtThree):
        monkeypatch.setitem(registry._found["methods"], kind.name, kind)


@pytest.fixture(autouse=True)
def _one_thread_as_in_a_worker() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class FirstRow(Method):
    """A direction of its own, and a look at held-out data and layers."""

    name = "first-row-of-a-stack"
    reference = "a test"

    def direction(self, step):
        assert step.held_out is not None
        total = sum(step.layer_grams.values())
        np.testing.assert_allclose(total, step.gram, rtol=1e-9, atol=1e-9)
        return step.gradients[0] + 0.1 * step.held_out.gradients[0]


class FailsAtThree(Method):
    """Raises at its third step."""

    name = "fails-at-three"
    reference = "a test"

    def weights(self, step):
        if step.iteration == 3:
            raise ValueError("enough")
        return np.ones(step.k)


Named = str | tuple[str, dict[str, object]]


def runs(
    methods: Sequence[Named], penalty: str = "group-lasso", seeds: Sequence[int] = (0,), **given: object
) -> list[RunSpec]:
    prox = 0.0 if penalty == "quantisation" else 0.01  # its error has no proximal map
    problem = find_problem("compression")(**{"penalty": penalty, "prox": prox, **given})
    training = Training(steps=STEPS, lr=0.05, schedule="cosine").configuration()
    named = [(name, {}) if isinstance(name, str) else name for name in methods]
    return [
        RunSpec.of(problem, find_method(name)(**settings), training, seed) for name, settings in named for seed in seeds
    ]


def trained(specs: Sequence[RunSpec]) -> Group:
    group = Group(specs)
    assert isinstance(group.workload, StackedWorkload)
    group.run(None, 1e9)
    return group


def assert_same(one: Group, number: int, other: Group, place: int) -> None:
    """All numbers that a record is made of."""
    member, again = one.members[number], other.members[place]
    assert (member.error, member.failed_at) == (again.error, again.failed_at)
    assert member.history.columns == again.history.columns
    assert member.means.summary() == again.means.summary()
    assert one.progress.sums()[number] == other.progress.sums()[place]
    assert one.backward_passes(number) == other.backward_passes(place)
    tensors = other.workload.artifact(place)
    assert all(torch.equal(tensor, tensors[name]) for name, tensor in one.workload.artifact(number).items())


@pytest.mark.parametrize("penalty", ["group-lasso", "l1-nuclear", "quantisation"])
def test_a_run_has_the_same_bits_alone_and_in_company(penalty: str) -> None:
    """Losses only, Gram matrices, directions, held-out data and `observe`, with and without a proximal step."""
    shrinks = "mgda" if penalty == "quantisation" else "proximal"
    named = ["plain", ("pcd", {"tau": 0.1}), "ws", "famo", shrinks, "first-row-of-a-stack", "pcgrad"]
    specs = runs(named, penalty, (1, 2))
    together = trained(specs)
    assert [member.error for member in together.members if member.error] == []
    for numbers in ([0], [3], [7], [10], [13], [4, 9, 1]):
        some = trained([specs[number] for number in numbers])
        for place, number in enumerate(numbers):
            assert_same(together, number, some, place)
    assert together.outcome(together.members[13]).metrics == train([specs[13]])[0].metrics


@pytest.mark.parametrize("penalty", ["group-lasso", "l1-nuclear", "quantisation"])
def test_steps_are_those_of_the_network_by_itself(penalty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the same run through autograd and `GradientRows`: equal up to rounding over the first steps."""
    (spec,) = runs([("pcd", {"tau": 0.3})], penalty)
    stacked = Group([spec])
    monkeypatch.setattr(type(spec.build_problem()), "batch_key", lambda self: None)
    usual = Group([spec])
    assert isinstance(stacked.workload, StackedWorkload)
    assert isinstance(usual.workload, TaskWorkload)
    for group in (stacked, usual):
        group.total = 3
        group.run(None, 1e9)
    found = stacked.workload.tasks[0].artifact()
    for name, tensor in usual.workload.tasks[0].artifact().items():
        torch.testing.assert_close(found[name], tensor, rtol=2e-3, atol=2e-4)


def test_a_member_that_fails_costs_nobody_else_a_bit() -> None:
    specs = runs([("pcd", {"tau": 0.1}), "fails-at-three", "ws"], "l1-nuclear")
    group = Group(specs)
    with torch.no_grad():
        group.workload.parameters[0][2, 5] = np.nan  # the first convolution of the third run
    group.run(None, 1e9)
    _, raised, broken = group.members
    assert (raised.failed_at, broken.failed_at) == (3, 0)
    assert "nan" in (broken.error or "")
    assert_same(group, 0, trained(specs[:1]), 0)


def test_a_group_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    specs = runs(["plain", ("pcd", {"tau": 0.1}), "famo"])
    whole = trained(specs)
    file = tmp_path / "state"
    begun = Group(specs)
    begun.total = 3
    begun.run(file, 0.0)
    resumed = Group(specs)
    resumed.load_state_dict(load_checkpoint(file))
    assert resumed.iteration == 3
    resumed.run(None, 1e9)
    for number in range(len(specs)):
        assert_same(resumed, number, whole, number)


def test_groups_give_every_worker_the_same_number_of_networks() -> None:
    specs = runs(["plain"], seeds=range(57))
    for workers in (1, 2, 3, 4):
        sizes = [len(group) for group in make_groups(specs, workers)]
        assert sum(sizes) == 57
        assert max(sizes) <= 16
        assert max(sizes) - min(sizes) <= 1
        assert len(sizes) % workers == 0
    large = runs(["plain"], seeds=(0, 1), dataset="cifar-10", network="resnet-34")
    assert [len(group) for group in make_groups(large)] == [1, 1]


class Touching(CompressionStack):
    """A stack in which a member feels its neighbours."""

    def gradients(self, out):
        passes = super().gradients(out)
        out[:, 0] *= 1.0 + 1e-6 * len(out)
        return passes


def test_a_machine_on_which_neighbours_matter_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type(find_problem("compression")())
    monkeypatch.setattr(kind, "stack", lambda self, tasks, parameters: Touching(tasks, parameters))
    monkeypatch.setattr("mobench.training.stacked_workload._independent", set())
    specs = runs(["plain", "ws"])
    with pytest.raises(NeighboursMatterError, match="compression@2"):
        Group(specs)
    assert Group(specs[:1]).workload.size == 1


def test_a_problem_without_a_stack_trains_alone() -> None:
    class Alone(TaskProblem):
        id = "alone@1"

        def objectives(self) -> tuple[str, ...]:
            return ("one",)

        def start(self, streams: object) -> Task:
            raise NotImplementedError

    assert Alone().batch_key() is None
