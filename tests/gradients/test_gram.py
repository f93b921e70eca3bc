from __future__ import annotations

import numpy as np
import pytest
import torch

from mobench.gradients.gram import GramSum, gram_of


def exact(rows: torch.Tensor) -> np.ndarray:
    wide = rows.double().numpy().astype(np.longdouble)
    return (wide @ wide.T).astype(np.float64)


@pytest.mark.parametrize("length", [1, 7, 65536, 65537, 400_000])
def test_float32_products_are_as_accurate_as_their_inputs_whatever_the_length(length: int) -> None:
    rows = torch.rand(3, length, generator=torch.Generator().manual_seed(length))
    total = GramSum(3)
    total.add(list(rows))
    gram = total.matrix()
    assert total.trusted(gram)
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
    np.testing.assert_allclose(gram_of(2, lambda: [list(rows)]), exact(rows), rtol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_dtypes_are_multiplied_in_float32(dtype: torch.dtype) -> None:
    rows = torch.full((1, 3000), 100.0, dtype=dtype)
    total = GramSum(1)
    total.add(list(rows))
    assert total.matrix()[0, 0] == 3000 * 100.0**2
