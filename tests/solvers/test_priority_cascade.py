"""The cascade of priorities: by hand, against a program in the space of gradients, and what it never does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quadprog import solve_qp

from mobench.solvers import project_in_levels, project_primary

OPPOSITE = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""A primary, two secondaries that contradict each other, and one that has nothing to do with them."""


def direction(gradients, tau, levels, relaxation="primary"):
    found = project_in_levels(gradients @ gradients.T, tau, levels, relaxation)
    assert (found.multipliers >= 0.0).all()
    return gradients[0] + found.multipliers @ gradients[1:], found


def test_two_levels_by_hand():
    """Level 1 asks for d_x ≥ ½ and level 2 for d_x + d_y ≥ 2: only d_y may give, and d_x keeps its 3."""
    gradients = np.array([[3.0, -4.0], [1.0, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(
        direction(gradients, [0.5, 1.0], [1, 2])[0], [4.5, -2.5]
    )  # nearest with sum 2: both rise
    opposed = np.array([[3.0, -4.0], [1.0, 0.0], [-1.0, 1.0]])  # wants −d_x + d_y ≥ 2τ = 1, and is at −7
    alone, _ = direction(opposed, [0.5, 0.5], [1, 1])
    np.testing.assert_allclose(alone, [0.5, 1.5])  # d_x = ½, all that level 1 is sure of
    np.testing.assert_allclose(direction(opposed, [0.5, 0.5], [1, 2])[0], [3.0, 4.0])  # d_x stays 3
    np.testing.assert_allclose(direction(opposed, [0.5, 0.5], [2, 1])[0], [0.5, 1.5])  # level 2 asks for d_x ≥ ½


@pytest.mark.parametrize(
    ("relaxation", "levels", "expected", "kept"),
    [
        ("primary", [1, 1, 1], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]),
        ("no-ascent", [1, 1, 1], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]),
        ("back-off", [1, 1, 1], [0.0, 1.0, 0.3], [0.0, 0.0, 0.3]),
        ("primary", [1, 2, 3], [0.3, 1.0, 0.3], [0.3, 0.0, 0.3]),
        ("back-off", [2, 1, 3], [-0.3, 1.0, 0.3], [0.0, 0.3, 0.3]),
        ("primary", [1, 2, 2], [0.3, 1.0, 0.0], [0.3, 0.0, 0.0]),
        ("no-ascent", [1, 2, 2], [0.3, 1.0, 0.0], [0.3, 0.0, 0.0]),
        ("back-off", [1, 2, 2], [0.3, 1.0, 0.3], [0.3, 0.0, 0.3]),
    ],
)
def test_what_is_given_up_where_demands_contradict(relaxation, levels, expected, kept):
    found, cascade = direction(OPPOSITE, [0.3, 0.3, 0.3], levels, relaxation)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(cascade.tau, kept)
    assert not cascade.kept


def test_every_contradiction_is_found_and_nothing_else_is_given_up():
    """Two separate contradictions, a pair and a triple, and one secondary outside both."""
    triple = np.array([[np.cos(a), np.sin(a)] for a in (0.0, 2 * np.pi / 3, 4 * np.pi / 3)])
    gradients = np.zeros((7, 4))
    gradients[0] = [0.0, 1.0, 1.0, -1.0]
    gradients[1:4, :2], gradients[4, 2], gradients[5, 2], gradients[6, 3] = triple, 5.0, -0.1, 1.0
    found, cascade = direction(gradients, [0.2] * 6, [1] * 6, "back-off")
    np.testing.assert_array_equal(cascade.tau, [0.0, 0.0, 0.0, 0.0, 0.0, 0.2])
    np.testing.assert_allclose(found, [0.0, 0.0, 0.0, 0.2], atol=1e-9)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(k=st.integers(2, 7), seed=st.integers(0, 10**6), tau=st.floats(0.0, 1.0))
def test_one_level_is_the_projection(k, seed, tau):
    gradients = np.random.default_rng(seed).normal(size=(k, 9))
    gram = gradients @ gradients.T
    cascade = project_in_levels(gram, [tau] * (k - 1), [2.0] * (k - 1), "back-off")
    np.testing.assert_allclose(cascade.multipliers, project_primary(gram, tau).multipliers, atol=1e-10)
    assert cascade.kept


def test_zero_gradients_demand_nothing_whatever_their_level():
    for levels in ([1, 2, 3], [3, 2, 1], [1, 1, 1]):
        found, cascade = direction(np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]), [0.5] * 3, levels)
        np.testing.assert_allclose(found, [-0.5, 0.0])
        assert cascade.kept and cascade.multipliers.tolist() == [0.0, 1.5, 0.0]


def program(start, rows, bounds):
    """Solve argmin ½‖d − start‖² s.t. rows d ≥ bounds in the space of gradients; None where there is no such d."""
    try:
        return solve_qp(np.eye(len(start)), start, rows.T, bounds)[0]
    except ValueError:
        return None


@settings(derandomize=True, max_examples=150, deadline=None)
@given(
    k=st.integers(3, 7),
    dimension=st.integers(2, 8),
    seed=st.integers(0, 10**6),
    tau=st.floats(0.05, 1.0),
    levels=st.lists(st.integers(1, 3), min_size=6, max_size=6),
)
def test_the_cascade_is_its_programs_one_after_the_other(k, dimension, seed, tau, levels):
    """In few dimensions many levels cannot be met; those are left out, and what higher ones have reached stays."""
    gradients = np.random.default_rng(seed).normal(size=(k, dimension))
    levels = np.array(levels[: k - 1])
    reference, skipped = gradients[0], 0
    for level in sorted(set(levels.tolist())):
        higher, members = gradients[1:][levels < level], gradients[1:][levels == level]
        bounds = np.concatenate([higher @ reference - 1e-13, tau * (members**2).sum(1)])
        found = program(reference, np.vstack([higher, members]), bounds)
        skipped += found is None
        reference = reference if found is None else found
    ours, cascade = direction(gradients, [tau] * (k - 1), levels.tolist())
    if np.linalg.norm(reference) < 1e3:  # farther away the programs are ill-conditioned
        np.testing.assert_allclose(ours, reference, atol=1e-6 * (1.0 + np.linalg.norm(reference)))
        assert cascade.kept is (skipped == 0)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(
    k=st.integers(3, 7),
    dimension=st.integers(2, 8),
    seed=st.integers(0, 10**6),
    relaxation=st.sampled_from(["primary", "no-ascent", "back-off"]),
)
def test_a_lower_level_never_takes_from_a_higher(k, dimension, seed, relaxation):
    rng = np.random.default_rng(seed)
    gradients, levels = rng.normal(size=(k, dimension)), np.sort(rng.integers(1, 4, k - 1))
    for level in sorted(set(levels.tolist())):
        first = 1 + int((levels < level).sum())
        before = (
            gradients[:first] @ direction(gradients[:first], [0.3] * (first - 1), levels[: first - 1], relaxation)[0]
        )
        last = 1 + int((levels <= level).sum())
        after, cascade = direction(gradients[:last], [0.3] * (last - 1), levels[: last - 1], relaxation)
        size = 1e-9 * (1.0 + np.linalg.norm(after)) * np.linalg.norm(gradients, axis=1).max()
        assert (gradients[1:first] @ after >= before[1:] - size).all()
        assert (gradients[1:last] @ after >= cascade.tau * (gradients[1:last] ** 2).sum(1) - size)[
            cascade.tau > 0
        ].all()
