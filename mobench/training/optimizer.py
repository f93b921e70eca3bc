"""Training settings: the torch optimizer, its learning-rate schedule and the length of a run."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mobench.core.settings import Configurable, choice, integer, real, text
from mobench.errors import UserError, spelled, unknown
from mobench.training.torch_names import build_optimizer, check_arguments, learning_rates, optimizers, schedulers

if TYPE_CHECKING:
    import torch

ADAM = {"beta1", "beta2", "epsilon"}
USED = {"sgd": {"momentum"}, "adam": ADAM, "adamw": ADAM, "rmsprop": {"epsilon", "momentum"}, "adagrad": set[str]()}
"""Optimizers with settings of their own, and which these are; others take arguments as `training.optimizer.NAME`."""
FUSED = ("sgd", "adam", "adamw", "adagrad")
ELEMENT_BY_ELEMENT = (*USED, "adamax", "nadam", "radam", "adadelta", "rprop", "asgd")
"""Optimizers whose step at one number depends on that number's gradients alone."""
SCHEDULES = ("constant", "cosine")
TRIAL_STEPS = 10
CAPTURE_CHECKS = ("_accelerator_graph_capture_health_check", "_cuda_graph_capture_health_check")
"""Where Adam asks CUDA for its current stream, by the names of several versions of torch.

Even for parameters on the CPU, and the question opens a context on the first GPU.
"""


class Training(Configurable):
    """How every method of a suite is trained: the same optimizer, schedule and number of steps.

    Beyond the declared settings, `optimizer.NAME` and `schedule.NAME` are arguments of the torch class that
    `optimizer` or `schedule` names, e.g. `optimizer=nadam, optimizer.momentum_decay=0.01`.
    """

    optimizer: str = text("adam", meaning="torch optimizer that takes the direction, e.g. adam, sgd, nadam")
    lr: float = real(1e-3, low=0.0, meaning="learning rate")
    steps: int = integer(1000, low=0, meaning="number of steps, where epochs is 0")
    epochs: int = integer(0, low=0, meaning="number of passes over the training data; 0: count in steps")
    schedule: str = text("constant", meaning="constant, cosine (from lr to 0 over the run), or a torch scheduler")
    schedule_every: str = choice("step", ("step", "epoch"), meaning="when the schedule moves")
    momentum: float = real(0.0, low=0.0, high=1.0, high_open=True, meaning="momentum of sgd and rmsprop")
    beta1: float = real(0.9, low=0.0, high=1.0, high_open=True, meaning="Adam's decay of the mean")
    beta2: float = real(0.999, low=0.0, high=1.0, high_open=True, meaning="Adam's decay of the square")
    epsilon: float = real(1e-8, low=0.0, meaning="Adam's and RMSprop's stabiliser")
    weight_decay: float = real(0.0, low=0.0, meaning="weight decay of the optimizer")
    tf32: str = choice(
        "auto",
        ("auto", "true", "false"),
        meaning="whether a GPU rounds factors of float32 products and convolutions to 10 bits; auto: as torch is set",
        implicit=True,
    )

    def __init__(self, **values: Any) -> None:
        self.arguments: dict[str, dict[str, Any]] = {"optimizer": {}, "schedule": {}}
        declared = {}
        for key, value in values.items():
            owner, dot, name = key.partition(".")
            if dot and owner in self.arguments:
                self.arguments[owner][name] = tuple(value) if isinstance(value, list) else value
            else:
                declared[key] = value
        super().__init__(**declared)
        self.optimizer, self.schedule = self.optimizer.lower(), self.schedule.lower()
        self._refuse_mistakes()

    @classmethod
    def label(cls) -> str:
        return "training"

    def configuration(self) -> dict[str, Any]:
        """Return the value of every setting, and the arguments of the optimizer and the schedule."""
        given = [(f"{owner}.{name}", value) for owner, named in self.arguments.items() for name, value in named.items()]
        return {**super().configuration(), **dict(sorted(given))}

    @property
    def element_by_element(self) -> bool:
        """Whether runs that share one tensor do not feel each other."""
        return self.optimizer in ELEMENT_BY_ELEMENT

    def build(self, parameters: Sequence[torch.Tensor], *, fused: bool = False) -> torch.optim.Optimizer:
        """Return the torch optimizer of these settings over `parameters`.

        A `fused` one, where torch has it, takes a step in one sweep; its rounding may depend on where a
        tensor ends.
        """
        arguments = dict(self.arguments["optimizer"])
        used = USED.get(self.optimizer, set())
        if "beta1" in used:
            arguments = {"betas": (self.beta1, self.beta2), **arguments}
        if "epsilon" in used:
            arguments = {"eps": self.epsilon, **arguments}
        if "momentum" in used:
            arguments = {"momentum": self.momentum, **arguments}
        if fused and self.optimizer in FUSED:
            arguments["fused"] = True
        elif self.optimizer in USED and all(parameter.device.type == "cpu" for parameter in parameters):
            arguments.setdefault("foreach", False)  # what torch decides on a CPU, anew at every step
        return build_optimizer(self.optimizer, parameters, lr=self.lr, weight_decay=self.weight_decay, **arguments)

    def total_steps(self, steps_per_epoch: int) -> int:
        """Return the number of steps of a run."""
        return self.epochs * steps_per_epoch if self.epochs else self.steps

    def lr_at(self, iteration: int, steps_per_epoch: int) -> float:
        """Return the learning rate of a step: `lr`, `½ lr (1 + cos(π t / T))`, or what torch's scheduler says."""
        if self.schedule == "constant":
            return self.lr
        unit = steps_per_epoch if self.schedule_every == "epoch" else 1
        now, units = iteration // unit, max(1, self.total_steps(steps_per_epoch) // unit)
        if self.schedule == "cosine":
            return 0.5 * self.lr * (1.0 + math.cos(math.pi * now / units))
        rates = self._rates(units)
        return rates[min(now, len(rates) - 1)]

    def _rates(self, units: int) -> tuple[float, ...]:
        return learning_rates(self.schedule, self.lr, units, tuple(sorted(self.arguments["schedule"].items())))

    def _refuse_mistakes(self) -> None:
        """Refuse names that torch does not have, arguments it does not take, and settings that would be ignored."""
        if not self.steps and not self.epochs:
            raise UserError("training.steps=0 is not accepted; where epochs is 0 it takes a whole number from 1")
        if self.optimizer not in USED and self.optimizer not in optimizers():
            raise unknown("value for training.optimizer:", self.optimizer, optimizers())
        if self.schedule not in SCHEDULES and self.schedule not in schedulers():
            raise unknown("value for training.schedule:", self.schedule, [*SCHEDULES, *schedulers()])
        named: Mapping[str, str] = {"optimizer": self.optimizer, "schedule": self.schedule}
        for owner, found in (("optimizer", optimizers), ("schedule", schedulers)):
            given, name = self.arguments[owner], named[owner]
            if given and name in SCHEDULES:
                raise UserError(f"training.schedule.{next(iter(given))}: the schedule {name} takes no arguments")
            if given:
                check_arguments(f"training.{owner}", found()[name], given)
        used = USED.get(self.optimizer, set())
        for name in ("momentum", *sorted(ADAM)):
            value = getattr(self, name)
            if name not in used and value != self.settings[name].default:
                raise UserError(
                    f"training.{name}={spelled(value)} is not accepted: the optimizer {self.optimizer} does not "
                    "use it; its own arguments are written training.optimizer.NAME=VALUE"
                )
        if self.arguments["optimizer"] or self.optimizer not in USED:
            self._try("optimizer", self.optimizer)
        if self.schedule not in SCHEDULES:
            self._try("schedule", self.schedule)

    def _try(self, owner: str, name: str) -> None:
        """Let torch itself check the arguments."""
        import torch

        try:
            if owner == "optimizer":
                self.build([torch.zeros(2, 2, requires_grad=True)])
            else:
                self._rates(TRIAL_STEPS)
        except (ArithmeticError, AttributeError, RuntimeError, TypeError, ValueError) as error:
            given = ", ".join(f"{key}={spelled(value)}" for key, value in self.arguments[owner].items())
            raise UserError(
                f"training.{owner}={name}{f' with {given}' if given else ''}: torch says: {error}"
            ) from None


def bare_step(optimizer: torch.optim.Optimizer) -> Callable[[], object]:
    """Return the optimizer's step without what torch wraps around it for its profiler, its compiler and hooks.

    On few numbers these take longer than the step itself, which is the same function. An optimizer that is not torch's
    own keeps its step as it is.
    """
    import torch

    if all(parameter.device.type == "cpu" for group in optimizer.param_groups for parameter in group["params"]):
        for name in CAPTURE_CHECKS:
            if hasattr(optimizer, name):
                setattr(optimizer, name, lambda: None)
    kind = type(optimizer)
    bare = inspect.unwrap(kind.step)
    if not kind.__module__.startswith("torch.optim.") or bare.__qualname__ != f"{kind.__name__}.step":
        return optimizer.step

    def step() -> None:
        with torch.no_grad():
            bare(optimizer)

    return step
