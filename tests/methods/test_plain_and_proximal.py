"""Training on one objective alone, and proximal steps: where they run, and what is refused."""

import numpy as np
import pytest
import torch

import mobench
from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.errors import UserError
from mobench.planning.plan import make_plan
from mobench.planning.problem_suite import suite_of_problem
from mobench.planning.suite import load_suite
from mobench.training.loop import Group
from mobench.training.optimizer import Training
from tests.methods.method_steps import weights_of


def test_plain_training_follows_the_chosen_objective_and_keeps_the_id_of_the_primary_s_runs():
    assert weights_of("plain", np.eye(3)).tolist() == [1.0, 0.0, 0.0]
    assert weights_of("plain", np.eye(3), objective=3).tolist() == [0.0, 0.0, 1.0]
    assert find_method("plain")().configuration() == {}


def test_a_problem_without_proximal_maps_refuses_the_method_that_needs_them():
    with pytest.raises(
        UserError, match="the method 'proximal' takes proximal steps, and double-well@1 has no proximal"
    ):
        make_plan(load_suite("escape", "quick"), {"methods": ["proximal"]})
    assert "proximal" not in suite_of_problem("double-well").methods
    assert "proximal" in suite_of_problem("compression").methods


def test_in_a_loop_of_one_s_own_nobody_would_take_the_step():
    with pytest.raises(UserError, match="proximal needs a problem that takes its proximal steps"):
        mobench.combine("proximal", torch.eye(2))


def test_plain_training_stays_where_the_problem_allows_it_to_be():
    """What a problem does after every step for its own sake, here the box of ZDT1, is done for every method."""
    training = Training(optimizer="sgd", lr=5.0, steps=3).configuration()
    group = Group([RunSpec.of(find_problem("zdt1")(), find_method("plain")(), training, 0)])
    group.run(None, 1e9)
    (theta,) = group.workload.parameters
    assert theta.min() >= 0.0 and theta.max() <= 1.0
