"""Differences at equal seeds: the rule by which methods are told apart."""

import numpy as np
import pytest

from mobench.scoring.indicators.paired import best_and_tied, holds_zero, paired_interval


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([0.0, 0.0, 0.0], True),
        ([1.0, 1.0, 1.0], False),
        ([1.0, 2.0, 3.0], True),  # 2 ≤ t(2) · 1 / √3 = 2.484
        ([1.5, 2.5, 3.5], False),  # 2.5 > 2.484
        ([-1.5, -2.5, -3.5], False),
    ],
)
def test_ties_are_a_paired_t_interval_that_holds_zero(differences, expected):
    assert bool(holds_zero(np.array(differences))) is expected
    assert holds_zero(np.column_stack([differences, np.zeros(len(differences))])).tolist() == [expected, True]
    found = paired_interval(differences)
    assert (found.low <= 0.0 <= found.high) is expected


def test_two_seeds_have_a_difference_and_no_interval():
    found = paired_interval([1.0, 3.0])
    assert (found.mean, found.low, found.high, found.n) == (2.0, None, None, 2)


def test_pairing_by_seed_sees_what_means_hide():
    hard_and_easy = {0: 10.0, 1: 50.0, 2: 90.0}
    slightly_better = {seed: value + 1.0 + 0.01 * seed for seed, value in hard_and_easy.items()}
    assert best_and_tied({"a": hard_and_easy, "b": slightly_better}, "max") == {"b"}
    assert best_and_tied({"a": hard_and_easy, "b": slightly_better}, "min") == {"a"}
    assert best_and_tied({}, "max") == set()


def test_one_in_twenty_equals_is_told_apart():
    """3,000 pairs of contenders without any difference: 5 % is promised, two-sided."""
    generator = np.random.default_rng(11)
    for seeds in (3, 5):
        differences = generator.normal(size=(seeds, 3000)) - generator.normal(size=(seeds, 3000))
        assert 0.04 < 1.0 - holds_zero(differences).mean() < 0.06
