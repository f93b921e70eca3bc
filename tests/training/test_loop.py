import itertools
import math

import numpy as np
import pytest
import torch

from mobench import Method, NonFiniteError, TaskProblem, VectorProblem
from mobench.core import registry
from mobench.core.problem import Task
from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.planning.plan import make_groups, make_plans
from mobench.training.loop import Group, train
from mobench.training.optimizer import Training


class Regression(TaskProblem):
    """A small network on random data: a fit, and the size of its weights by autograd."""

    id = "regression@1"

    def objectives(self):
        return ("fit", "size")

    def lower_bounds(self, seed):
        return (0.0, 0.0)

    def start(self, streams):
        return RegressionTask(streams)


class RegressionTask(Task):
    steps_per_epoch = 5

    def __init__(self, streams):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(streams.numpy("init").integers(2**31)))
            self.model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        self.parameters = list(self.model.parameters())
        self.data = streams.torch("data")

    def batches(self):
        while True:
            inputs = torch.randn(16, 3, generator=self.data)
            yield inputs, inputs.prod(1, keepdim=True)

    def losses(self, batch):
        inputs, wanted = batch
        fit = (self.model(inputs) - wanted).square().mean()
        return [fit, sum(parameter.square().sum() for parameter in self.parameters)]

    def metrics(self):
        return {"size": float(sum(parameter.detach().square().sum() for parameter in self.parameters))}

    def epoch_metrics(self):
        return {"size": self.metrics()["size"]}

    def state_dict(self):
        return {"data": self.data.get_state()}

    def load_state_dict(self, state):
        self.data.set_state(state["data"])


class Breaking(Regression):
    """A gradient is NaN at step 4, while every loss is finite."""

    id = "breaking@1"

    def start(self, streams):
        task = RegressionTask(streams)
        drawn = itertools.count()
        batches = task.batches()
        task.batches = lambda: (setattr(task, "step", next(drawn)) or batch for batch in batches)
        task.parameters[0].register_hook(lambda gradient: gradient * (math.nan if task.step == 4 else 1.0))
        return task


class Cliff(VectorProblem):
    """Its gradients are NaN at step 4, while every loss is finite."""

    id = "cliff@1"

    def objectives(self):
        return ("cliff", "valley")

    def constants(self, streams):
        return {}

    def initial(self, constants, streams):
        return torch.ones(2, dtype=torch.float64)

    @staticmethod
    def values(theta, constants, iteration):
        return torch.ones(len(theta), 2, dtype=torch.float64)

    @staticmethod
    def gradients(theta, constants, iteration):
        return torch.full((len(theta), 2, 2), math.nan if iteration == 4 else 1.0, dtype=torch.float64)


class Reader(Method):
    """Reads nothing but the losses."""

    def weights(self, step):
        return step.losses / step.losses.sum()


class Exploder(Method):
    """Raises at step 3."""

    def weights(self, step):
        if step.iteration == 3:
            raise ZeroDivisionError("on purpose")
        return np.ones(step.k)


class Sphinx(Method):
    """Returns NaN at step 2."""

    def weights(self, step):
        return np.full(step.k, np.nan if step.iteration == 2 else 1.0)


class Walker(Method):
    """Goes its own way: the sign of the primary gradient."""

    def direction(self, step):
        return step.gradients[0].sign()


@pytest.fixture(autouse=True)
def own_plugins(monkeypatch):
    """Know the classes of this file, in its own tests alone."""
    methods, problems = dict(registry.methods()), dict(registry.problems())
    methods |= {method.name: method for method in (Reader, Exploder, Sphinx, Walker)}
    problems |= {problem.id: problem for problem in (Regression, Breaking, Cliff)}
    monkeypatch.setattr(registry, "_found", {"methods": methods, "problems": problems})


def spec(problem="regression@1", method="mgda", seed=0, settings=(), **training):
    return RunSpec.of(
        find_problem(problem)(**dict(settings)), find_method(method)(), Training(**training).configuration(), seed
    )


def test_a_method_that_reads_only_losses_costs_one_backward_pass_a_step():
    assert train([spec(method="reader", steps=7)])[0].backward_passes == 7
    assert train([spec(method="ws", steps=7)])[0].backward_passes == 7
    assert train([spec(method="famo", steps=7)])[0].backward_passes == 7
    assert train([spec(method="mgda", steps=7)])[0].backward_passes == 14


def test_two_methods_at_one_seed_see_the_same_batches_and_start():
    outcomes = [train([spec(method=name, steps=1)])[0] for name in ("ws", "mgda", "pcd", "famo")]
    assert len({tuple(outcome.history["losses"][0]) for outcome in outcomes}) == 1


def test_a_repeated_run_gives_the_same_bits():
    first, again = (train([spec(method="pcd", steps=20, optimizer="adam")])[0] for _ in range(2))
    assert first.metrics == again.metrics and first.history == again.history


@pytest.mark.parametrize("problem", ["double-well@1", "quadratic@1"])
def test_a_run_alone_gives_the_bits_it_gives_in_company(problem):
    specs = [
        RunSpec.of(
            find_problem(problem)(), find_method(name)(), Training(steps=60, optimizer=optimizer).configuration(), seed
        )
        for name in ("pcd", "mgda", "pcgrad", "cagrad", "famo", "auxinash", "ws")
        for seed in (0, 1, 2)
        for optimizer in ("adam",)
    ]
    together = train(specs)
    for index in (0, 4, 11, 20):
        alone = train([specs[index]])[0]
        assert alone.metrics == together[index].metrics
        assert alone.history == together[index].history


def test_whatever_a_method_does_costs_its_own_run_alone():
    specs = [spec("double-well@1", name, steps=10) for name in ("mgda", "exploder", "sphinx", "pcd")]
    good, raised, undefined, last = train(specs)
    assert (raised.status, raised.failed_at_step, raised.metrics) == ("failed", 3, {})
    assert "ZeroDivisionError: on purpose" in raised.error
    assert (undefined.status, undefined.failed_at_step) == ("failed", 2)
    assert "non-finite weights" in undefined.error
    assert good.status == last.status == "done"
    assert good.metrics == train([specs[0]])[0].metrics


def test_a_loss_that_leaves_the_finite_numbers_fails_at_that_step():
    outcome = train([spec("double-well@1", "ws", steps=200, optimizer="sgd", lr=100.0)])[0]
    assert outcome.status == "failed" and 0 < outcome.failed_at_step < 20
    assert NonFiniteError.__name__ in outcome.error and "'wells'" in outcome.error


@pytest.mark.parametrize("problem", ["breaking@1", "cliff@1"])
@pytest.mark.parametrize("method", ["ws", "famo", "mgda", "walker"])
def test_a_gradient_that_is_not_finite_fails_the_run_at_that_step(problem, method):
    outcome = train([spec(problem, method, steps=5)])[0]
    assert (outcome.status, outcome.failed_at_step) == ("failed", 4)
    assert NonFiniteError.__name__ in outcome.error


def test_a_method_with_its_own_direction():
    outcome = train([spec("two-wells@1", "walker", steps=1, optimizer="sgd", lr=0.1)])[0]
    assert outcome.metrics["x"] == pytest.approx(-2.55 + 0.1)
    assert outcome.metrics["y"] == pytest.approx(0.40 - 0.1)
    assert train([spec(method="walker", steps=3)])[0].status == "done"


def test_a_killed_run_resumes_bit_identically(tmp_path, monkeypatch):
    whole = spec(method="pcd", epochs=8, optimizer="adam", schedule="cosine")
    expected = train([whole])[0]
    checkpoint = tmp_path / "run.pt"
    step = Group.step

    def die_at_27(self, alive, sample):
        if self.iteration == 27:
            raise KeyboardInterrupt
        step(self, alive, sample)

    monkeypatch.setattr(Group, "step", die_at_27)
    with pytest.raises(KeyboardInterrupt):
        train([whole], checkpoint, checkpoint_seconds=0.0)
    monkeypatch.setattr(Group, "step", step)
    resumed = train([whole], checkpoint, checkpoint_seconds=1e9)[0]
    assert resumed.metrics == expected.metrics
    assert resumed.history == expected.history
    assert resumed.backward_passes == expected.backward_passes == 2 * 40
    assert resumed.timings["steps"] == 40


def test_a_checkpoint_of_another_run_is_not_used(tmp_path):
    checkpoint = tmp_path / "run.pt"
    train([spec(method="mgda", steps=5)], checkpoint, checkpoint_seconds=0.0)
    assert train([spec(method="pcd", steps=5)], checkpoint)[0].timings["steps"] == 5


def test_epoch_metrics_enter_the_curves():
    outcome = train([spec(method="ws", epochs=3)])[0]
    assert [value for value in outcome.history["size"] if value is not None][-1] == pytest.approx(
        outcome.metrics["size"]
    )
    assert len({len(column) for column in outcome.history.values()}) == 1


def test_the_quick_synthetic_suites_train_without_a_failure():
    for plan in make_plans(["synthetic"], "quick", {"training.steps": 20}):
        for group in make_groups(plan.specs):
            assert {outcome.status for outcome in train(group)} == {"done"}
