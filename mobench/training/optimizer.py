"""Training settings: the torch optimizer, its learning-rate schedule and the length of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mobench.core.settings import Configurable, choice, integer, real

if TYPE_CHECKING:
    import torch


class Training(Configurable):
    """How every method of a suite is trained: the same optimizer, schedule and number of steps."""

    optimizer: str = choice(
        "adam", ("sgd", "adam", "adamw", "rmsprop", "adagrad"), meaning="torch optimizer that takes the direction"
    )
    lr: float = real(1e-3, low=0.0, meaning="learning rate")
    steps: int = integer(1000, low=0, meaning="number of steps, where epochs is 0")
    epochs: int = integer(0, low=0, meaning="number of passes over the training data; 0: count in steps")
    schedule: str = choice("constant", ("constant", "cosine"), meaning="cosine goes from lr to 0 over the run")
    schedule_every: str = choice("step", ("step", "epoch"), meaning="when the schedule moves")
    momentum: float = real(0.0, low=0.0, high=1.0, high_open=True, meaning="momentum of sgd and rmsprop")
    beta1: float = real(0.9, low=0.0, high=1.0, high_open=True, meaning="Adam's decay of the mean")
    beta2: float = real(0.999, low=0.0, high=1.0, high_open=True, meaning="Adam's decay of the square")
    epsilon: float = real(1e-8, low=0.0, meaning="Adam's and RMSprop's stabiliser")
    weight_decay: float = real(0.0, low=0.0, meaning="weight decay of the optimizer")

    @classmethod
    def label(cls) -> str:
        return "training"

    def build(self, parameters: Sequence[torch.Tensor], *, fused: bool = False) -> torch.optim.Optimizer:
        """Return the torch optimizer of these settings over `parameters`.

        All of them work element by element, which is what lets many runs share one tensor. A `fused` one,
        where torch has it, takes a step in one sweep; its rounding may depend on where a tensor ends.
        """
        import torch

        adam: dict[str, Any] = {"betas": (self.beta1, self.beta2), "eps": self.epsilon}
        common: dict[str, Any] = {"lr": self.lr, "weight_decay": self.weight_decay}
        kernel: dict[str, Any] = {"fused": True} if fused else {}
        builders: dict[str, Callable[[], torch.optim.Optimizer]] = {
            "sgd": lambda: torch.optim.SGD(parameters, momentum=self.momentum, **common, **kernel),
            "adam": lambda: torch.optim.Adam(parameters, **common, **adam, **kernel),
            "adamw": lambda: torch.optim.AdamW(parameters, **common, **adam, **kernel),
            "rmsprop": lambda: torch.optim.RMSprop(parameters, eps=self.epsilon, momentum=self.momentum, **common),
            "adagrad": lambda: torch.optim.Adagrad(parameters, **common, **kernel),
        }
        return builders[self.optimizer]()

    def total_steps(self, steps_per_epoch: int) -> int:
        """Return the number of steps of a run."""
        return self.epochs * steps_per_epoch if self.epochs else self.steps

    def lr_at(self, iteration: int, steps_per_epoch: int) -> float:
        """Return the learning rate of a step: `lr` or `½ lr (1 + cos(π t / T))`."""
        if self.schedule == "constant":
            return self.lr
        unit = steps_per_epoch if self.schedule_every == "epoch" else 1
        progress = (iteration // unit) / max(1, self.total_steps(steps_per_epoch) // unit)
        return 0.5 * self.lr * (1.0 + math.cos(math.pi * progress))
