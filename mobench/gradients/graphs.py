"""Autograd graphs: which of them share parts, what in them would be missed, and the pass through them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mobench.core.objective import KnownGradient
from mobench.errors import UserError
from mobench.gradients.blocks import Blocks

_REENTRANT = "CheckpointFunctionBackward"
"""The node of `torch.utils.checkpoint(…, use_reentrant=True)`."""


def needed_later(losses: Sequence[Tensor | KnownGradient]) -> list[bool]:
    """Say for each loss whether a loss after it needs part of its graph, so that it cannot be freed yet."""
    if sum(isinstance(loss, Tensor) for loss in losses) < 2:
        return [False] * len(losses)
    seen: set[Any] = set()
    needed = [isinstance(loss, Tensor) and _walk(loss, seen) for loss in reversed(losses)]
    return needed[::-1]


def refuse_hidden(losses: Sequence[Tensor]) -> None:
    """Refuse graphs that hide parameters, whose gradients would silently be missing."""
    seen: set[Any] = set()
    for loss in losses:
        _walk(loss, seen)
    if any(type(node).__name__ == _REENTRANT for node in seen):
        raise UserError("a loss uses torch.utils.checkpoint with use_reentrant=True; pass use_reentrant=False")


def bypasses(losses: Sequence[Tensor], features: Sequence[Tensor], parameters: Sequence[Tensor]) -> bool:
    """Say whether a loss depends on one of the parameters by a way around the features."""
    wanted = set(map(id, parameters))
    seen: set[Any] = {feature.grad_fn for feature in features}
    for loss in losses:
        _walk(loss, seen)
    return any(id(getattr(node, "variable", None)) in wanted for node in seen)


def _walk(loss: Tensor, seen: set[Any]) -> bool:
    """Add the nodes of the loss's graph to `seen`, and say whether one of them was there already.

    Parameters do not count: their nodes hold nothing that could be freed.
    """
    own: set[Any] = set()
    met = False
    waiting: list[Any] = [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node in own:
            continue
        if node in seen:
            met = met or bool(node.next_functions)
            continue
        own.add(node)
        for following, _ in node.next_functions:
            if following is not None:
                waiting.append(following)
    seen |= own
    return met


def add_gradient(
    losses: Sequence[Tensor],
    coefficients: Sequence[float],
    parameters: Sequence[Tensor],
    positions: Sequence[int],
    blocks: Blocks,
    *,
    retain_graph: bool,
) -> Blocks:
    """Return `blocks` plus the gradient of `Σ_i c_i L_i` with respect to the parameters at `positions`.

    The blocks stand in for `.grad` meanwhile, because autograd's own accumulation knows when it
    may keep a gradient without copying it. What `torch.autograd.grad` returns may share memory
    with other tensors, and could not be overwritten.
    """
    for parameter, block in zip(parameters, blocks, strict=True):
        parameter.grad = block
    seeds = [torch.full_like(loss, factor) for loss, factor in zip(losses, coefficients, strict=True)]
    inputs = [parameters[index] for index in positions]
    try:
        torch.autograd.backward(losses, seeds, retain_graph=retain_graph, inputs=inputs)
        gradients = [parameter.grad for parameter in parameters]
    except RuntimeError:
        refuse_hidden(losses)
        raise
    finally:
        for parameter in parameters:
            parameter.grad = None
    return [None if gradient is None else gradient.to_dense() for gradient in gradients]
