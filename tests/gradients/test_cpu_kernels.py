"""Long float32 vectors on the CPU, read once: the same answers as torch, for any layout and number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from mobench.errors import NonFiniteError
from mobench.gradients import cpu_kernels as fused
from mobench.gradients.blocks import StoredRow, weighted_sum
from mobench.gradients.gradient_rows import GradientRows
from mobench.gradients.gram import GramSum
from mobench.training.combine import combine

LENGTHS = [fused.SHORTEST, fused.SHORTEST + 1, 3 * fused.SHORTEST - 255]


@pytest.fixture(autouse=True)
def as_many_threads_after() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def vectors(k: int, n: int) -> list[Tensor]:
    return list(torch.randn(k, n, generator=torch.Generator().manual_seed(k * n)))


def exact_products(given: list[Tensor]) -> np.ndarray:
    wide = np.stack([vector.double().numpy() for vector in given])
    return np.tril(wide @ wide.T)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("k", [2, 3])
def test_products_are_those_of_float64(k: int, n: int, threads: int) -> None:
    torch.set_num_threads(threads)
    given = vectors(k, n)
    found = fused.products(given)
    assert found is not None
    exact = exact_products(given)
    norms = np.sqrt(exact.diagonal())
    assert np.abs(found - exact).max() <= 1e-7 * norms.max() ** 2
    np.testing.assert_allclose(found.diagonal(), exact.diagonal(), rtol=1e-7)


@pytest.mark.parametrize("k", [2, 3])
def test_products_are_the_same_bits_for_any_number_of_threads(k: int) -> None:
    given = vectors(k, LENGTHS[-1])
    torch.set_num_threads(1)
    alone = fused.products(given)
    torch.set_num_threads(2)
    np.testing.assert_array_equal(fused.products(given), alone)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_a_sum_is_written_over_the_first_vector(k: int, n: int, threads: int) -> None:
    torch.set_num_threads(threads)
    given = vectors(k, n)
    factors = [0.3, -1.7, 2.5, 1e-3, 1.0][:k]
    exact = sum(factor * vector.double() for factor, vector in zip(factors, given, strict=True))
    size = sum(abs(factor) * vector.double().abs() for factor, vector in zip(factors, given, strict=True))
    others = [vector.clone() for vector in given[1:]]
    assert fused.add_in_place(given[0], factors[0], list(zip(given[1:], factors[1:], strict=True)))
    assert ((given[0] - exact).abs() <= k * 2.0**-23 * size).all()
    assert all(torch.equal(vector, before) for vector, before in zip(given[1:], others, strict=True))


def test_a_sum_of_channels_last_blocks_needs_no_copy() -> None:
    shape = (256, 256, 3, 3)
    blocks = [vector.view(shape).contiguous(memory_format=torch.channels_last) for vector in vectors(2, 589_824)]
    expected = 0.5 * blocks[0] + 2.0 * blocks[1]
    rows = [StoredRow([block], 1.0, owned=number == 0) for number, block in enumerate(blocks)]
    total = weighted_sum(zip(rows, (0.5, 2.0), strict=True), 0, blocks[0])
    assert total is not None
    assert total.data_ptr() == blocks[0].data_ptr()
    torch.testing.assert_close(total, expected)


def test_blocks_of_different_layouts_are_left_to_torch() -> None:
    plain, other = (vector.view(256, 256, 3, 3) for vector in vectors(2, 589_824))
    turned = other.contiguous(memory_format=torch.channels_last)
    assert not fused.add_in_place(plain, 1.0, [(turned, 1.0)])
    expected = 0.5 * plain + 2.0 * turned
    rows = [StoredRow([plain], 1.0, owned=True), StoredRow([turned], 1.0, owned=False)]
    total = weighted_sum(zip(rows, (0.5, 2.0), strict=True), 0, plain)
    assert total is not None
    torch.testing.assert_close(total, expected)


@pytest.mark.parametrize(
    "given",
    [
        vectors(2, fused.SHORTEST - 1),
        [vector.double() for vector in vectors(2, fused.SHORTEST)],
        [vector.bfloat16() for vector in vectors(2, fused.SHORTEST)],
        [vector[::2] for vector in vectors(2, 2 * fused.SHORTEST)],
        vectors(1, fused.SHORTEST),
        vectors(4, fused.SHORTEST),
    ],
    ids=["short", "float64", "bfloat16", "with gaps", "one", "four"],
)
def test_what_torch_does_better_is_left_to_it(given: list[Tensor]) -> None:
    assert fused.products(given) is None


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_stays_so(bad: float) -> None:
    given = vectors(3, fused.SHORTEST)
    given[1][12345] = bad
    found = fused.products(given)
    assert found is not None
    assert np.isfinite(found)[[0, 2, 2], [0, 0, 2]].all()
    assert not np.isfinite(found)[[1, 1, 2], [0, 1, 1]].any()


def test_overflow_in_float32_is_seen_and_taken_again_in_float64() -> None:
    rows = torch.full((2, fused.SHORTEST), 1e25)
    total = GramSum(2)
    total.add(list(rows))
    assert not total.trusted(total.matrix())
    parameter = torch.zeros(fused.SHORTEST, requires_grad=True)
    gradients = GradientRows([parameter])
    gradients.load_gradients(rows)
    expected = fused.SHORTEST * float(rows[0, 0]) ** 2
    np.testing.assert_allclose(gradients.gram(), expected, rtol=1e-12)


def test_short_and_long_blocks_add_up() -> None:
    long, short = vectors(3, fused.SHORTEST), vectors(3, 100)
    total = GramSum(3)
    total.add([None, *long[1:]])
    total.add(short)
    expected = exact_products([torch.zeros(fused.SHORTEST), *long[1:]]) + exact_products(short)
    np.testing.assert_allclose(np.tril(total.matrix()), expected, rtol=1e-6, atol=1e-3)


def test_numba_leaves_the_number_of_torchs_threads_alone() -> None:
    """In a new process, since numba's threads start once."""
    code = """
import torch
from mobench.gradients import cpu_kernels as fused
torch.set_num_threads(2)
rows = list(torch.randn(2, fused.SHORTEST))
fused.products(rows)
torch.set_num_threads(1)
fused.add_in_place(rows[0], 1.0, [(rows[1], 1.0)])
assert torch.get_num_threads() == 1, torch.get_num_threads()
torch.set_num_threads(2)
fused.products(rows)
assert torch.get_num_threads() == 2, torch.get_num_threads()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_machine_code_is_made_where_nothing_can_be_kept(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("a folder cannot be made in here", encoding="utf-8")
    code = """
import torch
from mobench.gradients import cpu_kernels as fused
rows = list(torch.ones(2, fused.SHORTEST))
assert fused.products(rows)[1, 0] == fused.SHORTEST
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(nowhere / "folder")}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env=environment)


def test_combine_names_the_gradient_that_is_not_finite_and_takes_large_ones() -> None:
    large = torch.full((2, 10), 3e38)
    assert torch.isfinite(combine("ws", large / 4)).all()
    large[1, 3] = float("nan")
    with pytest.raises(NonFiniteError, match="gradient 1 of 2 is not finite"):
        combine("ws", large)
