"""What a step costs where runs train together: the method's own time, and an equal part of what all share."""

import time

import numpy as np
import pytest

from mobench import Method
from mobench.core import registry
from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.planning.plan import make_plan
from mobench.planning.suite import load_suite
from mobench.reporting.format import headings, lines_of
from mobench.running.executor import execute
from mobench.scoring.results import SuiteResults
from mobench.store.stored_runs import StoredRuns
from mobench.training.loop import train
from mobench.training.optimizer import Training

PAUSE = 0.02
STEPS = 8


class Sleeper(Method):
    """Equal weights, after a pause."""

    def weights(self, step):
        time.sleep(PAUSE)
        return np.full(step.k, 0.5)


class Quitter(Method):
    """Raises at step 2."""

    def weights(self, step):
        if step.iteration == 2:
            raise ValueError("no more")
        return np.full(step.k, 0.5)


@pytest.fixture(autouse=True)
def own_methods(monkeypatch):
    known = {**registry.methods(), "sleeper": Sleeper, "quitter": Quitter}
    monkeypatch.setattr(registry, "_found", {**registry._found, "methods": known})


def test_each_pays_for_its_own_method_and_all_alike_for_what_they_share():
    problem, training = find_problem("two-wells")(), Training(steps=STEPS, lr=0.01).configuration()
    names = ("ws", "sleeper", "quitter", "mgda")
    outcomes = train([RunSpec.of(problem, find_method(name)(), training, 0) for name in names])
    whole, own = (
        np.array([outcome.timings[part] for outcome in outcomes])
        for part in ("seconds_per_step", "method_seconds_per_step")
    )
    assert (own > 0.0).all() and (own <= whole).all()
    assert own[1] >= PAUSE
    # the sleeper's pauses are nobody else's, and who failed early took part in few steps
    np.testing.assert_allclose(whole - own, (whole - own)[0], rtol=1e-6)
    assert [outcome.timings["steps"] for outcome in outcomes] == [STEPS, STEPS, 2, STEPS]


def test_a_suites_table_has_both_parts_of_a_methods_time(tmp_path, store):
    (tmp_path / "own.yaml").write_text(
        f"problems: {{two-wells@1: {{}}}}\nmethods: {{ws: {{}}, sleeper: {{}}}}\ntraining: {{steps: {STEPS}}}\n"
    )
    plan = make_plan(load_suite(str(tmp_path / "own.yaml")), {})
    assert execute([plan.specs], store, jobs=0).done == 2
    table = SuiteResults.read(plan.suite, StoredRuns(store, None)).headline
    shown = {line[0]: dict(zip(headings(table), line, strict=True)) for line in lines_of(table)}
    for row in shown.values():
        own, shared = float(row["own µs"]), float(row["shared µs"])
        assert 0.0 < own < 1e3 * float(row["ms/step"]) == pytest.approx(own + shared, rel=0.02)
    assert float(shown["Sleeper"]["own µs"]) >= 1e6 * PAUSE * 0.99  # three digits are shown
    assert shown["Sleeper"]["shared µs"] == shown["Weighted sum"]["shared µs"]
