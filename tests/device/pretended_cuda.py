"""A pretended CUDA device: CPU tensors that say they are on CUDA, with real numbers and real gradients.

    with PretendedCuda() as device:
        weight = torch.ones(3, 3, device="cuda", requires_grad=True)
        (weight @ weight).sum().backward()   # `weight.grad.device` is cuda:0
        weight + torch.ones(3, 3)            # RuntimeError: Expected all tensors to be on the same device
    print(device.launches, device.waits)

A tensor is on the device if its storage is; views share it. Two modes of torch keep up the pretence. The function mode
answers `.device`, takes `device=` out of calls, turns moves into copies, and refuses `.numpy()`. The dispatch mode sees
every operation, those of backward passes included. It refuses what CUDA would refuse, marks the results, and counts.

`FakeTensorMode` has no numbers, and its `backward()` needs a driver. Not pretended: the precision of CUDA's kernels,
streams, the memory of a device, gradients of a copy between devices, and `torch.compile`.
"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from benchmarks.counting import MEMORY, READS, has_mask

CUDA, CPU = torch.device("cuda", 0), torch.device("cpu")
COPIES = {"copy_", "_to_copy", "_foreach_copy_"}
"""Operations that may have tensors of two devices."""
NO_SCALARS = {"cat", "stack", "dot", "mv", "mm", "bmm", "addmm", "baddbmm", "index_select", "gather", "convolution"}
"""Operations that take no number of another device either; arithmetic does, as long as it is not written to."""


class Places:
    """Which storages are on the device."""

    def __init__(self) -> None:
        self._known: dict[int, StorageWeakRef] = {}
        self._purge_at = 1024

    def holds(self, tensor: Tensor) -> bool:
        """Say whether a tensor is on the device. A weak reference keeps its storage's address from being used again."""
        return tensor.layout == torch.strided and tensor.untyped_storage()._cdata in self._known

    def put(self, *tensors: Tensor) -> None:
        """Mark the storages of tensors as on the device."""
        for tensor in tensors:
            if tensor.layout == torch.strided:
                storage = tensor.untyped_storage()
                if storage._cdata not in self._known:
                    self._known[storage._cdata] = StorageWeakRef(storage)
        if len(self._known) > self._purge_at:
            self._purge_at = 2 * len(self.live()) + 1024

    def drop(self, tensor: Tensor) -> None:
        """Mark the storage of a tensor as on the host."""
        self._known.pop(tensor.untyped_storage()._cdata, None)

    def live(self) -> set[int]:
        """Return the storages on the device that somebody still holds, and forget the others."""
        self._known = {key: reference for key, reference in self._known.items() if not reference.expired()}
        return set(self._known)


class PretendedCuda(contextlib.ExitStack):
    """A block in which `cuda` is a device, in this thread, and what was asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.places = Places()
        self.launches: Counter[str] = Counter()
        """Operations that compute on the device, by name."""
        self.waits: Counter[str] = Counter()
        """How often the host waits for the device, by reason."""
        self.sites: Counter[str] = Counter()
        """The same by the line of code that waits."""

    def __enter__(self) -> PretendedCuda:
        super().__enter__()
        replaced: dict[str, Callable[..., object]] = {
            "torch.cuda.current_device": lambda: 0,
            "torch.cuda.get_device_capability": lambda device=None: (8, 0),
            "torch.cuda.get_device_name": lambda device=None: "a pretended device",
            "torch.cuda.synchronize": lambda device=None: self.wait("synchronize"),
            "torch.autocast": _autocast(torch.autocast),
        }
        for name, function in replaced.items():
            self.enter_context(mock.patch(name, function))
        self.enter_context(_Calls(self))
        self.enter_context(_Operations(self))
        return self

    def wait(self, reason: str) -> None:
        """Count a wait of the host."""
        self.waits[reason] += 1
        self.sites[f"{_site()}: {reason}"] += 1

    def forget_counts(self) -> None:
        """Begin to count anew."""
        for counter in (self.launches, self.waits, self.sites):
            counter.clear()


class _Calls(TorchFunctionMode):
    """The calls of Python code: properties of tensors, and whatever names a device."""

    def __init__(self, owner: PretendedCuda) -> None:
        super().__init__()
        self.owner, self.places = owner, owner.places
        self.properties: dict[object, Callable[[bool], object]] = {
            Tensor.device: lambda there: CUDA if there else CPU,
            Tensor.is_cuda: lambda there: there,
            Tensor.is_cpu: lambda there: not there,
        }

    def __torch_function__(
        self, func: Any, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        first = args[0] if args and isinstance(args[0], Tensor) else None
        if first is None or first.device.type != "cpu":
            return self.placed(func, args, given)
        there = self.places.holds(first)
        if name == "__get__":
            answer = self.properties.get(func.__self__)
            return func(*args) if answer is None else answer(there)
        if name in ("to", "cpu", "cuda"):
            return self.moved(name, first, there, args[1:], given)
        if there and name in ("numpy", "__array__"):
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor first."
            )
        if there and name == "tolist":
            self.owner.wait(name)
        found = self.placed(func, args, given)
        if there and (name == "__deepcopy__" or (name.startswith("new_") and "device" not in given)):
            self.places.put(found)
        return found

    def placed(self, func: Any, args: tuple[Any, ...], given: dict[str, Any]) -> Any:
        """Call a function that may be told to make its result on a device."""
        device = given.get("device")
        if device is None or torch.device(device).type not in ("cpu", "cuda"):
            return func(*args, **given)
        found = func(*args, **{**given, "device": CPU})
        if torch.device(device).type == "cuda":
            self.places.put(found)
        else:
            self.places.drop(found)
        return found

    def moved(self, name: str, tensor: Tensor, there: bool, args: tuple[Any, ...], given: dict[str, Any]) -> Tensor:
        """Return a tensor elsewhere or in another type: itself where nothing changes, as torch does."""
        wanted, how = self.target(name, tensor, there, args, given)
        if wanted == there:
            return tensor.to(**how)
        self.owner.wait("copied to the device" if wanted else "copied to the host")
        found = tensor.to(**{**how, "copy": True})
        if wanted:
            self.places.put(found)
        else:
            self.places.drop(found)
        return found

    def target(
        self, name: str, tensor: Tensor, there: bool, args: tuple[Any, ...], given: dict[str, Any]
    ) -> tuple[bool, dict[str, Any]]:
        """Return whether a tensor is to be on the device, and the other arguments of a move by name."""
        how = {"dtype": tensor.dtype, **{key: given[key] for key in ("copy", "memory_format") if key in given}}
        if name != "to":
            return name == "cuda", how
        if args and isinstance(args[0], Tensor):
            return self.places.holds(args[0]), {**how, "dtype": args[0].dtype}
        given = {key: value for key, value in given.items() if key != "copy"}
        device, dtype, _, memory_format = torch._C._nn._parse_to(*args, **given)
        how |= {"dtype": dtype or tensor.dtype}
        how |= {} if memory_format is None else {"memory_format": memory_format}
        return there if device is None else device.type == "cuda", how


class _Operations(TorchDispatchMode):
    """The operations themselves."""

    def __init__(self, owner: PretendedCuda) -> None:
        super().__init__()
        self.owner, self.places = owner, owner.places

    def __torch_dispatch__(
        self, func: Any, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        with torch._C.DisableTorchFunction():
            return self.dispatched(func, args, dict(kwargs or {}))

    def dispatched(self, func: Any, args: tuple[Any, ...], given: dict[str, Any]) -> Any:
        name = func.overloadpacket.__name__
        tensors = [leaf for leaf in tree_leaves((args, given)) if isinstance(leaf, Tensor)]
        there = [self.places.holds(tensor) for tensor in tensors]
        if not any(there):
            return func(*args, **given)
        if name in COPIES:
            if name == "copy_" and there[0] != there[1]:
                self.owner.wait("copied to the device" if there[0] else "copied to the host")
        elif not all(there):
            self.refuse_mixture(func, name, args, given)
        if name in READS or (name.startswith("index") and has_mask(args)):
            self.owner.wait(name)
        if not (func.is_view or name in MEMORY or name == "_local_scalar_dense"):
            self.owner.launches[name] += 1
        found = func(*args, **given)
        if name not in ("copy_", "_foreach_copy_"):
            self.places.put(*(leaf for leaf in tree_leaves(found) if isinstance(leaf, Tensor)))
        return found

    def refuse_mixture(self, func: Any, name: str, args: tuple[Any, ...], given: dict[str, Any]) -> None:
        """Refuse tensors of two devices in one operation, except where CUDA takes them."""
        values = dict(zip((argument.name for argument in func._schema.arguments), args, strict=False)) | given
        strict = name in NO_SCALARS or name.startswith(("_foreach", "_fused"))
        for argument in func._schema.arguments:
            written = argument.alias_info is not None and argument.alias_info.is_write
            for tensor in tree_leaves(values.get(argument.name)):
                if not isinstance(tensor, Tensor) or self.places.holds(tensor):
                    continue
                if name in ("index", "index_put_") and argument.name == "indices" and self.places.holds(args[0]):
                    self.owner.wait("indices copied to the device")
                elif tensor.ndim or written or strict:
                    raise RuntimeError(
                        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and "
                        f"cpu! (argument {argument.name} of {name}, of shape {tuple(tensor.shape)}, at {_site()})"
                    )


def _autocast(real: Callable[..., Any]) -> Callable[..., Any]:
    """Return `torch.autocast` with the CPU's types for the device."""

    def autocast(device_type: str, *args: Any, **given: Any) -> Any:
        return real("cpu" if device_type == "cuda" else device_type, *args, **given)

    return autocast


def _site() -> str:
    """Return the innermost line that is neither torch's nor of this file."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file != __file__ and "/site-packages/" not in file and "/unittest/" not in file and not file.startswith("<"):
            return f"{file.rpartition('/')[2]}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"
