"""A method for which its whole lockstep group would wait leaves it; nobody's numbers change."""

import time

import numpy as np
import pytest

from mobench import Method
from mobench.core import registry
from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.running.executor import execute
from mobench.store.folder import Store
from mobench.training import leaving as rule
from mobench.training.leaving import leaving
from mobench.training.loop import train, train_group
from mobench.training.optimizer import Training

PAUSE = 0.2
STEPS = 12


class Slow(Method):
    """Equal weights, after a pause."""

    name = "slow"

    def weights(self, step):
        time.sleep(PAUSE if step.iteration < 4 else 0.0)
        return np.full(len(step.losses), 0.5)


@pytest.fixture
def specs(monkeypatch):
    """One slow run among twelve others; the others would wait for 0.8 s in all."""
    known = dict(registry.methods())
    monkeypatch.setattr(registry, "_found", {**registry._found, "methods": {**known, "slow": Slow}})
    monkeypatch.setattr(rule, "WAITING_SECONDS", 0.5)
    problem, training = find_problem("two-wells")(), Training(steps=STEPS, lr=0.01).configuration()
    runs = [RunSpec.of(problem, Slow(), training, 0)]
    for name in ("mgda", "ws", "pcd"):
        runs += [RunSpec.of(problem, find_method(name)(), training, seed) for seed in range(4)]
    return runs


def test_one_method_that_all_others_would_wait_for_leaves():
    assert leaving({"a": [0.001] * 90, "slow": [1.0] * 3}, 0.001, 100) == {"slow"}
    assert leaving({"a": [0.001], "b": [1.0] * 2, "c": [30.0]}, 0.001, 100) == {"b", "c"}


def test_methods_of_usual_cost_stay_and_so_does_who_is_soon_done():
    assert leaving({"ws": [1e-5] * 48, "pcd": [9e-5] * 48}, 1e-3, 100_000) == set()
    assert leaving({"a": [0.001] * 90, "slow": [1.0] * 3}, 0.001, 3) == set()
    assert leaving({"slow": [5.0] * 3}, 0.0, 1000) == set()


def test_a_slow_method_leaves_its_group_and_the_others_numbers_stay(specs):
    together, alone = train_group(specs), train(specs[1:])
    assert together[0] is None
    for one, other in zip(together[1:], alone, strict=True):
        assert one is not None and one.metrics == other.metrics and one.history == other.history
        assert one.timings["runs_in_lockstep"] == 12
    assert all(outcome is not None for outcome in train(specs))  # who asks for all runs gets them


def test_the_executor_trains_who_left_by_itself(specs, tmp_path):
    store = Store(tmp_path)
    tally = execute([specs], store, jobs=0)
    assert (tally.done, tally.failed) == (len(specs), 0)
    records = {record.id: record for record in store.records()}
    slow = records[specs[0].id].outcome
    assert slow.timings["runs_in_lockstep"] == 1 and slow.timings["steps"] == STEPS
    assert slow.metrics == train(specs[:1])[0].metrics
    for record in records.values():
        timings = record.outcome.timings
        assert 0.0 < timings["method_seconds_per_step"] <= timings["seconds_per_step"]
