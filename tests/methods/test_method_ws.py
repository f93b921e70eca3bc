"""WS: both forms by hand, their equivalence, and refused weights."""

import numpy as np
import pytest

from mobench.core.registry import find_method
from mobench.errors import UserError
from tests.methods.method_steps import weights_of


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("weight", [0.0, 0.1, 0.9, 1.0])
def test_convex_form_shares_the_weight_among_the_secondaries(k: int, weight: float) -> None:
    weights = weights_of("ws", np.eye(k), weight=weight)
    np.testing.assert_allclose(weights, [1 - weight] + [weight / (k - 1)] * (k - 1))
    assert weights.sum() == pytest.approx(1.0)


def test_penalty_form_keeps_the_primary_at_one() -> None:
    np.testing.assert_array_equal(weights_of("ws", np.eye(3), weight=30, form="penalty"), [1.0, 30.0, 30.0])


@pytest.mark.parametrize("k", [2, 4])
def test_forms_are_the_same_line_of_points(k: int) -> None:
    weight = 0.3
    convex = weights_of("ws", np.eye(k), weight=weight)
    penalty = weights_of("ws", np.eye(k), weight=weight / ((1 - weight) * (k - 1)), form="penalty")
    np.testing.assert_allclose(convex, (1 - weight) * penalty)


def test_convex_weight_above_one_is_refused_and_the_other_form_named() -> None:
    with pytest.raises(UserError, match=r"ws\.weight=3 .*\[0, 1\].*ws\.form=penalty"):
        find_method("ws")(weight=3)


def test_negative_weight_is_refused() -> None:
    with pytest.raises(UserError, match=r"ws\.weight=-1"):
        find_method("ws")(weight=-1, form="penalty")
