from __future__ import annotations

import numpy as np
import pytest
import torch

from mobench.core.device_path import forced_device_path
from mobench.gradients.gram import GramSum, gram_of, resolved_rows


def exact(rows: torch.Tensor) -> np.ndarray:
    wide = rows.double().numpy().astype(np.longdouble)
    return (wide @ wide.T).astype(np.float64)


@pytest.mark.parametrize("length", [1, 7, 65536, 65537, 400_000])
def test_float32_products_are_as_accurate_as_their_inputs_whatever_the_length(length: int) -> None:
    rows = torch.rand(3, length, generator=torch.Generator().manual_seed(length))
    total = GramSum(3)
    total.add(list(rows))
    gram = total.matrix()
    np.testing.assert_allclose(gram, exact(rows), rtol=1e-6)
    np.testing.assert_array_equal(gram, gram.T)


def test_blocks_add_up_and_absent_blocks_are_zero() -> None:
    a, b, c = torch.randn(3, 10, dtype=torch.float64)
    total = GramSum(2)
    total.add([a, b])
    total.add([None, c])
    total.add([None, None])
    expected = [[a @ a, a @ b], [a @ b, b @ b + c @ c]]
    np.testing.assert_allclose(total.matrix(), [[float(x) for x in row] for row in expected], rtol=1e-14)


def test_a_float64_block_is_multiplied_in_float64() -> None:
    rows = torch.randn(2, 1000, dtype=torch.float64)
    total = GramSum(2)
    total.add(list(rows))
    np.testing.assert_allclose(total.matrix(), exact(rows), rtol=1e-13, atol=1e-11)


@pytest.mark.parametrize("size", [1e-25, 1e25])
def test_products_outside_the_range_of_float32_are_not_trusted_and_exact_when_wide(size: float) -> None:
    rows = torch.full((2, 10), size)
    narrow = GramSum(2)
    narrow.add(list(rows))
    assert not narrow.trusted(narrow.matrix())
    np.testing.assert_allclose(gram_of(2, lambda: [list(rows)]).matrix, exact(rows), rtol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_dtypes_are_multiplied_in_float32(dtype: torch.dtype) -> None:
    rows = torch.full((1, 3000), 100.0, dtype=dtype)
    total = GramSum(1)
    total.add(list(rows))
    assert total.matrix()[0, 0] == 3000 * 100.0**2


def unit_error(gram: np.ndarray, true: np.ndarray) -> float:
    """Return the spectral norm of the error, relative to the gradients' lengths."""
    norms = np.sqrt(np.diagonal(true))
    return float(np.linalg.norm((gram - true) / norms / norms[:, None], 2))


@pytest.mark.parametrize("kind", ["random", "positive", "one magnitude"])
@pytest.mark.parametrize("length", [3, 1000, 24_000, 131_072, 600_000])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_error_is_bounded(k: int, length: int, kind: str) -> None:
    generator = torch.Generator().manual_seed(length)
    rows = torch.randn(k, length, generator=generator)
    rows = {"random": rows, "positive": rows.abs(), "one magnitude": rows.sign() * torch.rand(k, 1) + 0.5}[kind]
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        narrow, wide = GramSum(k), GramSum(k, wide=True)
        for total in (narrow, wide):
            total.add(list(rows.to(dtype)))
            assert unit_error(total.matrix(), exact(rows.to(dtype))) <= total.error
        assert wide.error < 1e-13 < narrow.error < 1e-3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_nearly_dependent_gradients_are_multiplied_in_float64_and_no_others(k: int, dtype: torch.dtype) -> None:
    rows = torch.randn(k, 1000, generator=torch.Generator().manual_seed(k)).to(dtype)
    plain = gram_of(k, lambda: [list(rows)])
    assert not plain.retaken
    rows[-1] = -1.3 * rows[0] + 1e-3 * rows[-1]
    retaken = gram_of(k, lambda: [list(rows)])
    assert retaken.retaken
    np.testing.assert_allclose(retaken.matrix, exact(rows), rtol=1e-14, atol=1e-11)
    assert retaken.resolution == resolved_rows(dtype) <= plain.resolution < 1e-3
    assert resolved_rows(dtype) == {torch.float32: 2.0**-36, torch.float16: 2.0**-18, torch.bfloat16: 2.0**-12}[dtype]


def partial_sums(first: torch.Tensor, second: torch.Tensor, sums: int = 65536) -> torch.Tensor:
    """Return an inner product as a device takes it: a running sum for each thread, and their sums in pairs."""
    terms = torch.nn.functional.pad(first * second, (0, -len(first) % sums)).view(-1, sums)
    total = terms[0].clone()
    for row in terms[1:]:
        total += row
    while len(total) > 1:
        total = total[: len(total) // 2] + total[len(total) // 2 :]
    return total[0]


@pytest.mark.parametrize("kind", ["random", "positive", "one magnitude", "nearly parallel"])
@pytest.mark.parametrize("length", [1000, 2**21])
def test_the_error_of_a_device_is_bounded_and_that_of_its_partial_sums(
    length: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "dot", partial_sums)
    rows = torch.randn(2, length, generator=torch.Generator().manual_seed(length))
    match kind:
        case "positive":
            rows.abs_()
        case "one magnitude":
            rows = rows.sign() * torch.rand(2, 1) + 0.5
        case "nearly parallel":
            rows[1] = 0.7 * rows[0] + 0.1 * rows[1]
    total = GramSum(2)
    with forced_device_path():
        total.add(list(rows))
        gram = total.matrix()
        assert unit_error(gram, exact(rows)) <= total.error <= 1e-5
        if kind == "nearly parallel":
            assert 0.98 < gram[0, 1] / np.sqrt(gram[0, 0] * gram[1, 1]) < 0.995
            assert total.trusted(gram)


def test_float64_gradients_are_never_multiplied_twice() -> None:
    calls = []

    def blocks() -> list[list[torch.Tensor]]:
        calls.append(1)
        return [[torch.ones(5, dtype=torch.float64), -torch.ones(5, dtype=torch.float64)]]

    taken = gram_of(2, blocks)
    assert (len(calls), taken.retaken, taken.resolution) == (1, False, 1e-14)


def test_a_sum_that_loses_its_digits_in_float32_is_noticed() -> None:
    opposite = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    rows = [opposite, -opposite + 1e-5 * torch.randn(1000, generator=torch.Generator().manual_seed(1))]
    taken = gram_of(2, lambda: [rows])
    assert taken.cancels(np.array([1.0, 1.0]))
    assert not taken.cancels(np.array([1.0, 0.9]))
