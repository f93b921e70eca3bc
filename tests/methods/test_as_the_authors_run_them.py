"""Settings by which a method runs as its authors run it, where the default is another."""

from __future__ import annotations

import numpy as np
import pytest

import mobench
from mobench.core.method import Method, Step, checked_weights
from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.errors import UserError
from mobench.training.loop import train
from mobench.training.optimizer import Training
from tests.methods.method_steps import started, step_of, weights_of
from tests.training.small_methods import batch, small_network, two_losses

OPPOSITE, FREE = [[1.0, 0.0], [-2.0, 0.0]], [[1.0, 0.0], [0.0, 4.0]]


@pytest.mark.parametrize("name", ["nashmtl", "auxinash", "fairgrad"])
def test_a_step_without_a_solution_is_zero_or_has_the_weights_before(name: str) -> None:
    zero, previous = started(name, 2), started(name, 2, unsolved="previous")
    seen: list[Method] = [zero, previous]
    unclipped = {} if name == "fairgrad" else {"max_norm": np.inf}
    free = weights_of(name, FREE, **unclipped)
    for rows, weights in ((OPPOSITE, [1.0, 1.0]), (FREE, free), (OPPOSITE, free), ([[0.0, 0.0]] * 2, [0.0, 0.0])):
        steps = [step_of(rows), step_of(rows)]
        found = [checked_weights(method, step) @ rows for method, step in zip(seen, steps, strict=True)]
        unsolved = rows == OPPOSITE
        assert [step.notes["unsolved"] for step in steps] == [unsolved, unsolved]
        wanted = np.array(weights) @ rows
        length = np.linalg.norm(wanted)
        if name != "fairgrad" and length > 1.0:
            wanted = wanted / length
        np.testing.assert_allclose(found[1], wanted, atol=1e-12)
        np.testing.assert_allclose(found[0], 0.0 * wanted if unsolved else wanted, atol=1e-12)
    previous.reset(2, np.random.default_rng(0))
    assert weights_of(name, OPPOSITE, unsolved="previous").all(), "a new run knows nothing of the one before"


@pytest.mark.parametrize("name", ["nashmtl", "auxinash", "fairgrad", "moco", "sdmgrad", "dwa", "ws"])
def test_new_settings_leave_the_ids_of_old_runs_alone(name: str) -> None:
    known = {
        "nashmtl": {"every": 1, "max_norm": 1.0},
        "auxinash": {"p": 0.5, "max_norm": 1.0},
        "fairgrad": {"alpha": 2.0},
        "moco": {"beta": 0.5, "gamma": 0.1, "rho": 0.0},
        "sdmgrad": {"pull": 0.3},
        "dwa": {"temperature": 2.0, "period": 50},
        "ws": {"weight": 0.5, "form": "convex"},
    }
    assert find_method(name)().configuration() == known[name] and find_method(name).version == 1


def test_a_weighted_sum_may_have_a_weight_for_every_objective() -> None:
    np.testing.assert_array_equal(weights_of("ws", np.eye(3), weight=(0.2, 3.0, 0.0)), [0.2, 3.0, 0.0])
    with pytest.raises(UserError, match=r"ws.weight=\[0.2, 3.0\] has 2 values for 3 objectives"):
        started("ws", 3, weight=(0.2, 3.0))
    with pytest.raises(UserError, match=r"ws.form=penalty has no effect with a weight for every objective"):
        find_method("ws")(weight=(0.2, 3.0), form="penalty")


def test_dwa_s_period_can_be_the_problem_s_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    method = started("dwa", 2, period="none", temperature=0.5)
    for losses in ([4.0, 1.0], [2.0, 1.0], [1.5, 0.5], [1.5, 0.5]):
        plain = step_of(np.eye(2), losses)
        step = Step(plain.losses, plain._source, plain.lower_bounds, steps_per_epoch=2)
        np.testing.assert_array_equal(checked_weights(method, step), [1.0, 1.0])
    powers = np.exp(np.array([1.5 / 3.0, 0.5 / 1.0]) / 0.5)
    np.testing.assert_allclose(checked_weights(method, step), 2.0 * powers / powers.sum())
    with pytest.raises(UserError, match=r"dwa.period=none needs to know how many steps make an epoch"):
        checked_weights(started("dwa", 2, period=None), step_of(np.eye(2)))
    network = small_network()
    objective = mobench.MultiObjective("dwa", network.parameters(), period=None, steps_per_epoch=3)
    for _ in range(7):
        objective.backward(two_losses(network, batch()))
    assert len(objective.method.averages) == 2  # type: ignore[attr-defined]
    problem = find_problem("two-digits")(batch_size=400)
    epoch = problem.steps_per_epoch()
    seen = find_method("dwa")(period=None)
    monkeypatch.setattr(RunSpec, "build_method", lambda self: seen)
    train([RunSpec.of(problem, seen, Training(lr=1e-3, steps=epoch + 1).configuration(), 0)])
    assert len(seen.averages) == 1 and seen.steps == 1  # type: ignore[attr-defined]
