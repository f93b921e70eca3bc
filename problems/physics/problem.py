"""What all physics-informed problems share: a domain, conditions as objectives, a solution to compare with."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mobench.core.about import Reference
from mobench.core.method import Matrix
from mobench.core.metric import NON_NEGATIVE, Metric
from mobench.core.problem import Bounds, Picture, Task, TaskProblem
from mobench.core.settings import integer
from mobench.core.streams import Streams
from mobench.core.task_stack import StackedParameters, TaskStack

from .network import TanhNetwork

CONFIG = Reference(
    "Q. Liu, M. Chu and N. Thuerey",
    "ConFIG: Towards Conflict-free Training of Physics Informed Neural Networks",
    "ICLR",
    2025,
    "https://arxiv.org/abs/2408.11104",
)
RAISSI = Reference(
    "M. Raissi, P. Perdikaris and G. E. Karniadakis",
    "Physics-informed neural networks: A deep learning framework for solving forward and inverse problems involving "
    "nonlinear partial differential equations",
    "Journal of Computational Physics 378",
    2019,
    "https://doi.org/10.1016/j.jcp.2018.10.045",
)
GRID = (41, 41)
"""Points across and up of the grid on which errors are measured and solutions drawn."""
EVALUATED = 4
"""Losses at the end are taken on this many times the points of a step."""
FLOOR = 1e-12
"""Smaller losses count as this on a logarithmic scale."""

Grid = npt.NDArray[np.float64]


class PhysicsProblem(TaskProblem):
    """A network u(x, y) trained to satisfy an equation inside a rectangle and conditions on its edges.

    Every step draws new points, uniformly inside and on each edge that has a condition. Losses at the end are taken on
    points that are the same for all runs and were not trained on. `solution_error` is the distance to the solution,
    relative to its size, on a grid.
    """

    uses_device: ClassVar[bool] = False
    low: ClassVar[tuple[float, float]]
    """The domain's lower corner."""
    high: ClassVar[tuple[float, float]]
    has_second_batch = True
    axes: ClassVar[tuple[str, str]] = ("x", "t")
    conditions: ClassVar[tuple[str, ...]]
    """The objectives, the equation's residual first."""
    outputs: ClassVar[int] = 1
    shown: ClassVar[str] = "u"
    """What is drawn."""

    width: int = integer(32, low=1, meaning="units of a hidden layer")
    depth: int = integer(4, low=1, meaning="number of hidden layers")
    points: int = integer(
        256, low=4, meaning="points inside the domain at each step; a quarter of it on each condition"
    )

    @abstractmethod
    def losses(self, network: TanhNetwork, inside: Tensor, edges: Sequence[Tensor]) -> list[Tensor]:
        """Return the losses at points `inside` (… × N × 2), and at numbers in [0, 1) along the edges of each condition.

        Where runs step together, they are the first dimension of the points, and each loss has a number for each run.
        """

    @abstractmethod
    def solution(self, x: Grid, y: Grid) -> Grid:
        """Return the solution at the points, with a last dimension over the outputs that are compared."""

    def drawn(self, outputs: Grid) -> Grid:
        """Return what is drawn of the outputs (last dimension)."""
        return outputs[..., 0]

    def objectives(self) -> tuple[str, ...]:
        return self.conditions

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0,) * len(self.conditions)

    def hypervolume_metrics(self) -> tuple[str, ...]:
        return tuple(f"log10/{name}" for name in self.conditions)

    def hypervolume_bounds(self) -> Bounds:
        """Decades: every mean squared residual from 1e-7 to 10, the equation's own up to 1e4."""
        others = len(self.conditions) - 1
        return Bounds(ideal=(-7.0,) * (others + 1), reference=(4.0, *(1.0,) * others))

    def metrics(self) -> tuple[Metric, ...]:
        found = "on points that were not trained on"
        return (
            *super().metrics(),
            *(
                Metric(f"log10/{name}", f"log10 of {name} loss", better="min", meaning=f"log10 of it {found}")
                for name in self.conditions
            ),
            Metric(
                "validation_loss", "sum of losses", "", "min", NON_NEGATIVE, f"sum of all losses {found}, for selection"
            ),
            Metric(
                "solution_error", "relative error", "", "min", NON_NEGATIVE,
                "‖u − u*‖ / ‖u*‖ on a grid, u* the exact or a numerically computed solution",
            ),
        )  # fmt: skip

    def picture(self) -> Picture:
        x, y = self.grid()
        values = self.drawn(self.solution(*np.meshgrid(x, y)))
        return Picture(x, y, values, self.axes, self.shown)

    def grid(self) -> tuple[Grid, Grid]:
        """Return the coordinates of the grid's columns and rows."""
        x, y = (np.linspace(self.low[axis], self.high[axis], GRID[axis]) for axis in (0, 1))
        return x, y

    def start(self, streams: Streams) -> Task:
        return PhysicsTask(self, streams)

    def stack(self, tasks: Sequence[Task], parameters: StackedParameters) -> TaskStack:
        return PhysicsStack(self, tasks, parameters)


class PhysicsTask(Task):
    """One seeded network."""

    def __init__(self, problem: PhysicsProblem, streams: Streams) -> None:
        self.problem = problem
        self.network = TanhNetwork.drawn(
            problem.low, problem.high, problem.outputs, problem.width, problem.depth, streams.torch("init")
        )
        self.parameters = self.network.parameters
        self.parameter_names = self.network.names
        self.generator = streams.torch("data")
        self.generator_held_out = streams.torch("held-out")
        self.generator_second = streams.torch("second-batch")

    def draw(self, generator: torch.Generator, times: int = 1) -> tuple[Tensor, Tensor]:
        """Return points inside, and numbers in [0, 1) along the edges of each condition."""
        problem = self.problem
        low, high = self.network.low, self.network.high
        inside = low + (high - low) * torch.rand(times * problem.points, 2, generator=generator)
        count = max(1, times * problem.points // 4)
        return inside, torch.rand(len(problem.conditions) - 1, count, 1, generator=generator)

    def batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        while True:
            yield self.draw(self.generator)

    def held_out_batch(self) -> tuple[Tensor, Tensor]:
        return self.draw(self.generator_held_out)

    def second_batch(self) -> tuple[Tensor, Tensor]:
        return self.draw(self.generator_second)

    def losses(self, batch: tuple[Tensor, Tensor]) -> Sequence[Tensor]:
        inside, edges = batch
        return self.problem.losses(self.network, inside, edges.unbind())

    def outputs(self) -> Grid:
        """Return the network's outputs on the grid."""
        x, y = np.meshgrid(*self.problem.grid())
        with torch.no_grad():
            found = self.network(torch.from_numpy(np.stack([x.ravel(), y.ravel()], axis=1)).float())
        return found.double().numpy().reshape(*x.shape, self.problem.outputs)

    def metrics(self) -> Mapping[str, float]:
        losses = self.losses_after(self.draw(torch.Generator().manual_seed(0), EVALUATED))
        names = self.problem.conditions
        wanted = self.problem.solution(*np.meshgrid(*self.problem.grid()))
        off = self.outputs()[..., : wanted.shape[-1]] - wanted
        return {
            **{f"loss/{name}": loss for name, loss in zip(names, losses, strict=True)},
            **{f"log10/{name}": math.log10(max(loss, FLOOR)) for name, loss in zip(names, losses, strict=True)},
            "validation_loss": sum(losses),
            "solution_error": float(np.linalg.norm(off) / np.linalg.norm(wanted)),
        }

    def final_sample(self) -> Mapping[str, Any]:
        """Return what is drawn of the solution found, with four digits."""
        drawn = self.problem.drawn(self.outputs())
        return {"picture": [[float(f"{value:.4g}") for value in row] for row in drawn.tolist()]}

    def state_dict(self) -> dict[str, Any]:
        generators = {"data": self.generator, "held_out": self.generator_held_out, "second": self.generator_second}
        return {name: generator.get_state() for name, generator in generators.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.generator.set_state(state["data"])
        self.generator_held_out.set_state(state["held_out"])
        self.generator_second.set_state(state["second"])


class PhysicsStack(TaskStack):
    """The training steps of several `PhysicsTask`s: one network whose weights have the runs as a first dimension."""

    def __init__(self, problem: PhysicsProblem, tasks: Sequence[Task], parameters: StackedParameters) -> None:
        super().__init__(tasks, parameters)
        self.problem = problem
        self.leaves = [layer.requires_grad_() for layer in parameters.layers_of(parameters.matrix.detach())]
        self.network = TanhNetwork(problem.low, problem.high, self.leaves[::2], self.leaves[1::2])
        self._losses: list[Tensor] = []
        self._targets: tuple[Tensor, list[list[Tensor]]] | None = None

    def losses(self, batches: Sequence[tuple[Tensor, Tensor]]) -> Matrix:
        inside, edges = (torch.stack(part) for part in zip(*batches, strict=True))
        self._losses = self.problem.losses(self.network, inside, edges.unbind(1))
        found: Matrix = torch.stack([loss.detach() for loss in self._losses], dim=1).double().numpy()
        return found

    def gradients(self, out: Tensor) -> int:
        if self._targets is None or self._targets[0] is not out:
            self._targets = out, [self.parameters.layers_of(rows) for rows in out.unbind(1)]
        for loss, targets in zip(self._losses, self._targets[1], strict=True):
            found = torch.autograd.grad(loss, self.leaves, torch.ones_like(loss), materialize_grads=True)
            torch._foreach_copy_(targets, list(found))
        taken, self._losses = len(self._losses), []
        return taken


def square(values: Tensor) -> Tensor:
    """Return the mean of squares over points and outputs, the last two dimensions."""
    return (values * values).mean((-2, -1))
