"""A loss is a tensor with a graph, or a value that knows its own gradient.

The gradient of a task loss needs autograd. That of a penalty does not: the subgradient of ℓ1, group
lasso or a nuclear norm is a closed form of the weights. Such an objective returns its gradient one
parameter tensor at a time, so that its K×n row is never stored and no second graph is built.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


class KnownGradient(ABC):
    """An objective value at the current parameters, with its gradient in closed form."""

    value: float
    """The objective's value."""

    @abstractmethod
    def gradient(self, index: int) -> torch.Tensor | None:
        """Return the gradient with respect to parameter number `index`, None where it is zero.

        It may be asked more than once for one index before the parameters change, and must then
        return the same numbers; the caller does not modify the returned tensor.
        """

    def gradient_into(self, index: int, out: torch.Tensor) -> torch.Tensor | None:
        """Return the same as `gradient(index)`, which may be left in `out` instead of new memory.

        `out` has the parameter's shape, dtype and device, and the result is used before the next
        call. Overriding this, e.g. by `torch.sign(weight, out=out)`, saves an allocation per tensor
        and step, which takes longer than the closed form itself.
        """
        return self.gradient(index)
