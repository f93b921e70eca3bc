"""Proximal maps of the penalties, in place: argmin_X ½‖X − W‖² + t·R(X) for a threshold t ≥ 0.

A proximal step sets small weights, filters or singular values to exactly zero, which a subgradient
step never does. It follows an optimizer step with t = λ·lr, the same for every method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from .penalties import filter_norms, per_filter
from .spectrum import as_matrix, spectral_map


def soft_threshold_(weight: Tensor, threshold: float) -> None:
    """ℓ1: sign(w)·max(|w| − t, 0)."""
    weight.copy_(torch.nn.functional.softshrink(weight, threshold))


def group_soft_threshold_(weight: Tensor, threshold: float) -> None:
    """Group lasso: θ_g·max(1 − t/‖θ_g‖, 0) for every output filter."""
    norms = filter_norms(weight)
    factors = torch.where(norms > threshold, 1.0 - threshold / norms, 0.0)
    weight.mul_(per_filter(factors, weight))


def singular_value_threshold_(weight: Tensor, threshold: float) -> None:
    """Nuclear norm: U diag(max(σ − t, 0)) Vᵀ, from the eigenbasis of the small side's Gram matrix."""

    def multiplier(values: Tensor) -> Tensor:
        return (1.0 - threshold / values).clamp_min(0.0)

    result = torch.empty_like(weight)
    spectral_map(as_matrix(weight), multiplier, out=as_matrix(result))
    weight.copy_(result)


PROXIMAL_MAPS: dict[str, Callable[[Tensor, float], None]] = {
    "group-lasso": group_soft_threshold_,
    "l1": soft_threshold_,
    "nuclear": singular_value_threshold_,
}
"""The proximal map of each penalty."""


@torch.no_grad()
def proximal_step(weights: Iterable[Tensor], penalties: Sequence[str], threshold: float) -> None:
    """Apply the penalties' proximal maps, in the given order, to every weight in place."""
    for weight in weights:
        for penalty in penalties:
            PROXIMAL_MAPS[penalty](weight, threshold)
