"""Numbers that a method trains itself, beside the parameters of the run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mobench.errors import UserError

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Adam's constants."""


class Trained:
    """A few numbers with an optimizer of their own: Adam, or plain gradient descent.

    They belong to the method's state, so that a checkpoint holds them with the optimizer's moments, and their steps
    count as the method's own time. On K numbers torch's Adam would take longer than all else that a method does.
    `decay` is Adam's classical weight decay, added to the gradient.
    """

    def __init__(
        self, values: Sequence[float], lr: float, optimizer: Literal["adam", "sgd"] = "adam", decay: float = 0.0
    ) -> None:
        self.values = list(values)
        self.lr, self.optimizer, self.decay = lr, optimizer, decay
        self.mean = [0.0] * len(self.values)
        self.square = [0.0] * len(self.values)
        self.updates = 0

    def __len__(self) -> int:
        return len(self.values)

    def step(self, gradient: Sequence[float]) -> None:
        """Descend one step along `gradient`."""
        self.updates += 1
        if self.optimizer == "sgd":
            decayed = [raw + self.decay * value for raw, value in zip(gradient, self.values, strict=True)]
            self.values = [value - self.lr * raw for value, raw in zip(self.values, decayed, strict=True)]
            return
        rate = self.lr / (1.0 - BETA1**self.updates)
        correction = 1.0 - BETA2**self.updates
        for i, raw in enumerate(gradient):
            slope = raw + self.decay * self.values[i]
            self.mean[i] = BETA1 * self.mean[i] + (1.0 - BETA1) * slope
            self.square[i] = BETA2 * self.square[i] + (1.0 - BETA2) * slope * slope
            self.values[i] -= rate * self.mean[i] / (math.sqrt(self.square[i] / correction) + EPSILON)

    def state_dict(self) -> dict[str, Any]:
        """Return the numbers and the optimizer's moments."""
        return {name: getattr(self, name) for name in ("values", "mean", "square", "updates")}

    def load_state_dict(self, state: Mapping[str, Any], /) -> None:
        """Restore what `state_dict` returned; before the first step, how many numbers there are is not yet known."""
        if not isinstance(state, Mapping) or (self.values and len(state["values"]) != len(self.values)):
            raise UserError(f"the state of {len(self.values)} trained numbers is needed, and this is {state}")
        vars(self).update(state)
