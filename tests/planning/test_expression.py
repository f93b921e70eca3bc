import math

import numpy as np
import pytest

from mobench import UserError
from mobench.planning.expression import Expression

COLUMNS = {"problem.k": [2, 5], "loss/wells": [0.5, 4.0], "x": [1.0, None], "method.tau": [[0.1, 0.2], 0.7]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.536 * sqrt(problem.k - 1)", [1.536, 3.072]),
        ("-`loss/wells` / 2 + problem.k ** 2", [3.75, 23.0]),
        ("max(`loss/wells`, 1, problem.k / 2)", [1.0, 4.0]),
        ("min(abs(1 - problem.k), 3)", [1.0, 3.0]),
        ("cos(60) + 0 * problem.k", [0.5, 0.5]),
        ("180 - arccos(1 / (problem.k - 1))", [180.0, 180.0 - math.degrees(math.acos(0.25))]),
        ("method.tau[1]", [0.2, 0.7]),
        ("x", [1.0, math.nan]),
    ],
)
def test_a_formula_is_taken_row_by_row(text, expected):
    np.testing.assert_allclose(Expression(text).of(COLUMNS), expected, rtol=1e-14, atol=1e-15)


def test_a_formula_says_which_columns_it_reads():
    assert Expression("`loss/wells` + problem.k * (x - problem.k) - method.tau[0]").columns == (
        "loss/wells",
        "problem.k",
        "x",
        "method.tau",
    )
    assert Expression("2 ** 3").columns == ()


@pytest.mark.parametrize(
    "text",
    ["", "1 +", "a b", "__import__('os')", "x.y.z", "(lambda: 1)()", "[1]", "'a'", "True", "x if x else 1", "x @ x",
     "sqrt(x, x)", "max(x)", "sqrt(x=1)", "x[-1]", "x[y]", "(" * 500, "a.b()"],
)  # fmt: skip
def test_what_is_no_formula_is_refused(text):
    with pytest.raises(UserError):
        print(Expression(text).columns)


def test_a_function_that_does_not_exist_is_named_with_the_nearest():
    with pytest.raises(UserError, match=r"unknown function 'sqr'.*sqrt"):
        print(Expression("sqr(x)").columns)


def test_too_large_a_number_is_infinite_and_no_crash():
    assert Expression("10 ** 10 ** 10").of({}) == math.inf
