"""Inner products of gradients that live in many tensors, summed in float64.

`GramSum` is fed one block at a time: the K gradients with respect to one parameter tensor. Products
inside a block are taken in float32 or better over short runs, and the runs are added in float64, so
the result is far more accurate than one long float32 sum at nearly the same cost. Long blocks are
read once by `fused`, others once per product by torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from mobench.core.method import Matrix
from mobench.gradients import cpu_kernels

_RUN = 131072
"""Length of a run on the CPU: short enough for float32 and for the cache, long enough for speed."""
_SMALLEST_TRUSTED = 1e-20
"""Below this squared norm, float32 products lose digits to underflow."""


class GramSum:
    """The sum over blocks of the K×K products `<g_i, g_j>`.

    With `wide` every product is taken in float64; otherwise float64 tensors are multiplied as they
    are and all others in float32.
    """

    def __init__(self, k: int, *, wide: bool = False) -> None:
        self.k = k
        self._wide = wide
        self._narrow_rows: set[int] = set()
        self._lower = np.zeros((k, k))
        self._products: dict[torch.device, tuple[list[tuple[int, int]], list[Tensor]]] = {}

    def add(self, block: Sequence[Tensor | None]) -> None:
        """Add one block: K flat tensors of equal length, None where a gradient is zero."""
        present = [(row, piece) for row, piece in enumerate(block) if piece is not None]
        if not present:
            return
        first = present[0][1]
        device, length = first.device, first.numel()
        dtype = self._working_dtype([piece for _, piece in present])
        if dtype != torch.float64:
            self._narrow_rows.update(row for row, _ in present)
            block_products = cpu_kernels.products([piece for _, piece in present])
            if block_products is not None:
                rows = [row for row, _ in present]
                self._lower[np.ix_(rows, rows)] += block_products
                return
        pairs, products = self._products.setdefault(device, ([], []))
        run = _RUN if device.type == "cpu" else length
        for start in range(0, length, run):
            whole = length <= run
            pieces = [(row, (piece if whole else piece[start : start + run]).to(dtype)) for row, piece in present]
            for position, (i, left) in enumerate(pieces):
                for j, right in pieces[: position + 1]:
                    pairs.append((i, j))
                    products.append(torch.dot(left, right))

    def _working_dtype(self, pieces: Sequence[Tensor]) -> torch.dtype:
        double = self._wide or any(piece.dtype == torch.float64 for piece in pieces)
        return torch.float64 if double and pieces[0].device.type != "mps" else torch.float32

    def matrix(self) -> Matrix:
        """Return the K×K sum in float64."""
        gram = self._lower.copy()
        for pairs, products in self._products.values():
            rows, columns = np.array(pairs).T
            np.add.at(gram, (rows, columns), torch.stack(products).cpu().double().numpy())
        lower = np.tril(gram, -1)
        return gram + lower.T

    def trusted(self, gram: Matrix) -> bool:
        """Say whether `gram` kept its digits, or float32 has overflowed or underflowed on the way."""
        squares = gram.diagonal()[sorted(self._narrow_rows)]
        return bool(np.isfinite(gram).all() and (squares >= _SMALLEST_TRUSTED).all())


def gram_of(k: int, blocks: Callable[[], Iterable[Sequence[Tensor | None]]]) -> Matrix:
    """Return the Gram matrix of K gradients, given block by block, once more in float64 if float32 does not do."""
    for wide in (False, True):
        total = GramSum(k, wide=wide)
        for block in blocks():
            total.add(block)
        gram = total.matrix()
        if total.trusted(gram):
            break
    return gram
