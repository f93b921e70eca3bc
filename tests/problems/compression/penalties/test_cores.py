"""Layers computed side by side: the same numbers with any number of threads, and errors come through."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from mobench.errors import NonFiniteError
from mobench.problems.compression.layer_pool import for_each_layer
from mobench.problems.compression.nuclear import Nuclear


@pytest.fixture(params=[1, 2, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_results_come_in_the_order_of_the_layers_and_threads_are_put_back(threads: int) -> None:
    weights = {7: torch.ones(3), 2: torch.ones(5), 4: torch.ones(4)}
    assert for_each_layer(lambda index, weight: (index, len(weight)), weights) == [(7, 3), (2, 5), (4, 4)]
    assert torch.get_num_threads() == threads


def test_a_layer_is_left_one_thread() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert for_each_layer(lambda *_: torch.get_num_threads(), {0: torch.ones(1), 1: torch.ones(1)}) == [1, 1]
    finally:
        torch.set_num_threads(before)


def nuclear() -> tuple[Nuclear, list[Tensor]]:
    generator = torch.Generator().manual_seed(0)
    weights = [torch.randn(64, 32, 3, 3, generator=generator) for _ in range(4)]
    return Nuclear(weights, range(4)), weights


def test_the_nuclear_norm_has_the_same_bits_with_any_number_of_threads() -> None:
    found = []
    before = torch.get_num_threads()
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        penalty, weights = nuclear()
        penalty.update()
        found.append((penalty.value, [penalty.gradient(index) for index in range(len(weights))]))
    torch.set_num_threads(before)
    for value, rows in found[1:]:
        assert value == found[0][0]
        assert all(torch.equal(row, other) for row, other in zip(rows, found[0][1], strict=True))


def test_a_weight_without_spectrum_is_refused_and_threads_are_put_back(threads: int) -> None:
    penalty, weights = nuclear()
    weights[2][0] = torch.nan
    with pytest.raises(NonFiniteError):
        penalty.update()
    assert torch.get_num_threads() == threads
