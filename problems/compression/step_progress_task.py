"""One seeded run of `step-progress`: a compression run whose every step is measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from mobench.core.objective import KnownGradient

from .data.images import Batch
from .evaluation import worth_of_each
from .task import CompressionTask

if TYPE_CHECKING:
    from .penalties import Penalty


class StepProgressTask(CompressionTask):
    """A network that remembers its weights and the penalties' gradients until the step has been taken."""

    steps = 0
    """How many steps were measured."""
    progressed = 0
    """How many of them make progress on every penalty to first order."""
    descended = 0
    """After how many of them every penalty is smaller."""
    cosines = 0.0
    """Sum over the steps of the smallest cosine."""

    def losses(self, batch: Batch) -> Sequence[Tensor | KnownGradient]:
        losses = super().losses(batch)
        self._before = self._weights()
        self._gradients = [self._gradient(penalty) for penalty in self.penalties]
        self._values = [float(penalty.value) for penalty in self.penalties]
        return losses

    def _weights(self) -> Tensor:
        return _copied(self.penalties[0].weights.values())

    def _gradient(self, penalty: Penalty) -> Tensor:
        blocks = (penalty.gradient(index) for index in penalty.weights)
        return _copied([block for block in blocks if block is not None])

    def after_update(self, lr: float) -> None:
        taken = self._before - self._weights()
        products = [float(gradient @ taken) for gradient in self._gradients]
        lengths = [float(gradient.norm() * taken.norm()) for gradient in self._gradients]
        self.steps += 1
        self.progressed += all(product > 0.0 for product in products)
        values = [penalty.evaluate() for penalty in self.penalties]
        self.descended += all(now < before for now, before in zip(values, self._values, strict=True))
        self.cosines += min(
            product / length if length else 0.0 for product, length in zip(products, lengths, strict=True)
        )

    def metrics(self) -> Mapping[str, float]:
        (worth,) = worth_of_each([self.model], self.splits.test)
        values = [worth.loss, *self.secondary_values()]
        steps = max(1, self.steps)
        return {
            **{f"loss/{name}": value for name, value in zip(self.problem.objectives(), values, strict=True)},
            "accuracy": worth.accuracy,
            "progress_share": self.progressed / steps,
            "descent_share": self.descended / steps,
            "step_cosine": self.cosines / steps,
        }

    def timings(self) -> Mapping[str, float]:
        return {}

    def artifact(self) -> dict[str, Tensor]:
        return {}

    def state_dict(self) -> dict[str, Any]:
        counted = (self.steps, self.progressed, self.descended, self.cosines)
        return {**super().state_dict(), "counted": counted}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.steps, self.progressed, self.descended, self.cosines = state["counted"]


def _copied(tensors: Iterable[Tensor]) -> Tensor:
    """Return the numbers of several tensors in one new vector of float64."""
    return torch.cat([tensor.detach().flatten().double() for tensor in tensors])
