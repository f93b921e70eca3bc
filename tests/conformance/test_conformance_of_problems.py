"""The battery for problems: sound ones pass, and one broken rule each is named."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from mobench.conformance import Finding, check_problem, conforms
from mobench.conformance.front import front
from mobench.conformance.landscape import gradients, losses_after
from mobench.core.metric import Metric
from mobench.core.objective import KnownGradient
from mobench.core.problem import Bounds, Constants, Problem, Task, TaskProblem, VectorProblem
from mobench.core.registry import find_problem, problems
from mobench.core.settings import integer
from mobench.core.streams import Streams
from mobench.problems.compression.penalties import GroupLasso


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def failures(problem: type[Problem]) -> dict[str, Finding]:
    return {finding.name: finding for finding in check_problem(problem) if finding.failed}


@pytest.mark.parametrize("name", ["double-well", "quadratic", "random-gradients", "two-wells"])
def test_synthetic_problems_conform(name: str) -> None:
    assert failures(find_problem(name)) == {}


OPTIONS: dict[str, list[dict[str, Any]]] = {
    "compression@2": [
        {},
        {"penalty": "l1-nuclear"},
        {"penalty": "quantisation"},
        {"penalty": "distillation", "teacher_epochs": 1},
    ],
    "fairness@2": [{}, {"criterion": "opportunity", "group": "age"}],
    "multi-output@1": [{}, {"dataset": "linnerud"}],
    "quadratic@1": [{}, {"secondary": "quadratic"}],
}
"""Settings under which a problem has other objectives."""
NEEDS_DATA = {"celeba@1"}
"""Tested with made files, by the problem's own tests."""


@pytest.mark.parametrize("id_", sorted({*problems()} - NEEDS_DATA))
def test_every_problem_has_exact_gradients_and_a_front_that_nothing_dominates(id_: str) -> None:
    for settings in OPTIONS.get(id_, [{}]):
        problem = problems()[id_](**settings)
        for check in (gradients, front, losses_after):
            verdict = check(problem)
            assert verdict.holds, f"{id_} {settings}: {verdict.sentence}"


def test_a_network_with_a_gradient_that_is_slightly_wrong_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    right = GroupLasso._read

    def wrong(self: GroupLasso, weights: Mapping[int, torch.Tensor]) -> torch.Tensor:
        value = right(self, weights)
        self._factors.mul_(1.0 + 1e-4)
        return value

    monkeypatch.setattr(GroupLasso, "_read", wrong)
    verdict = gradients(problems()["compression@2"]())
    assert not verdict.holds and "'group-lasso'" in verdict.sentence


class Bowls(VectorProblem):
    """½‖θ‖² and ½‖θ − c‖², sound in every respect."""

    id = "bowls@1"
    n: int = integer(4, low=1, meaning="number of parameters")

    def objectives(self) -> tuple[str, ...]:
        return ("origin", "centre")

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0, 0.0)

    def hypervolume_bounds(self) -> Bounds | None:
        return Bounds((0.0, 0.0), (100.0, 100.0))

    def pareto_front(self, seed: int) -> Any:
        square = float((self.constants(Streams(seed))["centre"] ** 2).sum())
        share = np.linspace(0.0, 1.0, 11)
        return 0.5 * square * np.column_stack([share**2, (1 - share) ** 2])

    def constants(self, streams: Streams) -> Constants:
        return {"centre": torch.from_numpy(streams.numpy("problem").standard_normal(self.n))}

    def initial(self, constants: Constants, streams: Streams) -> torch.Tensor:
        return torch.from_numpy(streams.numpy("init").standard_normal(self.n))

    @staticmethod
    def values(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        return 0.5 * torch.stack([(theta**2).sum(-1), ((theta - constants["centre"]) ** 2).sum(-1)], dim=1)

    @staticmethod
    def gradients(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        return torch.stack([theta, theta - constants["centre"]], dim=1)


class WrongGradient(Bowls):
    @staticmethod
    def gradients(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        return torch.stack([theta, theta - 1.001 * constants["centre"]], dim=1)


class WrongBound(Bowls):
    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0, 0.1)


class MissingBound(Bowls):
    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0,)


class GlobalStart(Bowls):
    def initial(self, constants: Constants, streams: Streams) -> torch.Tensor:
        return torch.randn(self.n, dtype=torch.float64)


class RowsMix(Bowls):
    @staticmethod
    def values(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        return Bowls.values(theta, constants, iteration) + 0.1 * (theta - theta.mean(0)).square().sum()


class ThirdObjective(Bowls):
    def objectives(self) -> tuple[str, ...]:
        return ("origin", "centre", "nowhere")

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0,) * 3


class SwappedCorners(Bowls):
    def hypervolume_bounds(self) -> Bounds:
        return Bounds((0.0, 100.0), (100.0, 0.0))


class ShortCorners(Bowls):
    def hypervolume_bounds(self) -> Bounds:
        return Bounds((0.0,), (100.0,))


class DominatedFront(Bowls):
    def pareto_front(self, seed: int) -> Any:
        return np.array([[0.0, 1.0], [0.5, 0.5], [0.6, 0.6], [1.0, 0.0]])


class InfiniteFront(Bowls):
    def pareto_front(self, seed: int) -> Any:
        return np.array([[0.0, np.inf], [1.0, 0.0]])


class UnknownMetric(Bowls):
    def hypervolume_metrics(self) -> tuple[str, ...]:
        return ("loss/origin", "size")


class Measured(Bowls):
    """Measures its size, and declares what `declared` says."""

    declared: ClassVar[tuple[Metric, ...]] = (Metric("size", "size", range=(0.0, math.inf), meaning="‖θ‖² at the end"),)

    def measure(self, theta: torch.Tensor, constants: Constants) -> dict[str, float]:
        return {"size": float((theta**2).sum())}

    def metrics(self) -> tuple[Metric, ...]:
        return (*super().metrics(), *self.declared)


class NoVersion(Bowls):
    id = "bowls"


class BadDefaultSetting(Bowls):
    start: int = integer(0, low=1, meaning="not used")


def test_a_sound_problem_conforms() -> None:
    findings = {finding.name: finding for finding in check_problem(Bowls)}
    assert conforms(findings.values())
    assert findings["front in the box"].value == 1.0
    assert findings["seeds differ"].value == "start and landscape or data"


@pytest.mark.parametrize(
    ("problem", "broken"),
    [
        (WrongGradient, {"gradients"}),
        (WrongBound, {"lower bounds"}),
        (MissingBound, {"objectives"}),
        (GlobalStart, {"determinism"}),
        (RowsMix, {"rows"}),
        (SwappedCorners, {"hypervolume bounds"}),
        (ShortCorners, {"hypervolume bounds"}),
        (DominatedFront, {"front"}),
        (InfiniteFront, {"front"}),
        (UnknownMetric, {"metrics"}),
        (NoVersion, {"id"}),
    ],
)
def test_one_broken_rule_is_named(problem: type[Problem], broken: set[str]) -> None:
    assert broken <= set(failures(problem)) <= broken | {"objectives", "lower bounds"}


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (Measured.declared, None),
        ((), "measured, but not declared by metrics(): size"),
        ((*Measured.declared, Metric("x", "x", meaning="x")), "declared by metrics(), but not measured: x"),
        ((Metric("size", "size"),), "declared without a meaning: size"),
        ((Metric("size", "size", range=(-2.0, -1.0), meaning="x"),), "not finite or out of range at the start: size"),
    ],
)
def test_what_is_declared_is_what_is_measured(declared: tuple[Metric, ...], words: str | None) -> None:
    failed = failures(type("Declares", (Measured,), {"declared": declared}))
    assert {name: finding.sentence for name, finding in failed.items()} == ({"metrics": words} if words else {})


def test_a_metric_that_hides_a_column_of_the_results_is_refused() -> None:
    class Hides(Bowls):
        def measure(self, theta: torch.Tensor, constants: Constants) -> dict[str, float]:
            return {"seed": 1.0}

        def metrics(self) -> tuple[Metric, ...]:
            return (*super().metrics(), Metric("seed", "seed", meaning="x"))

    assert failures(Hides)["metrics"].sentence == "names of columns that every result has: seed"


def test_declared_and_actual_objectives_differ() -> None:
    assert "(3,) is declared" in failures(ThirdObjective)["objectives"].sentence


def test_default_outside_its_range() -> None:
    assert "takes a whole number from 1" in failures(BadDefaultSetting)["settings"].sentence


class L1(KnownGradient):
    """The ℓ1 norm of the weights."""

    def __init__(self, parameters: Sequence[torch.Tensor], forgets: int | None) -> None:
        self.parameters = parameters
        self.forgets = forgets
        self.value = float(sum(parameter.detach().double().abs().sum() for parameter in parameters))

    def gradient(self, index: int) -> torch.Tensor | None:
        return None if index == self.forgets else self.parameters[index].detach().sign()


class SmallTask(Task):
    """A network with batch statistics and an ℓ1 penalty."""

    def __init__(self, streams: Streams, problem: "SmallNetwork") -> None:
        self.problem = problem
        rng = streams.torch("init")
        self.network = torch.nn.Sequential(
            torch.nn.Linear(5, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Linear(16, 3)
        )
        with torch.no_grad():
            for parameter in self.network.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=rng))
        self.parameters = list(self.network.parameters())
        self.data = streams.torch("data")

    def batches(self) -> Iterator[Any]:
        while True:
            inputs = torch.randn(32, 5, generator=self.data)
            yield inputs, (inputs[:, 0] > 0).long()

    def losses(self, batch: Any) -> Sequence[torch.Tensor | KnownGradient]:
        inputs, labels = batch
        task = torch.nn.functional.cross_entropy(self.network(inputs), labels)
        return task, L1(self.parameters, self.problem.forgets)

    def losses_after(self, batch: Any) -> Sequence[float]:
        if self.problem.moves_statistics:
            return super().losses_after(batch)
        kept = {name: value.clone() for name, value in self.network.named_buffers()}
        values = super().losses_after(batch)
        for name, value in self.network.named_buffers():
            value.copy_(kept[name])
        return values

    def metrics(self) -> dict[str, float]:
        batch = next(self.batches())
        return dict(zip(("loss/task", "loss/l1"), self.losses_after(batch), strict=True))

    def state_dict(self) -> dict[str, Any]:
        return {name: value.clone() for name, value in self.network.named_buffers()}


class SmallNetwork(TaskProblem):
    id = "small-network@1"
    forgets: int | None = None
    moves_statistics = False

    def objectives(self) -> tuple[str, ...]:
        return ("task", "l1")

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0, 0.0)

    def start(self, streams: Streams) -> Task:
        return SmallTask(streams, self)


class ForgetsATensor(SmallNetwork):
    forgets = 2


class MovesStatistics(SmallNetwork):
    moves_statistics = True


@pytest.mark.parametrize(
    ("problem", "broken"),
    [(SmallNetwork, set()), (ForgetsATensor, {"gradients"}), (MovesStatistics, {"losses after"})],
)
def test_networks(problem: type[Problem], broken: set[str]) -> None:
    assert set(failures(problem)) == broken
