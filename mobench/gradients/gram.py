"""Inner products of gradients that live in many tensors, and how far they can be trusted.

`GramSum` is fed one block at a time: the K gradients with respect to one parameter tensor. Products
inside a block are taken in float32 or better over runs, and the runs are added in float64. Long blocks
are read once by `cpu_kernels`, others once per product by torch.

Most methods care about a float32 error of 1e-6 in a cosine as little as about the batch that was drawn.
But where gradients are nearly dependent, rounding decides whether a direction exists and how long it is.
So `gram_of` bounds the error, and takes the matrix once more in float64 where it matters, and only there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mobench.core.device_path import as_on_cpu, require_one_device
from mobench.core.method import Matrix, Vector
from mobench.core.tf32 import rounds_to_tf32
from mobench.gradients import cpu_kernels
from mobench.solvers.scaling import RESOLUTION, eigenvalues_exceed

_RUN = 131072
"""Length of a run on the CPU: short enough for float32 and for the cache, long enough for speed."""
_WIDE_RUN, _WIDE_RUN_ON_DEVICES = 4096, 2**22
"""Length of a run when a matrix is retaken: as exact as float64 allows, and little memory for the copies."""
_SMALLEST_TRUSTED = 1e-20
"""Below this squared norm, float32 products lose digits to underflow."""
_SUMS, _SUMS_ON_DEVICES = 32, 65536
"""How many running sums `torch.dot` keeps side by side, at least: on a CPU, and elsewhere, where each is a thread's."""
_ALIGNMENT = 64
_MARGIN = 500.0
"""A matrix is kept if its smallest eigenvalue exceeds its error so many times: lengths are then right to 1e-3."""

ROUNDED_ROWS = 2.0**-36
"""What float32 gradients resolve, however exact their products.

They carry the rounding of their own backward pass, which turns unit vectors by some 1e-7 to 3e-6. Closer
than 64 units of rounding, 4e-6, they count as dependent.
"""
TF32_ROWS = 2.0**-18
"""The same of gradients whose factors a GPU rounded to TF32, which turns unit vectors by some 2e-4 to 2e-3.

It has as many digits as float16, and the same four units of rounding are 0.002.
"""


def resolved_rows(dtype: torch.dtype, device: torch.device | None = None) -> float:
    """Return what gradients of a type on a device resolve, however exact their products.

    In float16 and bfloat16 sums are kept in float32, and the rounding of what is stored prevails: rows that are
    closer to dependence than four units of it, 0.002 and 0.016, count as dependent.
    """
    if dtype == torch.float64:
        return RESOLUTION
    if dtype == torch.float32 and device is not None and rounds_to_tf32(device):
        return TF32_ROWS
    return max(ROUNDED_ROWS, (2.0 * torch.finfo(dtype).eps) ** 2)


class Gram(NamedTuple):
    """A Gram matrix, and how far to trust it."""

    matrix: Matrix
    resolution: float
    """As in `Step.resolution`."""
    retaken: bool
    """Whether the gradients were too close to dependence, too long or too short for float32."""

    def cancels(self, weights: Vector) -> bool:
        """Say whether Σ_i w_i g_i is 1000 times shorter than one of its terms: a sum in float32 would lose it."""
        if not self.retaken:
            return False
        longest = float((np.abs(weights) * np.sqrt(self.matrix.diagonal())).max())
        return bool(weights @ self.matrix @ weights < (1e-3 * longest) ** 2)


class GramSum:
    """The sum over blocks of the K×K products `<g_i, g_j>`.

    With `wide` every product is taken in float64; otherwise float64 tensors are multiplied as they
    are and all others in float32.
    """

    def __init__(self, k: int, *, wide: bool = False) -> None:
        self.k = k
        self._wide = wide
        self._rows_resolve = RESOLUTION
        self._narrow_rows: set[int] = set()
        self._lower = [[0.0] * k for _ in range(k)]
        self._products: dict[torch.device, tuple[list[tuple[int, int]], list[Tensor]]] = {}
        self._longest_runs: dict[tuple[torch.dtype, int], int] = {(torch.float64, 1): 0}
        """By type, and by how many running sums are kept side by side."""

    def add(self, block: Sequence[Tensor | None]) -> None:
        """Add one block: K flat tensors of equal length, None where a gradient is zero."""
        present = [(row, piece) for row, piece in enumerate(block) if piece is not None]
        if not present:
            return
        require_one_device(*(piece for _, piece in present))
        types, device = {piece.dtype for _, piece in present}, present[0][1].device
        self._rows_resolve = max(self._rows_resolve, *(resolved_rows(dtype, device) for dtype in types))
        if self._wide or torch.float64 in types:
            self._multiply(present, torch.float64)
            return
        self._narrow_rows.update(row for row, _ in present)
        triangle = cpu_kernels.products([piece for _, piece in present])
        if triangle is None:
            self._multiply(present, torch.float32)
            return
        self._note_run(torch.float32, cpu_kernels.SUMS, cpu_kernels.RUN)
        for (i, _), products in zip(present, triangle.tolist(), strict=True):
            for (j, _), product in zip(present, products, strict=True):
                self._lower[i][j] += product

    def _multiply(self, present: Sequence[tuple[int, Tensor]], dtype: torch.dtype) -> None:
        """Take the products of one block by torch, run by run."""
        first = present[0][1]
        device, length = first.device, first.numel()
        if device.type == "mps" and dtype == torch.float64:
            device = torch.device("cpu")
        on_cpu = as_on_cpu(device)
        run = _RUN if on_cpu else length
        if self._wide:
            run = _WIDE_RUN if on_cpu else _WIDE_RUN_ON_DEVICES
        self._note_run(dtype, _SUMS if on_cpu else _SUMS_ON_DEVICES, min(run, length))
        pairs, products = self._products.setdefault(device, ([], []))
        for start in range(0, length, run):
            pieces = [piece if length <= run else piece[start : start + run] for _, piece in present]
            pieces = [piece.to(device, dtype) for piece in pieces]
            # Where two vectors lie differently in memory, a BLAS may add one number at a time: slow and inexact.
            if on_cpu and len({piece.data_ptr() % _ALIGNMENT for piece in pieces}) > 1:
                pieces = [piece.clone() for piece in pieces]
            for position, (i, _) in enumerate(present):
                for other in range(position + 1):
                    pairs.append((i, present[other][0]))
                    products.append(torch.dot(pieces[position], pieces[other]))

    def _note_run(self, dtype: torch.dtype, sums: int, run: int) -> None:
        if run > self._longest_runs.get((dtype, sums), 0):
            self._longest_runs[dtype, sums] = run

    @property
    def error(self) -> float:
        """A bound on the spectral norm of the error of `C`, the matrix of the unit gradients.

        A sum that only grows, a squared norm, may be rounded the same way at each addition; this is what
        gradients of one magnitude (ℓ1) do. The other errors walk at random, in all K² entries: on a CPU as if there
        were one running sum, on a device in as many as there are, whose sums are added in pairs.
        """
        return max(
            0.5 * torch.finfo(dtype).eps * (run / sums + self.k * (4.0 + 0.25 * math.sqrt(run / walks)))
            for (dtype, sums), run in self._longest_runs.items()
            for walks in (sums if sums == _SUMS_ON_DEVICES else 1,)
        )

    def matrix(self) -> Matrix:
        """Return the K×K sum in float64."""
        gram = [row.copy() for row in self._lower]
        for pairs, products in self._products.values():
            for (i, j), product in zip(pairs, torch.stack(products).tolist(), strict=True):
                gram[i][j] += product
        for i, row in enumerate(gram):
            for j in range(i):
                gram[j][i] = row[j]
        return np.array(gram)

    def trusted(self, gram: Matrix) -> bool:
        """Say whether `gram` will do, or float32 has overflowed, underflowed or left too few digits."""
        squares = gram.diagonal().tolist()
        return (
            bool(np.isfinite(gram).all())
            and all(squares[row] >= _SMALLEST_TRUSTED for row in self._narrow_rows)
            and (not self._narrow_rows or eigenvalues_exceed(gram, min(_MARGIN * self.error, 0.9)))
        )

    @property
    def resolution(self) -> float:
        """What the matrix resolves, given the rounding of its sums and of the gradients themselves."""
        return max(self.error, self._rows_resolve)


def gram_of(k: int, blocks: Callable[[], Iterable[Sequence[Tensor | None]]]) -> Gram:
    """Return the Gram matrix of K gradients that are given block by block, in float64 where float32 will not do."""
    for wide in (False, True):
        total = GramSum(k, wide=wide)
        for block in blocks():
            total.add(block)
        matrix = total.matrix()
        if total.trusted(matrix):
            break
    return Gram(matrix, total.resolution, wide)
