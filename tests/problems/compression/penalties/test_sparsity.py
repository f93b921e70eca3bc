"""Sparsity measures on weights whose sparsity and rank are known."""

from __future__ import annotations

import math

import pytest
import torch

from mobench.problems.compression.sparsity import effective_rank, native_group_sparsity, parameter_sparsity
from tests.problems.compression.penalties.weights import with_singular_values


def test_native_group_sparsity_counts_filters_over_all_layers() -> None:
    first, second = torch.ones(4, 2, 3, 3), torch.ones(6, 2)
    first[0] = 0
    first[1] = 1e-6
    first[2, 0, 0, 0] = 2e-4
    second[5] = 7e-5
    assert native_group_sparsity([first, second]) == pytest.approx(3 / 10)


def test_a_group_threshold_is_on_the_norm_and_not_on_its_entries() -> None:
    just_above = torch.full((1, 4, 1, 1), 0.51e-4)
    just_below = torch.full((1, 4, 1, 1), 0.49e-4)
    assert native_group_sparsity([just_above]) == 0
    assert native_group_sparsity([just_below]) == 1


def test_parameter_sparsity_counts_magnitudes_below_the_threshold() -> None:
    weight = torch.tensor([[0.0, 9e-9, -9e-9, 1.1e-8], [1.0, -1.0, -1e-7, 0.0]])
    assert parameter_sparsity([weight, torch.ones(2, 1)]) == pytest.approx(4 / 10)


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_effective_rank_of_equal_singular_values_is_their_number(rank: int) -> None:
    assert effective_rank([with_singular_values([2.0] * rank, (6, 4, 3, 3))]) == pytest.approx(rank, rel=1e-5)


def test_effective_rank_is_the_exponential_of_the_entropy_averaged_over_layers() -> None:
    skewed = with_singular_values([3.0, 1.0], (8, 4, 3, 3))
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    flat = with_singular_values([1.0] * 4, (4, 9))
    assert effective_rank([skewed, flat]) == pytest.approx((math.exp(entropy) + 4) / 2, rel=1e-5)


def test_effective_rank_ignores_scale_and_a_zero_layer_has_none() -> None:
    weight = with_singular_values([3.0, 1.0], (8, 4, 3, 3))
    assert effective_rank([1e-6 * weight]) == pytest.approx(effective_rank([weight]), rel=1e-5)
    assert effective_rank([torch.zeros(4, 9), torch.eye(4)]) == pytest.approx(2.0)
