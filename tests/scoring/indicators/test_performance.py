from __future__ import annotations

import math

import numpy as np

from mobench.scoring.indicators.performance import performance_profile, performance_ratios

INF, NAN = math.inf, math.nan


def test_ratios_of_minimised_values_by_hand():
    values = [[2.0, 1.0, 4.0], [0.0, 0.0, 1e-30], [NAN, 3.0, 6.0], [NAN, NAN, NAN]]
    expected = [[2, 1, 4], [1, 1, INF], [INF, 1, 2], [INF, INF, INF]]
    assert performance_ratios(values, "min").tolist() == expected


def test_ratios_of_maximised_values_by_hand():
    values = [[0.2, 0.8, 0.4], [0.0, 0.5, NAN], [0.0, 0.0, NAN]]
    assert performance_ratios(values, "max").tolist() == [[4, 1, 2], [INF, 1, INF], [INF, INF, INF]]


def test_negative_values_have_no_ratio():
    for best in ("max", "min"):
        found = performance_ratios([[-1.0, 2.0, NAN], [1.0, 2.0, NAN]], best)
        assert np.isnan(found[0]).all()
        assert not np.isnan(found[1]).any()


def test_ratios_do_not_depend_on_the_unit():
    values = np.random.default_rng(0).random((6, 4))
    for best in ("max", "min"):
        assert np.allclose(performance_ratios(values * 1e6, best), performance_ratios(values, best))


def test_a_profile_by_hand():
    ratios = [[1.0, 2.0], [1.0, INF], [3.0, 1.0]]
    (x, y), (u, v) = performance_profile(ratios, [1.0, 1.0, 2.0])
    assert (x.tolist(), y.tolist()) == ([1, 3], [0.5, 1.0])
    assert (u.tolist(), v.tolist()) == ([1, 2], [0.5, 0.75])


def test_who_always_failed_has_a_flat_profile():
    ((x, y), _) = performance_profile([[INF, 1.0]], [1.0])
    assert (x.tolist(), y.tolist()) == ([1], [0])
