"""How torch computes while a run trains: with deterministic algorithms alone, where that is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

WORKSPACE = ("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
"""What cuBLAS needs to add in a fixed order."""


@contextmanager
def deterministic_algorithms(wanted: bool) -> Iterator[None]:
    """Let torch use deterministic algorithms only, if `wanted`; an operation that has none raises."""
    if not wanted:
        yield
        return
    os.environ.setdefault(*WORKSPACE)
    before, tried = torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        torch.backends.cudnn.benchmark = tried
