"""What a problem is: named objectives, a versioned id, and seeded instances to train on."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from mobench.core.about import Described
from mobench.core.metric import Metric
from mobench.core.operating_points import Bounds, Hypervolume, of_metrics
from mobench.core.settings import Setting
from mobench.core.streams import Streams
from mobench.errors import UserError

if TYPE_CHECKING:
    import torch

    from mobench.core.objective import KnownGradient
    from mobench.core.task_stack import StackedParameters, TaskStack

Constants = dict[str, "torch.Tensor"]

__all__ = ["Bounds", "Constants", "Picture", "Problem", "Task", "TaskProblem", "VectorProblem"]


@dataclass(frozen=True)
class Picture:
    """A function of two variables on a grid, to be drawn beside what runs found."""

    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]
    """Rows by y, columns by x."""
    axes: tuple[str, str]
    name: str


class Problem(Described, ABC):
    """A family of seeded multi-objective problems. The primary objective comes first."""

    id: ClassVar[str] = ""
    """Name and version, e.g. `double-well@1`. A changed definition is a new version, never an edit."""
    training: ClassVar[Mapping[str, Any]] = {}
    """The training settings of `mobench run problem=…`, which has no suite that would say them."""
    uses_device: ClassVar[bool] = False
    """Whether it computes on the device of `resources().torch_device`; otherwise its runs get a core and see no GPU."""
    has_proximal_maps: ClassVar[bool] = False
    """Whether its tasks can take a proximal step on the secondaries, `Task.proximal_step`, at default settings."""

    def takes_proximal_steps(self) -> bool:
        """Say whether that is so with these settings."""
        return self.has_proximal_maps

    has_second_batch: ClassVar[bool] = False
    """Whether its tasks can draw a second, independent batch of training data, `Task.second_batch`."""

    export_options: ClassVar[dict[str, Setting]] = {}
    """The options of `export`, by name."""

    @classmethod
    def label(cls) -> str:
        return cls.id.partition("@")[0]

    @abstractmethod
    def objectives(self) -> tuple[str, ...]:
        """Return the objectives' names, the primary first."""

    def metrics(self) -> tuple[Metric, ...]:
        """Return what is measured of each of its finished runs: `loss/<objective>`, and what the problem adds."""
        return tuple(
            Metric(f"loss/{name}", f"{name} loss", better="min", meaning=f"the objective '{name}' at the end")
            for name in self.objectives()
        )

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        """Return a lower bound of each objective of this seed's instance, `-inf` where none is known."""
        return (-math.inf,) * len(self.objectives())

    def thresholds(self, seed: int) -> tuple[float, ...] | None:
        """Return the loss to get below for each objective, for methods with constraints.

        NaN where an objective has none; None where the problem states none at all.
        """
        return None

    def hypervolume_metrics(self) -> tuple[str, ...]:
        """Return the metrics, all minimised, that make a run's point in objective space."""
        return tuple(f"loss/{name}" for name in self.objectives())

    def hypervolume_bounds(self) -> Bounds | None:
        """Return the frozen bounds of `hypervolume_metrics`, None where no hypervolume is defined."""
        return None

    def hypervolumes(self) -> tuple[Hypervolume, ...]:
        """Return the volumes that are taken of its runs; contenders are ranked by the first, others stand beside it.

        By default the one of `hypervolume_metrics` in `hypervolume_bounds`.
        """
        bounds = self.hypervolume_bounds()
        return () if bounds is None else (of_metrics(self.hypervolume_metrics(), bounds),)

    def pareto_front(self, seed: int) -> npt.NDArray[np.float64] | None:
        """Return points on the true front (points × objectives) of this seed's instance, if known."""
        return None

    def picture(self) -> Picture | None:
        """Return the true solution as a picture, where runs keep theirs on the same grid (`Task.final_sample`)."""
        return None

    def reference_volumes(self, evaluations: int) -> Mapping[str, float]:
        """Return hypervolumes in the frozen bounds that other algorithms reach with so many evaluations, by name.

        They stand beside the methods' own, for comparison, and are not ranked.
        """
        return {}

    def seconds_per_step(self, device: str) -> float | None:
        """Return a stated cost of one step on `cpu` (one core) or `cuda`; None: it is timed by trying a few."""
        return None

    def prepare(self) -> None:
        """Check before the first run that all data is present; raise `UserError` if a user must act."""

    def on_random_data(self) -> Problem:
        """Return the problem with random data of the same shapes where its own has to be fetched, to time steps."""
        return self

    def export(
        self, tensors: Mapping[str, torch.Tensor], metrics: Mapping[str, float], out: Path, options: Mapping[str, Any]
    ) -> str:
        """Write what a finished run is good for elsewhere, e.g. its network, and say what was written.

        `tensors` is what its `Task.artifact` returned and `metrics` what was recorded; `options` has a
        value for each of `export_options`.
        """
        raise UserError(f"{self.id} has nothing to export")

    def steps_per_epoch(self) -> int:
        """Return how many steps make an epoch, for plans that count in epochs."""
        return 1

    def batch_key(self) -> Hashable | None:
        """Runs with equal keys may train in lockstep as one batch; None means each run alone."""
        return None


class Task(ABC):
    """One seeded instance of a `TaskProblem`: parameters, data, losses and metrics."""

    parameters: Sequence[torch.Tensor]
    """The trained tensors, as an optimizer takes them."""
    shared_parameters: Sequence[torch.Tensor] | None = None
    """Those of them that methods see. Each other one, e.g. of a head, gets the sum of the losses' own gradients."""
    parameter_names: Sequence[str] | None = None
    """What methods call the trained tensors; their positions if nothing is said."""
    steps_per_epoch: int = 1
    """How many batches make an epoch, for settings that count in epochs."""

    def batches(self) -> Iterator[Any]:
        """Yield batches without end; by default the problem has no data."""
        while True:
            yield None

    @abstractmethod
    def losses(self, batch: Any) -> Sequence[torch.Tensor | KnownGradient]:
        """Return the K losses on `batch`: scalars with a graph, or values that know their gradient."""

    def losses_after(self, batch: Any) -> Sequence[float]:
        """Return the K loss values on `batch` without a graph and without side effects.

        A network with batch statistics must override this so that they do not move.
        """
        import torch

        with torch.no_grad():
            return [float(loss if isinstance(loss, torch.Tensor) else loss.value) for loss in self.losses(batch)]

    def held_out_batch(self) -> Any:
        """Return the next batch that is not trained on, for methods that learn from it; None if there is none."""
        return None

    def second_batch(self) -> Any:
        """Return a further batch of training data, drawn from a random stream that `batches` does not use.

        It is asked only by methods that need it, and where `Problem.has_second_batch`. What is drawn here must change
        nothing for the others.
        """
        return None

    def held_out_losses(self, batch: Any) -> Sequence[torch.Tensor | KnownGradient]:
        """Return the K losses as `losses` does, but beside the step's own: on another batch, or at another point.

        A network with batch statistics must override this so that they do not move.
        """
        return self.losses(batch)

    @abstractmethod
    def metrics(self) -> Mapping[str, float]:
        """Return the evaluation metrics of the finished run, `loss/<objective>` among them."""

    def epoch_metrics(self) -> Mapping[str, Any]:
        """Return what a run's curves keep at the end of each epoch."""
        return {}

    def final_sample(self) -> Mapping[str, Any]:
        """Return what a finished run's curves keep of its end, e.g. `picture`: rows of a function on a grid."""
        return {}

    def timings(self) -> Mapping[str, float]:
        """Return what was timed of the finished run, e.g. a network's latency; never part of `metrics`."""
        return {}

    def fallbacks(self) -> Mapping[str, int]:
        """Return how often the device could not do something and the CPU did, by what it was; diagnostics tell it."""
        return {}

    def artifact(self) -> Mapping[str, torch.Tensor]:
        """Return the tensors worth keeping of the finished run, e.g. trained weights."""
        return {}

    proximal_weight: float = 0.0
    """λ of the proximal step that the problem itself asks for after each update; a method may ask for another."""

    def proximal_step(self, threshold: float) -> None:
        """Replace the parameters θ by argmin_x ½‖x − θ‖² + t Σ_j L_j(x), t = `threshold`, L_j the secondaries."""

    def after_update(self, lr: float) -> None:
        """Do what else the problem does after each optimizer step."""

    def state_dict(self) -> dict[str, Any]:
        """Return what, besides `parameters`, a checkpoint must hold to resume bit-identically."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""


class TaskProblem(Problem):
    """A problem whose seeded instances are networks: a data stream, and losses by autograd or in closed form."""

    uses_device: ClassVar[bool] = True

    @abstractmethod
    def start(self, streams: Streams) -> Task:
        """Return the instance of this seed at its initial parameters."""

    def stack(self, tasks: Sequence[Task], parameters: StackedParameters) -> TaskStack | None:
        """Return what takes the training steps of several instances as one, None where each trains alone.

        Overriding this is all that lets runs with the same settings step together.
        """
        return None

    def batch_key(self) -> Hashable | None:
        """Return the settings, all of which must agree, if the problem has a `stack`."""
        if type(self).stack is TaskProblem.stack:
            return None
        return (self.id, json.dumps(self.configuration(), sort_keys=True))


class VectorProblem(Problem):
    """A problem over θ ∈ Rⁿ whose values and gradients are closed forms.

    Many such runs train in lockstep: `theta` is B×n, every constant carries a leading dimension B,
    and one call evaluates all B runs. A row's result must depend on that row alone.
    """

    @abstractmethod
    def constants(self, streams: Streams) -> Constants:
        """Return the numbers that define this seed's instance, as tensors without batch dimension."""

    @abstractmethod
    def initial(self, constants: Constants, streams: Streams) -> torch.Tensor:
        """Return the starting point θ_0 ∈ Rⁿ (float64)."""

    @staticmethod
    @abstractmethod
    def values(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        """Return the B×K objective values at the rows of `theta`."""

    @staticmethod
    @abstractmethod
    def gradients(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        """Return the B×K×n gradients at the rows of `theta`."""

    @classmethod
    def values_and_gradients(
        cls, theta: torch.Tensor, constants: Constants, iteration: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return both, to the last bit; override it where they have terms in common that are worth sharing."""
        return cls.values(theta, constants, iteration), cls.gradients(theta, constants, iteration)

    @staticmethod
    def project(theta: torch.Tensor, constants: Constants) -> torch.Tensor | None:
        """Return the rows of `theta` moved to where they may be, after every step; None: they may be anywhere."""
        return None

    def pareto_set(self, seed: int) -> npt.NDArray[np.float64] | None:
        """Return the points θ (points × n) whose values make the front of this seed's instance, if known."""
        return None

    def measure(self, theta: torch.Tensor, constants: Constants) -> Mapping[str, float]:
        """Return metrics of one finished run beyond its losses (no batch dimension)."""
        return {}

    def batch_key(self) -> Hashable | None:
        """Return what must agree for two instances to share a batch: objectives and tensors' shapes.

        By default every whole-number setting is taken to be a size; override it where that is not so.
        """
        sizes = (getattr(self, name) for name, setting in self.settings.items() if setting.kind == "integer")
        return (self.id, self.objectives(), *sizes)
