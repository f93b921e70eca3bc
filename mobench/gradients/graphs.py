"""Reading autograd graphs before they are traversed: what losses share, and what would be missed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from mobench.core.objective import KnownGradient
from mobench.errors import UserError

_REENTRANT = "CheckpointFunctionBackward"
"""The node of `torch.utils.checkpoint(…, use_reentrant=True)`."""


def needed_later(losses: Sequence[Tensor | KnownGradient]) -> list[bool]:
    """Say for each loss whether a loss after it needs part of its graph, so that it cannot be freed yet.

    Refuses graphs that hide parameters, whose gradients would silently be missing.
    """
    seen: set[Any] = set()
    needed = [isinstance(loss, Tensor) and _walk(loss, seen) for loss in reversed(losses)]
    return needed[::-1]


def _walk(loss: Tensor, seen: set[Any]) -> bool:
    """Add the nodes of the loss's graph to `seen`, and say whether one of them was there already.

    Parameters do not count: their nodes hold nothing that could be freed.
    """
    own: set[Any] = set()
    met = False
    waiting: list[Any] = [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in own:
            continue
        further = node.next_functions
        if node in seen:
            met = met or bool(further)
            continue
        if type(node).__name__ == _REENTRANT:
            raise UserError(
                "a loss goes through torch.utils.checkpoint with use_reentrant=True; pass use_reentrant=False"
            )
        own.add(node)
        waiting.extend(following for following, _ in further)
    seen |= own
    return met
