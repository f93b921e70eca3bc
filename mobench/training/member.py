"""One run of a group: its method and everything that is recorded about it."""

from __future__ import annotations

import traceback
from functools import partial
from typing import Any

from mobench.core.method import Method, Step, Vector
from mobench.core.spec import RunSpec
from mobench.training.history import History, Means
from mobench.training.step import take_step
from mobench.training.workload import Workload


class Member:
    """One run of a group: its method and everything that is recorded about it."""

    def __init__(self, spec: RunSpec, method: Method, workload: Workload, index: int) -> None:
        self.spec = spec
        self.method = method
        self.index = index
        self.gradients = workload.gradients_of(index)
        self.held_out = partial(workload.held_out, index)
        self.second_batch = partial(workload.second_batch, index)
        self.hessian_product = partial(workload.hessian_product, index)
        self.lower_bounds: Vector = workload.lower_bounds[index]
        self.thresholds: Vector | None = workload.thresholds[index]
        self.together = method.answers_together()
        self.by_direction = method.overrides("direction")
        self.observes = method.overrides("observe")
        self.means = Means()
        self.history = History()
        self.method_seconds = 0.0
        self.steps = 0
        self.error: str | None = None
        self.failed_at: int | None = None

    def fail(self, error: BaseException, iteration: int) -> None:
        """Mark the run as failed at `iteration`."""
        self.error = "".join(traceback.format_exception(error))
        self.failed_at = iteration

    def take(self, step: Step) -> Vector | None:
        """Let the method take `step`, and return its weights, None for a direction of its own."""
        weights, seconds = take_step(self.method, step, self.gradients)
        self.took(step, seconds)
        return weights

    def took(self, step: Step, seconds: float) -> None:
        """Count a step that the method took in so many seconds of its own."""
        self.method_seconds += seconds
        self.steps += 1
        if step.notes:
            self.means.add(step.notes)

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint must hold of this run."""
        kept = ("method_seconds", "steps", "error", "failed_at")
        return {
            **{name: getattr(self, name) for name in kept},
            "method": self.method.state_dict(),
            "means": vars(self.means),
            "history": vars(self.history),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.method.load_state_dict(state.pop("method"))
        vars(self.means).update(state.pop("means"))
        vars(self.history).update(state.pop("history"))
        vars(self).update(state)
