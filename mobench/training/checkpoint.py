"""Checkpoints of a training group: one atomic file, loaded without executing anything in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch

_ARRAY = "__ndarray__"


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write `state` so that at every instant the file is either the old or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.part")
    torch.save(packed(state), partial)
    partial.replace(path)


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Return the state that `save_checkpoint` wrote, on the CPU: it may have been written on another device."""
    state: dict[str, Any] = unpacked(torch.load(path, weights_only=True, map_location="cpu"))
    return state


def packed(value: Any) -> Any:
    """Replace numpy values, which torch's safe loader refuses, by tensors and plain numbers."""
    if isinstance(value, np.ndarray):
        return {_ARRAY: torch.from_numpy(np.ascontiguousarray(value))}
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
        return value[_ARRAY].numpy() if _ARRAY in value else {key: unpacked(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(unpacked(item) for item in value)
    return value
