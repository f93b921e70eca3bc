"""Curves of runs that are sampled together."""

import warnings

import numpy as np

from mobench.training.sampled_rows import sampled_rows


def test_a_run_that_diverges_says_nothing_on_the_terminal_and_leaves_its_neighbours_alone():
    grams = np.stack([np.full((2, 2), 1e308), np.eye(2)])
    weights, losses = np.array([[5.0, 5.0], [3.0, 4.0]]), np.ones((2, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        diverged, calm = sampled_rows(7, losses, weights, grams, [True, True])
    assert diverged["update_norm"] == np.inf
    assert (calm["update_norm"], calm["alignment"], calm["cosines"]) == (5.0, 0.6, [0.0])
