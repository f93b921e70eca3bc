from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobench.training.secondary_progress import MOST_NUMBERS, ProgressSums, secondary_cosines, secondary_progress


def gram_of(gradients: np.ndarray) -> np.ndarray:
    gram: np.ndarray = gradients @ np.swapaxes(gradients, -1, -2)
    return gram


def test_hand_computed_cosines():
    # d = g_1 + g_2 = (1, 1); g_2 = (0, 1) at 45°, g_3 = (−2, 0) at 135°.
    gradients = np.array([[1.0, 0.0], [0.0, 1.0], [-2.0, 0.0]])
    cosines = secondary_cosines(gram_of(gradients), np.array([1.0, 1.0, 0.0]))
    assert cosines == pytest.approx([np.sqrt(0.5), -np.sqrt(0.5)], abs=1e-15)
    assert secondary_progress(gram_of(gradients), np.array([1.0, 1.0, 0.0])) == pytest.approx(-np.sqrt(0.5))


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 8), spread=st.integers(0, 6))
@settings(max_examples=100)
def test_equals_the_cosines_of_the_vectors(seed, k, spread):
    generator = np.random.default_rng(seed)
    gradients = generator.standard_normal((5, k, 20)) * 10.0 ** generator.uniform(-spread, spread, (5, k, 1))
    weights = generator.standard_normal((5, k))
    update = np.einsum("bk,bkn->bn", weights, gradients)
    lengths = np.linalg.norm(gradients, axis=2) * np.linalg.norm(update, axis=1)[:, None]
    expected = (np.einsum("bkn,bn->bk", gradients, update) / lengths)[:, 1:]
    gram = gram_of(gradients)
    assert secondary_cosines(gram, weights) == pytest.approx(expected, abs=1e-9)
    assert (secondary_progress(gram, weights) == secondary_cosines(gram, weights).min(axis=1)).all()


@given(seed=st.integers(0, 2**32 - 1), exponents=st.lists(st.integers(-40, 40), min_size=4, max_size=4))
@settings(max_examples=50)
def test_scale_of_gradients_and_update_does_not_matter(seed, exponents):
    generator = np.random.default_rng(seed)
    gram, weights = gram_of(generator.standard_normal((4, 9))), generator.standard_normal(4)
    scales = 2.0 ** np.array(exponents)
    scaled = secondary_cosines(gram * np.outer(scales, scales), 8.0 * weights / scales)
    assert scaled == pytest.approx(secondary_cosines(gram, weights), abs=1e-10)


def test_a_batch_is_its_rows():
    generator = np.random.default_rng(1)
    gram, weights = gram_of(generator.standard_normal((6, 3, 10))), generator.standard_normal((6, 3))
    batch = secondary_cosines(gram, weights)
    assert batch.shape == (6, 2)
    assert secondary_progress(gram, weights).shape == (6,)
    for row in range(6):
        assert batch[row] == pytest.approx(secondary_cosines(gram[row], weights[row]), abs=1e-15)


def test_a_zero_gradient_or_update_is_neither_progress_nor_harm():
    gradients = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    assert secondary_cosines(gram_of(gradients), np.array([1.0, 1.0, 1.0])).tolist() == [0.0, 1.0]
    assert secondary_cosines(gram_of(gradients), np.zeros(3)).tolist() == [0.0, 0.0]
    assert secondary_cosines(np.zeros((3, 3)), np.ones(3)).tolist() == [0.0, 0.0]


def test_an_update_that_cancels_has_no_direction():
    """At a conflict equilibrium what is left of d is rounding; its cosine would be a coin toss."""
    generator = np.random.default_rng(2)
    first = generator.standard_normal((50, 1, 30)) * 1e3
    gram = gram_of(np.concatenate([first, -first / 3.0], axis=1))
    assert (secondary_progress(gram, np.tile([0.25, 0.75], (50, 1))) == 0.0).all()


def test_a_small_but_resolved_update_keeps_its_direction():
    gradients = np.array([[1.0, 0.0], [-1.0, 1e-6]])
    assert secondary_progress(gram_of(gradients), np.array([1.0, 1.0])) == pytest.approx(1e-6, rel=1e-3)


def test_one_objective_holds_nobody_back():
    assert secondary_cosines(np.ones((4, 1, 1)), np.ones((4, 1))).shape == (4, 0)
    assert secondary_progress(np.ones((4, 1, 1)), np.ones((4, 1))).tolist() == [1.0] * 4


def test_nan_stays_in_its_row(recwarn):
    gram = gram_of(np.random.default_rng(0).standard_normal((3, 2, 5)))
    clean = secondary_progress(gram, np.ones((3, 2)))
    gram[1] = np.nan
    found = secondary_progress(gram, np.ones((3, 2)))
    assert np.isnan(found[1])
    assert found[[0, 2]].tolist() == clean[[0, 2]].tolist()
    assert not recwarn.list


@pytest.mark.parametrize(("runs", "k"), [(1, 1), (1, 2), (10, 3), (3, 7), (17, 4), (200, 9)])
def test_sums_over_steps_have_the_bits_of_one_step_after_the_other(runs, k):
    generator = np.random.default_rng(3)
    at_once = max(1, MOST_NUMBERS // (runs * k * k))
    sums, resumed, expected = ProgressSums(runs, k), ProgressSums(runs, k), np.zeros(runs)
    steps = min(2 * at_once + 1, 300)
    for step in range(steps):
        grams = gram_of(generator.standard_normal((runs, k, 5)) * 10.0 ** generator.uniform(-9, 9, (runs, k, 1)))
        weights = generator.standard_normal((runs, k))
        weights[step % runs] = 0.0
        expected += secondary_progress(grams, weights)
        (sums if step <= steps // 2 else resumed).add(grams, weights)
        if step == steps // 2:
            assert sums.sums().tolist() == expected.tolist()
            resumed.restore(sums.sums(), sums.steps)
        grams.fill(np.nan)  # what was added is a copy
    assert resumed.sums().tolist() == expected.tolist()
    assert resumed.steps == steps
