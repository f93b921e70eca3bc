"""What people hand over as parameters: tensors, names with tensors, or an optimizer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn

from mobench.errors import UserError


def is_optimizer(given: Any) -> bool:
    """Say whether `given` has parameter groups: a torch optimizer, or what Accelerate or Lightning wraps around one."""
    return hasattr(given, "param_groups")


def named_tensors(what: str, given: Any) -> tuple[list[str], list[Tensor]]:
    """Return names and tensors; without names of its own a tensor is called by its position."""
    if is_optimizer(given):
        pairs = [pair for group in given.param_groups for pair in _pairs_of_group(group)]
    elif isinstance(given, (Tensor, nn.Module)) or not isinstance(given, Iterable):
        raise UserError(
            f"{what} is a {type(given).__name__}; it takes tensors, e.g. `model.parameters()`, or an optimizer"
        )
    else:
        pairs = [item if isinstance(item, tuple) else (None, item) for item in given]
    names = [str(index) if name is None else str(name) for index, (name, _) in enumerate(pairs)]
    return names, [tensor for _, tensor in pairs]


def _pairs_of_group(group: dict[str, Any]) -> list[tuple[str | None, Tensor]]:
    """Newer versions of torch keep the names with which an optimizer was made."""
    tensors = group["params"]
    return list(zip(group.get("param_names", [None] * len(tensors)), tensors, strict=True))
