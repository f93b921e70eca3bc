"""Weights with known structure, shared by the tests of penalties, proximal maps and sparsity."""

from __future__ import annotations

import torch
from torch import Tensor


def random_weights(seed: int = 0) -> list[Tensor]:
    """Return a convolution wider than tall, one taller than wide, a linear layer and a bias."""
    generator = torch.Generator().manual_seed(seed)
    shapes = [(6, 4, 3, 3), (12, 2, 1, 1), (5, 7), (5,)]
    return [torch.randn(shape, generator=generator) for shape in shapes]


def with_singular_values(values: list[float], shape: tuple[int, ...], seed: int = 0) -> Tensor:
    """Return a float32 weight of `shape` whose matrix has exactly these singular values, up to rounding."""
    generator = torch.Generator().manual_seed(seed)
    rows, columns = shape[0], int(torch.tensor(shape[1:]).prod())
    rank = len(values)
    left = torch.linalg.qr(torch.randn(rows, rank, generator=generator, dtype=torch.float64)).Q
    right = torch.linalg.qr(torch.randn(columns, rank, generator=generator, dtype=torch.float64)).Q
    matrix: Tensor = left @ torch.diag(torch.tensor(values, dtype=torch.float64)) @ right.T
    return matrix.float().reshape(shape)


def polar_factor(weight: Tensor, cutoff: float = 1e-5) -> Tensor:
    """Return U Vᵀ over the nonzero singular values, by an SVD in float64."""
    left, values, right = torch.linalg.svd(weight.double().flatten(1), full_matrices=False)
    kept = values > cutoff * values.max()
    factor: Tensor = (left[:, kept] @ right[kept]).reshape(weight.shape)
    return factor
