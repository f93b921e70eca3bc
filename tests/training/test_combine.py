from __future__ import annotations

import subprocess
import sys
from typing import Any, ClassVar, cast

import pytest
import torch

import mobench
from mobench.core.method import Method, Step
from mobench.errors import MethodError, NonFiniteError, UserError
from tests.training.small_methods import FixedWeights, InverseLosses, Remembering, SignOfSum, UnitGradients

GRADIENTS = torch.tensor([[3.0, 4.0, 0.0], [0.0, 0.0, 2.0]])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_direction_has_the_gradients_dtype(dtype: torch.dtype) -> None:
    direction = mobench.combine(UnitGradients(), GRADIENTS.to(dtype))
    assert direction.dtype == dtype
    torch.testing.assert_close(direction, torch.tensor([0.6, 0.8, 1.0], dtype=dtype))


def test_a_registered_method_is_called_by_name_with_its_hyperparameters() -> None:
    assert mobench.combine("ws", GRADIENTS, weight=0.25).tolist() == [2.25, 3.0, 0.5]
    with pytest.raises(UserError, match=r"unknown method 'mdga'\. Did you mean 'mgda'"):
        mobench.combine("mdga", GRADIENTS)
    with pytest.raises(UserError, match=r"unknown setting of ws 'wieght'\. Did you mean 'weight'"):
        mobench.combine("ws", GRADIENTS, wieght=0.25)


def test_mgda_finds_the_shortest_point_of_the_segment() -> None:
    # The point of the segment from (2, 0) to (0, 1) nearest to zero is (0.4, 0.8).
    direction = mobench.combine("mgda", torch.tensor([[2.0, 0.0], [0.0, 1.0]], dtype=torch.float64))
    torch.testing.assert_close(direction, torch.tensor([0.4, 0.8], dtype=torch.float64), rtol=1e-14, atol=0.0)


def test_pcd_keeps_the_primary_where_no_constraint_binds() -> None:
    gradients = torch.tensor([[1.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    direction = mobench.combine("pcd", gradients, tau=0.1, normalization="unit")
    torch.testing.assert_close(direction, gradients[0])


def test_a_name_has_no_memory_and_an_object_has() -> None:
    assert torch.equal(mobench.combine("pcgrad", GRADIENTS), mobench.combine("pcgrad", GRADIENTS))
    method = Remembering()
    first, second = mobench.combine(method, GRADIENTS), mobench.combine(method, GRADIENTS)
    assert method.calls == 2
    assert not torch.equal(first, second), "the object's random stream goes on"
    with pytest.raises(UserError, match="combines 2 gradients and got 1"):
        mobench.combine(method, GRADIENTS[:1])


def test_an_object_counts_its_iterations() -> None:
    class Iterations(Method):
        def weights(self, step: Step):
            return [float(step.iteration)] * step.k

    method = Iterations()
    assert [mobench.combine(method, torch.ones(1, 1)).item() for _ in range(3)] == [0.0, 1.0, 2.0]


def test_losses_reach_the_method_that_reads_them() -> None:
    forms: list[Any] = [[0.5, 0.25], torch.tensor([0.5, 0.25]), [torch.tensor(0.5), 0.25]]
    for losses in forms:
        assert mobench.combine(InverseLosses(), GRADIENTS, losses=losses).tolist() == [6.0, 8.0, 8.0]
    with pytest.raises(UserError, match="reads the losses and none were given; pass losses="):
        mobench.combine(InverseLosses(), GRADIENTS)
    with pytest.raises(UserError, match="there are 2 gradients"):
        mobench.combine(InverseLosses(), GRADIENTS, losses=[1.0])
    with pytest.raises(NonFiniteError, match="loss 1 of 2 is nan"):
        mobench.combine(InverseLosses(), GRADIENTS, losses=[1.0, float("nan")])


def test_famo_without_losses_is_told_so() -> None:
    with pytest.raises(UserError, match="pass losses="):
        mobench.combine("famo", GRADIENTS)
    # ξ = 0 at the first step: w_i ∝ 1/(ℓ_i − b_i).
    direction = mobench.combine("famo", GRADIENTS, losses=[2.0, 2.0], lower_bounds=[1.0, -1.0])
    torch.testing.assert_close(direction, torch.tensor([2.25, 3.0, 0.5]))
    with pytest.raises(UserError, match=r"lower_bounds=.* has 1 entries; there are 2"):
        mobench.combine("famo", GRADIENTS, losses=[2.0, 2.0], lower_bounds=[1.0])


def test_a_method_with_its_own_direction() -> None:
    assert mobench.combine(SignOfSum(), -GRADIENTS).tolist() == [-1.0, -1.0, -1.0]


def test_a_direction_that_breaks_the_contract_is_refused() -> None:
    class Wrong(SignOfSum):
        answer: ClassVar[Any]

        def direction(self, step: Step):
            return self.answer

    for answer, error, message in [
        (torch.zeros(2), MethodError, r"wrong.direction returned shape \(2,\)"),
        (torch.zeros(3, 1), MethodError, r"must be a tensor of shape \(3,\)"),
        ([1.0, 2.0, 3.0], MethodError, "direction returned list"),
        (torch.tensor([1.0, float("nan"), 0.0]), NonFiniteError, "non-finite direction"),
    ]:
        Wrong.answer = answer
        with pytest.raises(error, match=message):
            mobench.combine(Wrong(), GRADIENTS)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_non_finite_gradients_are_named(bad: float) -> None:
    gradients = GRADIENTS.clone()
    gradients[1, 2] = bad
    with pytest.raises(NonFiniteError, match="gradient 1 of 2 is not finite"):
        mobench.combine("ws", gradients)


@pytest.mark.parametrize(
    ("gradients", "message"),
    [
        (torch.ones(3), r"of shape \(3,\); it takes a K×n tensor"),
        (torch.ones(2, 0), r"of shape \(2, 0\)"),
        ([[1.0, 2.0]], "gradients is list"),
        (torch.ones(2, 3, dtype=torch.int64), "dtype torch.int64"),
    ],
)
def test_gradients_that_are_no_matrix_are_refused(gradients, message: str) -> None:
    with pytest.raises(UserError, match=message):
        mobench.combine("ws", gradients)


def test_a_method_is_a_name_or_an_object() -> None:
    with pytest.raises(UserError, match="it takes the name of a registered method, or a Method object"):
        mobench.combine(cast("Any", FixedWeights), GRADIENTS)
    with pytest.raises(UserError, match="values given beside a FixedWeights object"):
        mobench.combine(FixedWeights(), GRADIENTS, values=1.0)


def test_inner_products_are_exact_whatever_the_scale() -> None:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(2, 1000, generator=generator)
    for scale in (1e-30, 1e30):
        direction = mobench.combine("mgda", rows * scale, normalization="l2")
        torch.testing.assert_close(direction, mobench.combine("mgda", rows, normalization="l2"), rtol=1e-5, atol=1e-7)


def test_the_function_is_found_where_the_documentation_says() -> None:
    code = "import mobench, torch; print(mobench.combine('ws', torch.ones(2, 1)).tolist())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[1.0]\n"
