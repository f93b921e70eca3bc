"""Any task in double precision, so that difference quotients tell a wrong gradient from rounding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from mobench.core.problem import Task


class InDouble(TorchFunctionMode):
    """While this mode is on, torch's functions take their single-precision arguments in double precision.

    Tasks hold inputs and targets of their own in single precision and cast to it. Values in between are never rounded
    to it while the parameters are double.
    """

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if function is Tensor.float:
            return args[0].double()
        if function in _AS_THEY_ARE:
            return function(*args, **(kwargs or {}))
        return function(*tree_map(_wider, tuple(args)), **tree_map(_wider, dict(kwargs or {})))


_AS_THEY_ARE = {Tensor.double, Tensor.detach, Tensor.requires_grad_, Tensor.data_ptr, Tensor.dtype.__get__}  # type: ignore[attr-defined]
"""What says or keeps which type a tensor has."""


def _wider(value: Any) -> Any:
    return value.double() if isinstance(value, Tensor) and value.dtype == torch.float32 else value


def widen(task: Task) -> None:
    """Make the task's parameters double, in place: whoever holds them sees it."""
    for parameter in task.parameters:
        if parameter.dtype == torch.float32:
            parameter.data = parameter.data.double()
