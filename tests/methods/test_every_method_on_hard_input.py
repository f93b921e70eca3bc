"""Whatever the type, number, scale and position of the gradients: a finite update, or one clear error."""

from functools import cache

import numpy as np
import pytest
import torch

import mobench
from mobench.core.registry import methods
from mobench.errors import NonFiniteError

COMBINING = [
    name
    for name, method in methods().items()
    if (made := method()).proximal_weight is None and not made.needs_second_batch
]
"""Methods whose step is a combination of these gradients; the proximal map of a penalty is the problem's."""
FAMILIES = ("general", "zero", "one zero", "identical", "opposite", "spread")


@cache
def rows_of(family: str, k: int) -> np.ndarray:
    rng = np.random.default_rng([k, FAMILIES.index(family)])
    general = rng.standard_normal((k, 24))
    if family == "zero":
        return np.zeros((k, 24))
    if family == "one zero":
        return np.where(np.arange(k)[:, None] == k - 1, 0.0, general)
    if family == "identical":
        return np.repeat(general[:1], k, axis=0)
    if family == "opposite":
        return np.where(np.arange(k)[:, None] % 2 == 0, 1.0, -1.0) * general[:1]
    if family == "spread":
        return general * 10.0 ** rng.uniform(-6.0, 6.0, (k, 1))
    return general


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", COMBINING)
@pytest.mark.filterwarnings("error")
def test_updates_are_finite_for_every_type_number_and_position(name: str) -> None:
    for family in FAMILIES:
        for k in (2, 3, 7, 16):
            for dtype in (torch.float64, torch.float32, torch.bfloat16):
                rows = torch.from_numpy(rows_of(family, k)).to(dtype)
                losses = np.geomspace(0.1, 10.0, k).tolist()
                method = methods()[name]()
                for _ in range(2):  # the second step sees a state
                    update = mobench.combine(method, rows, losses=losses, lower_bounds=[0.0] * k)
                    assert update.dtype == dtype and update.shape == (24,), (family, k, dtype)
                    assert torch.isfinite(update).all(), (family, k, dtype)


@pytest.mark.parametrize("name", COMBINING)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_is_refused(name: str, bad: float) -> None:
    rows = torch.from_numpy(rows_of("general", 3).copy())
    rows[1, 5] = bad
    with pytest.raises(NonFiniteError, match="gradient 1 of 3 is not finite"):
        mobench.combine(name, rows, losses=[1.0, 1.0, 1.0])


@pytest.mark.parametrize("name", COMBINING)
def test_float32_and_float64_agree(name: str) -> None:
    """On well-conditioned gradients the type of the numbers does not decide the result."""
    rows = torch.from_numpy(rows_of("general", 4)).float()
    narrow, wide = (mobench.combine(name, each, losses=[1.0, 2.0, 0.5, 1.5]) for each in (rows, rows.double()))
    assert torch.linalg.vector_norm(narrow.double() - wide) <= 1e-5 * (1e-12 + torch.linalg.vector_norm(wide))
