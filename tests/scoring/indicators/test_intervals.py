from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobench.errors import NonFiniteError, UserError
from mobench.scoring.indicators.intervals import RESAMPLES, Interval, interval, resampled_means, resampled_quantiles

samples = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12)


def test_hand_computed_moments():
    found = interval([1.0, 2.0, 6.0])
    assert found.mean == 3.0
    assert found.sd == pytest.approx(np.sqrt((4 + 1 + 9) / 2))
    assert found.n == 3


def test_three_seeds_span_their_range():
    """27 resamples of 3: 1/27 > 2.5 % of the means are the smallest value itself."""
    found = interval([0.3, 0.1, 0.2])
    assert (found.low, found.high) == pytest.approx((0.1, 0.3), abs=1e-15)


def test_five_seeds_match_all_their_resamples():
    values = [0.1, 0.5, 1.1, 2.3, 4.7]
    every = [np.mean(draw) for draw in product(values, repeat=5)]
    low, high = np.quantile(every, [0.025, 0.975])
    found = interval(values)
    assert found.low == pytest.approx(low, abs=0.05)
    assert found.high == pytest.approx(high, abs=0.05)


def test_agrees_with_scipy_on_a_larger_sample():
    from scipy import stats

    values = np.random.default_rng(5).exponential(size=30)
    theirs = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=20_000, random_state=0
    ).confidence_interval
    found = interval(values.tolist())
    spread = theirs.high - theirs.low
    assert found.low == pytest.approx(theirs.low, abs=0.05 * spread)
    assert found.high == pytest.approx(theirs.high, abs=0.05 * spread)


def test_one_seed_has_no_spread():
    assert interval([0.7]) == Interval(mean=0.7, sd=None, low=None, high=None, n=1)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e300, 1 / 3])
def test_equal_values_have_an_interval_of_length_zero(value):
    assert interval([value] * 7) == Interval(value, 0.0, value, value, 7)


@given(values=samples, data=st.data())
@settings(max_examples=60)
def test_order_does_not_matter_and_the_mean_is_inside(values, data):
    found = interval(values)
    assert found == interval(data.draw(st.permutations(values)))
    assert found.low is not None
    assert found.high is not None
    assert min(values) <= found.low <= found.mean <= found.high <= max(values)
    assert found.mean == pytest.approx(np.mean(values), rel=1e-12, abs=1e-9)
    assert found.sd == pytest.approx(np.std(values, ddof=1), rel=1e-9, abs=1e-9)


@given(values=st.lists(st.integers(-100, 100), min_size=2, max_size=8))
@settings(max_examples=40)
def test_shift_and_scale_carry_over(values):
    plain, moved = interval(values), interval([4.0 * value + 32.0 for value in values])
    for name in ("mean", "low", "high"):
        assert getattr(moved, name) == pytest.approx(4.0 * getattr(plain, name) + 32.0, abs=1e-9)


def test_bad_samples_are_refused():
    with pytest.raises(UserError, match="at least one"):
        interval([])
    with pytest.raises(NonFiniteError, match="nan"):
        interval([1.0, float("nan")])
    with pytest.raises(NonFiniteError, match="inf"):
        interval([float("inf")])
    with pytest.raises(NonFiniteError, match="too large"):
        interval([1e308, -1e308, 1.5e308])


@pytest.mark.parametrize("n", [2, 3, 10, 11, 94, 300, 1_300])
def test_means_taken_in_pieces_are_those_of_the_whole_product(n):
    sample = np.sort(np.random.default_rng(n).normal(size=n))
    means = resampled_means(sample)
    assert means.shape == (RESAMPLES,)
    weights = np.random.default_rng(0).multinomial(n, np.full(n, 1.0 / n), size=RESAMPLES) / n
    np.testing.assert_allclose(means, weights @ sample, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n", [2, 3, 5, 7, 8])
@pytest.mark.parametrize("equal", [False, True])
def test_quantiles_of_few_seeds_are_those_of_all_samples_to_the_last_bit(n, equal):
    generator = np.random.default_rng(n)
    for scale in (1e-6, 1.0, 1e9):
        drawn = generator.integers(0, 3, size=n).astype(float) if equal else generator.normal(size=n)
        sample = np.sort(scale * drawn)
        tail = (1.0 - 0.95) / 2.0
        expected = np.quantile(resampled_means(sample), [tail, 1.0 - tail])
        assert resampled_quantiles(sample).tolist() == expected.tolist()
