"""Counts of what a step asks of a device: operations, kernel launches, and waits of the host for a result.

A `TorchDispatchMode` sees every operation that torch dispatches, those of the backward pass included. On a
CPU it counts the same operations that a device would get, provided that the code goes the device's way
(`mobench.core.device_path`). Counts are the same in every repetition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

READS = {
    "_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "_unique2", "unique_consecutive",
    "_linalg_eigh", "_linalg_svd", "_linalg_solve_ex", "linalg_lstsq",
}  # fmt: skip
"""Operations at which the host waits; factorisations do so inside, to see whether they have converged."""
MEMORY = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
"""Operations that reserve memory and launch nothing."""
_COPIES_TO_HOST = {"tolist", "numpy", "cpu"}
"""Calls that read a whole tensor; on a CPU they dispatch nothing."""


@dataclass(frozen=True)
class Counts:
    """What was dispatched between two moments."""

    by_name: Counter[str]
    launches: int
    """Operations that compute: all but views and reservations of memory."""
    synchronisations: int
    """How often the host waits for a number from the device."""

    @property
    def operations(self) -> int:
        """All dispatched operations, views included."""
        return self.by_name.total()


class _Dispatched(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.by_name: Counter[str] = Counter()
        self.launches = 0
        self.synchronisations = 0

    def __torch_dispatch__(
        self, func: Any, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func.overloadpacket.__name__
        self.by_name[name] += 1
        self.launches += not (func.is_view or name in MEMORY or name == "_local_scalar_dense")
        self.synchronisations += name in READS or (name.startswith("index") and has_mask(args))
        return func(*args, **(kwargs or {}))


class _Called(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.copies = 0

    def __torch_function__(
        self, func: Any, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.copies += getattr(func, "__name__", "") in _COPIES_TO_HOST
        return func(*args, **(kwargs or {}))


def count(call: Callable[[], object]) -> Counts:
    """Return what one call dispatches."""
    with _Called() as called, _Dispatched() as dispatched:
        call()
    return Counts(dispatched.by_name, dispatched.launches, dispatched.synchronisations + called.copies)


def has_mask(args: tuple[Any, ...]) -> bool:
    """Say whether an indexing operation has a mask, whose true entries must be counted first."""
    indices = args[1] if len(args) > 1 else None
    return isinstance(indices, (list, tuple)) and any(
        isinstance(index, Tensor) and index.dtype in (torch.bool, torch.uint8) for index in indices
    )
