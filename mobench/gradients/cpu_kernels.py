"""Inner products and weighted sums of long vectors in one pass over the memory.

torch takes one product, or adds one term, per pass: K gradients are then read many times. On the CPU
two or three float32 vectors are read once here, by loops that numba compiles: K·n·4 bytes for all
products, (K+1)·n·4 bytes for a sum written over the first vector. On other devices, for other types
and for short vectors torch is as good or better, and `products` and `add_in_place` say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor

from mobench.core.device_path import as_on_cpu
from mobench.core.method import Matrix

SHORTEST = 524_288
"""Shorter vectors stay in the cache between torch's passes, which then cost less than a call from here."""
RUN, SUMS = 256, 16
"""Products are added in float32 within a run, in at least so many running sums, and runs in float64."""
_MOST = 3
"""The number of vectors that one loop takes."""


def products(vectors: Sequence[Tensor]) -> Matrix | None:
    """Return the lower triangle of the inner products of two or three flat vectors, or None to fall back to torch.

    Added in float32 over short runs and in float64 over these; the same for any number of threads.
    """
    if not 2 <= len(vectors) <= _MOST or not all(_suits(vector, vectors[0]) for vector in vectors):
        return None
    from mobench.gradients import compiled_loops

    k, columns = len(vectors), [_column(vector) for vector in vectors]
    sums = np.empty((-(-columns[0].size // compiled_loops.PART), k * (k + 1) // 2))
    kernels = compiled_loops.products_at_once if _threads() else compiled_loops.products_in_turn
    kernels[k](*columns, sums)
    triangle = np.zeros((k, k))
    triangle[np.tril_indices(k)] = sums.sum(axis=0)
    return triangle


def add_in_place(total: Tensor, factor: float, terms: Sequence[tuple[Tensor, float]]) -> bool:
    """Write `factor · total + Σ_i w_i v_i` into `total`; return False, with nothing done, to fall back to torch."""
    if not terms or not all(_suits(vector, total) for vector in (total, *(vector for vector, _ in terms))):
        return False
    from mobench.gradients import compiled_loops

    kernels = compiled_loops.sums_at_once if _threads() else compiled_loops.sums_in_turn
    for start in range(0, len(terms), _MOST - 1):
        some = terms[start : start + _MOST - 1]
        columns = [_column(vector) for vector in (total, *(vector for vector, _ in some))]
        factors = np.array([factor, *(weight for _, weight in some)], dtype=np.float32)
        kernels[len(columns)](*columns, *factors)
        factor = 1.0
    return True


def _suits(vector: Tensor, first: Tensor) -> bool:
    return (
        vector.numel() >= SHORTEST
        and vector.dtype == torch.float32
        and as_on_cpu(vector.device)
        and vector.stride() == first.stride()
        and vector.shape == first.shape
        and (vector.is_contiguous() or vector.is_contiguous(memory_format=torch.channels_last))
    )


def _column(vector: Tensor) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Return a dense tensor of any layout as one array in the order of its memory."""
    return vector.detach().as_strided((vector.numel(),), (1,)).numpy()


def _threads() -> bool:
    """Say whether the work is to be divided, and if so among as many threads as torch uses."""
    wanted = torch.get_num_threads()
    if wanted == 1 or not _has_threads():
        return False
    import numba

    numba.set_num_threads(min(wanted, numba.config.NUMBA_NUM_THREADS))
    return True


@cache
def _has_threads() -> bool:
    """Start numba's threads with OpenMP, as torch's are; False where numba has another kind or none.

    Threads of another kind would have to wait for torch's, which go on spinning after their work.
    """
    import numba

    wanted = torch.get_num_threads()
    if numba.config.THREADING_LAYER == "default":
        numba.config.THREADING_LAYER = "omp"
    try:
        numba.set_num_threads(1)
        return bool(numba.threading_layer() == "omp")
    except ValueError:
        return False
    finally:
        torch.set_num_threads(wanted)  # both may share one OpenMP library, and numba has set its default
