"""How sparse and how low-rank trained weights are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from .filters import as_matrix, filter_norms
from .spectrum import singular_values

GROUP_THRESHOLD = 1e-4
"""An output filter of smaller norm counts as absent."""
PARAMETER_THRESHOLD = 1e-8
"""A weight of smaller magnitude counts as zero."""


@torch.no_grad()
def native_group_sparsity(weights: Iterable[Tensor], threshold: float = GROUP_THRESHOLD) -> float:
    """Return the fraction of output filters with ‖θ_g‖ < `threshold`, before anything is removed."""
    return _fraction_below([filter_norms(weight) for weight in weights], threshold)


@torch.no_grad()
def parameter_sparsity(weights: Iterable[Tensor], threshold: float = PARAMETER_THRESHOLD) -> float:
    """Return the fraction of the given weights with |w| < `threshold`: of all parameters, or of the penalised ones."""
    return _fraction_below([weight.abs() for weight in weights], threshold)


@torch.no_grad()
def zero_smallest(weights: Sequence[Tensor], count: int) -> None:
    """Set the `count` weights of smallest magnitude to zero; of equal ones the first go."""
    flat = torch.cat([weight.abs().flatten() for weight in weights])
    kept = torch.ones_like(flat)
    kept[flat.argsort(stable=True)[:count]] = 0
    masks = torch.split(kept, [weight.numel() for weight in weights])
    for weight, mask in zip(weights, masks, strict=True):
        weight.mul_(mask.view_as(weight))


@torch.no_grad()
def effective_rank(weights: Sequence[Tensor]) -> float:
    """Return the mean over layers of exp(H(p)), p = σ/Σσ the normalised singular values.

    This is Roy and Vetterli's effective rank: 1 for a rank-one layer, n for n equal singular values.
    A layer of zeros has no spectrum to normalise and counts as rank 0.
    """
    return sum(_effective_rank(as_matrix(weight)) for weight in weights) / len(weights)


def _effective_rank(matrix: Tensor) -> float:
    values = singular_values([matrix])
    total = values.sum()
    if total == 0:
        return 0.0
    shares = values[values > 0] / total
    return float(torch.exp(-(shares * shares.log()).sum()))


def _fraction_below(magnitudes: Sequence[Tensor], threshold: float) -> float:
    below = sum(int((magnitude < threshold).sum()) for magnitude in magnitudes)
    return below / sum(magnitude.numel() for magnitude in magnitudes)
