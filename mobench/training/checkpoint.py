"""Checkpoints of a training group: one atomic file, loaded without executing anything in it."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from pickle import PicklingError, UnpicklingError
from typing import Any

import numpy as np
import torch

from mobench.core.process_name import process_name
from mobench.errors import MethodError, StorageError

_ARRAY, _SCALAR = "__ndarray__", "__scalar__"
_DIGEST_BYTES = hashlib.sha256().digest_size


class DamagedCheckpointError(ValueError):
    """A file is not the checkpoint that was written."""


def save_checkpoint(path: Path, state: dict[str, Any], *, verify: bool = False) -> None:
    """Write `state` so that at every instant, also of a power cut, the file is either the old or the new one.

    With `verify` the state is read again before it is written: what torch's safe loader refuses is found now,
    and not when a run wants to resume.
    """
    buffer = io.BytesIO()
    try:
        torch.save(packed(state), buffer)
        if verify:
            buffer.seek(0)
            torch.load(buffer, weights_only=True, map_location="cpu")
    except (PicklingError, UnpicklingError, AttributeError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise MethodError(
            "the state of this run cannot be kept in a checkpoint; state_dict may hold numbers, texts, tensors, "
            f"arrays, lists and dicts of these: {reason}"
        ) from error
    content = buffer.getbuffer()
    partial = path.with_suffix(f".{process_name()}.part")
    try:
        path.parent.mkdir(exist_ok=True)  # where all results were deleted, nothing begins anew
        with partial.open("wb") as file:
            file.write(hashlib.sha256(content).digest())
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise StorageError.of(path.parent, error) from error
    finally:
        _remove(partial)


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Return the state that `save_checkpoint` wrote; raises `DamagedCheckpointError` for anything else."""
    content = path.read_bytes()
    digest, payload = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if hashlib.sha256(payload).digest() != digest:
        raise DamagedCheckpointError(f"{path} is not a whole checkpoint")
    state: dict[str, Any] = unpacked(torch.load(io.BytesIO(payload), weights_only=True, map_location="cpu"))
    return state


def packed(value: Any) -> Any:
    """Replace numpy values, which torch's safe loader refuses, by tensors."""
    if isinstance(value, np.ndarray):
        return {_ARRAY: torch.from_numpy(np.asarray(value, order="C"))}
    if isinstance(value, (np.number, np.bool_)):  # not a plain number: it rounds and divides by zero in its own way
        return {_SCALAR: torch.from_numpy(np.asarray(value))}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: packed(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(packed(item) for item in value)
    return value


def unpacked(value: Any) -> Any:
    """Return what `packed` was given."""
    if isinstance(value, dict):
        if _ARRAY in value:
            return value[_ARRAY].numpy()
        if _SCALAR in value:
            return value[_SCALAR].numpy()[()]
        return {key: unpacked(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(unpacked(item) for item in value)
    return value


def _remove(partial: Path) -> None:
    try:
        partial.unlink(missing_ok=True)
    except OSError:  # the folder is gone or read-only; what stopped the writing is reported instead
        return
