"""A loss is a tensor with a graph, or a value that knows its own gradient.

The gradient of a task loss needs autograd. That of a penalty does not: the subgradient of ℓ1, group
lasso or a nuclear norm is a closed form of the weights. Such an objective returns its gradient one
parameter tensor at a time, or several at once, so that its K×n row is never stored and no second graph is built.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from mobench.core.flat import FlatBlocks


class KnownGradient(ABC):
    """An objective value at the current parameters, with its gradient in closed form."""

    value: float | torch.Tensor
    """The objective's value. A tensor without dimensions is read together with the other losses, once a step."""

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

    def gradients_into(self, out: FlatBlocks) -> Sequence[bool]:
        """Write the gradients with respect to several parameters, and say for which of them it is not None.

        Blocks that are None are filled with zeros. Overriding this saves calls: small tensors, and all
        tensors on a GPU, are asked for together.
        """
        present = []
        for index, view in zip(out.indices, out.views, strict=True):
            block = self.gradient_into(index, view)
            present.append(block is not None)
            if block is None:
                view.zero_()
            elif block is not view:
                require_fit(self, index, block, view)
                view.copy_(block)
        return present


def require_fit(objective: KnownGradient, index: int, block: torch.Tensor, parameter: torch.Tensor) -> None:
    """Raise if a block has another shape than its parameter, or is on another device."""
    from mobench.errors import UserError

    if block.shape != parameter.shape or block.device != parameter.device:
        raise UserError(
            f"{type(objective).__name__}.gradient({index}) has shape {tuple(block.shape)} on {block.device}; "
            f"parameter {index} has shape {tuple(parameter.shape)} on {parameter.device}"
        )
