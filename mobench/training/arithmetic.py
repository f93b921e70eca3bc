"""How torch computes while a run trains: with deterministic algorithms alone or TF32, where that is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

WORKSPACE = ("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
"""What cuBLAS needs to add in a fixed order."""


@contextmanager
def deterministic_algorithms(wanted: bool) -> Iterator[None]:
    """Let torch use deterministic algorithms only, if `wanted`; an operation that has none raises.

    New memory is not filled, as torch would then do to show who reads it: a step would take a hundred times the fills.
    """
    if not wanted:
        yield
        return
    os.environ.setdefault(*WORKSPACE)
    before, tried = torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark
    memory: Any = torch.utils.deterministic  # its annotations do not know the flag
    filled = memory.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    memory.fill_uninitialized_memory = False
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        memory.fill_uninitialized_memory = filled
        torch.backends.cudnn.benchmark = tried


@contextmanager
def tensor_floats(wanted: str) -> Iterator[None]:
    """Let CUDA round the factors of float32 products and convolutions to TF32, or not; `auto`: as torch is set.

    Torch by default does it in convolutions and not in products of matrices.
    """
    if wanted == "auto":
        yield
        return
    products, convolutions = torch.backends.cuda.matmul, torch.backends.cudnn
    before = products.allow_tf32, convolutions.allow_tf32
    products.allow_tf32 = convolutions.allow_tf32 = wanted == "true"
    try:
        yield
    finally:
        products.allow_tf32, convolutions.allow_tf32 = before
