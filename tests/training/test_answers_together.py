"""Methods that answer for all their runs at once: `weights_of_all`."""

import numpy as np
import pytest

from mobench import Method
from mobench.conformance.required import determinism
from mobench.conformance.subject import subject
from mobench.core import registry
from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.methods.pcgrad import random_orders
from mobench.solvers import min_norm_point, project_primary, surgery
from mobench.solvers.gradient_surgery import surgeries
from mobench.solvers.min_norm import min_norm_points
from mobench.solvers.primary_projection import independent_projections
from mobench.training.loop import Group, train
from mobench.training.optimizer import Training
from mobench.training.sampled_rows import sampled_rows


class Shares(Method):
    """w = ‖g_i‖ / Σ_j ‖g_j‖, with a note; counts how it was asked."""

    def reset(self, k, rng):
        super().reset(k, rng)
        self.alone = self.in_company = 0

    def weights(self, step):
        self.alone += 1
        return self._share(step)

    def _share(self, step):
        norms = np.sqrt(step.gram.diagonal())
        step.note(longest=float(norms.max()))
        return norms / norms.sum() if norms.any() else norms

    @staticmethod
    def weights_of_all(methods, steps):
        for method in methods:
            method.in_company += 1
        return [method._share(step) for method, step in zip(methods, steps, strict=True)]


class Heir(Shares):
    """Has weights of its own, so that what it inherits for all does not speak for it."""

    def weights(self, step):
        return np.ones(step.k)


class Wrong(Shares):
    """Answers otherwise in company."""

    @staticmethod
    def weights_of_all(methods, steps):
        return [np.ones(step.k) for step in steps]


class Failing(Shares):
    """Has no finite answer for its second run in company at the first step."""

    @staticmethod
    def weights_of_all(methods, steps):
        answers = np.ones((len(steps), steps[0].k))
        if steps[0].iteration == 0:
            answers[1] = np.nan
        return answers


class Raising(Shares):
    """Raises in company."""

    @staticmethod
    def weights_of_all(methods, steps):
        raise ArithmeticError("no answer for all")


class Misshapen(Shares):
    """Forgets a run."""

    @staticmethod
    def weights_of_all(methods, steps):
        return np.ones((len(steps) - 1, steps[0].k))


@pytest.fixture(autouse=True)
def own_plugins(monkeypatch):
    """Know the classes of this file, in its own tests alone."""
    own = {method.name: method for method in (Shares, Heir, Wrong, Failing, Raising, Misshapen)}
    known = {"methods": {**registry.methods(), **own}, "problems": dict(registry.problems())}
    monkeypatch.setattr(registry, "_found", known)


def spec(method, seed, k=3, **settings):
    training = Training(optimizer="sgd", lr=0.05, steps=12).configuration()
    return RunSpec.of(find_problem("double-well")(k=k, spread=0.1), find_method(method)(**settings), training, seed)


def numbers(outcome):
    return outcome.status, outcome.metrics, outcome.history, outcome.diagnostics


@pytest.mark.parametrize(
    ("method", "settings"),
    [("mgda", {}), ("mgda", {"normalization": "loss+"}), ("pcgrad", {}), ("shares", {}), ("heir", {})],
)
@pytest.mark.parametrize("k", [2, 3, 4, 9])
def test_a_run_alone_gives_the_bits_it_gives_among_its_like(method, settings, k):
    company = [spec(method, seed, k, **settings) for seed in range(3)]
    alone = [train([each])[0] for each in company]
    assert [numbers(each) for each in train(company)] == [numbers(each) for each in alone]
    assert all(each.status == "done" for each in alone)


@pytest.mark.parametrize(
    ("company", "asked"),
    [(("shares", "shares"), (0, 12)), (("shares",), (12, 0)), (("shares", "shares", "mgda"), (12, 0))],
)
def test_runs_of_one_method_are_asked_together_and_others_one_by_one(company, asked):
    group = Group([spec(method, seed) for seed, method in enumerate(company)])
    group.run(None, 1e9)
    found = [(m.method.alone, m.method.in_company) for m in group.members if isinstance(m.method, Shares)]
    assert found == [asked] * len(found)


def test_weights_of_a_subclass_are_its_own():
    assert Shares.answers_together()
    assert not Heir.answers_together()
    assert Wrong.answers_together()
    assert not find_method("ws").answers_together()


def test_a_row_that_is_not_finite_fails_its_own_run():
    first, second, third = train([spec("failing", seed) for seed in range(3)])
    assert (first.status, second.status, third.status) == ("done", "failed", "done")
    assert second.failed_at_step == 0
    assert "failing returned non-finite weights [nan, nan, nan] at iteration 0" in second.error


@pytest.mark.parametrize(
    ("method", "says"),
    [("raising", "no answer for all"), ("misshapen", "weights_of_all returned shape (1, 3); (2, 3) is needed")],
)
def test_what_is_raised_in_company_fails_all_who_were_asked(method, says):
    asked = train([spec(method, 0), spec(method, 1)])
    assert [each.failed_at_step for each in asked] == [0, 0]
    assert all(says in each.error for each in asked)


def test_the_battery_compares_answers_in_company_with_those_alone():
    assert determinism(subject(Shares, {})).holds
    assert determinism(subject(find_method("mgda"), {"normalization": "l2"})).holds
    verdict = determinism(subject(Wrong, {}))
    assert not verdict.holds
    assert "weights_of_all differs from weights" in verdict.sentence


@pytest.mark.parametrize(
    "settings",
    [
        {}, {"tau": 1.0, "infeasible": "no-ascent"}, {"infeasible": "back-off"}, {"rescale": "none"},
        {"epsilon_form": "relative"}, {"normalization": "unit"}, {"tau": 0.0},
    ],
)  # fmt: skip
def test_pcd_answers_in_company_as_alone(settings):
    assert determinism(subject(find_method("pcd"), settings)).holds


@pytest.mark.parametrize("k", [2, 4, 5, 9])
def test_projections_of_many_have_the_bits_of_each(k):
    rng = np.random.default_rng(k)
    rows = rng.normal(size=(60, k, k + 1)) * 10.0 ** rng.uniform(-4, 4, size=(60, k, 1))
    grams, tau = rows @ rows.transpose(0, 2, 1), 10.0 ** rng.uniform(-3, 1, size=(60, k - 1))
    multipliers, solved = independent_projections(grams, tau, np.full(60, 1e-14))
    assert solved.all()
    assert multipliers.tolist() == [
        project_primary(*each).multipliers.tolist() for each in zip(grams, tau, strict=True)
    ]


@pytest.mark.parametrize("k", range(1, 9))
def test_surgeries_of_many_have_the_bits_of_each(k):
    rng = np.random.default_rng(k)
    rows = rng.normal(size=(40, k, 3))
    rows[3, 0] = 0.0
    rows[4:8, 1:] = -rows[4:8, :1]  # all conflict with the first
    grams, orders = rows @ rows.transpose(0, 2, 1), random_orders([np.random.default_rng(i) for i in range(40)], k)
    alone = [surgery(*each).tolist() for each in zip(grams, orders.tolist(), strict=True)]
    assert surgeries(grams, orders).tolist() == alone


@pytest.mark.parametrize("k", range(1, 11))
def test_shortest_points_of_many_have_the_bits_of_each(k):
    rng = np.random.default_rng(k)
    rows = rng.normal(size=(40, k, k + 3)) * 10.0 ** rng.uniform(-4, 4, size=(40, k, 1))
    rows[5, 0] = -rows[5, -1]  # dependent
    regular = rows @ rows.transpose(0, 2, 1)
    rows[7, -1] = 0.0
    for grams in (regular, rows @ rows.transpose(0, 2, 1)):
        assert min_norm_points(grams).tolist() == [min_norm_point(gram).tolist() for gram in grams]


@pytest.mark.parametrize("k", range(1, 11))
def test_sampled_numbers_of_many_have_the_bits_of_each(k):
    rng = np.random.default_rng(k)
    rows = rng.normal(size=(20, k, k + 3))
    rows[3, 0] = 0.0
    grams, losses, weights = rows @ rows.transpose(0, 2, 1), rng.normal(size=(20, k)), rng.normal(size=(20, k))
    together = sampled_rows(4, losses, weights, grams, [True] * 20)
    for i, row in enumerate(together):
        gram, own = grams[i], weights[i]
        length = float(np.sqrt(max(own @ (gram @ own), 0.0)))
        assert row["gradient_norms"] == np.sqrt(gram.diagonal()).tolist()
        assert row["update_norm"] == length
        scale = length * float(np.sqrt(gram[0, 0]))
        assert row["alignment"] == (float((gram @ own)[0]) / scale if scale > 0.0 else 0.0)
        assert len(row["cosines"]) == k - 1
    assert together[3]["cosines"] == [0.0] * (k - 1)
    assert "update_norm" not in sampled_rows(4, losses, weights, grams, [False] * 20)[0]
