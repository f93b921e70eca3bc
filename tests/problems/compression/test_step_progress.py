"""What is counted of a step is what the parameters did, whatever made them move."""

import pytest
import torch

from mobench.core.registry import find_problem
from mobench.core.streams import Streams


@pytest.mark.parametrize("penalty", ["group-lasso", "l1-nuclear"])
def test_steps_along_and_against_the_penalties_are_counted(penalty):
    task = find_problem("step-progress")(penalty=penalty).start(Streams(0))
    for sign in (1.0, 1.0, -1.0):
        task.losses(next(task.batches()))
        step = [task.penalties[0].gradient(index).clone() for index in task.penalties[0].weights]
        with torch.no_grad():
            for weight, gradient in zip(task.penalties[0].weights.values(), step, strict=True):
                weight.sub_(sign * 1e-4 * gradient)
            task.parameters[-1].add_(1.0)  # a bias, which no penalty sees
        task.after_update(0.1)
    found = task.metrics()
    assert found["progress_share"] == found["descent_share"] == pytest.approx(2 / 3)
    if penalty == "group-lasso":
        assert found["step_cosine"] == pytest.approx(1 / 3, abs=1e-3)
    else:
        assert 0.0 < found["step_cosine"] < 1 / 3, "the worst of both penalties"

    again = find_problem("step-progress")(penalty=penalty).start(Streams(0))
    again.load_state_dict(task.state_dict())
    counted = ("progress_share", "descent_share", "step_cosine")
    assert {name: again.metrics()[name] for name in counted} == {name: found[name] for name in counted}
