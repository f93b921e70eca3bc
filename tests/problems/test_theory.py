"""The paper's statements about PCD hold of this PCD, and a method that is not PCD does not pass for it."""

import math

import pytest

from mobench.core.registry import find_problem
from mobench.core.spec import RunSpec
from mobench.core.streams import Streams
from mobench.errors import UserError
from mobench.planning.plan import make_groups, make_plans
from mobench.planning.suite import load_suite
from mobench.running.environment import environment
from mobench.scoring.results import SuiteResults
from mobench.store.record import RunRecord
from mobench.store.stored_runs import HeldRuns
from mobench.training.loop import train
from mobench.training.optimizer import Training


def results(suite, **overrides):
    """Train a suite in this process; return its results."""
    found = []
    for plan in make_plans([suite], None, overrides):
        records = [
            RunRecord(spec, outcome, None, environment(), "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:01+00:00")
            for group in make_groups(plan.specs)
            for spec, outcome in zip(group, train(group), strict=True)
        ]
        found.append(SuiteResults.read(plan.suite, HeldRuns(records)))
    return found


def test_every_claim_of_the_theory_is_looked_at_and_holds():
    synthetic = [name for name in load_suite("theory").include if name != "theory-adam"]
    claims = [claim for name in synthetic for part in results(name, seeds=1) for claim in part.claims]
    assert len(claims) == 44
    assert [claim.claim for claim in claims if not claim.holds] == []
    assert all(claim.source for claim in claims)


def test_a_direction_without_the_constraints_breaks_the_claims_about_them():
    changed = {"methods": ["pcd"], "methods.pcd.rescale": "primary", "problems": ["planar-gradients"]}
    (found,) = results("theory-directions", seeds=1, **changed)
    verdicts = {claim.claim: claim.holds for claim in found.claims}
    assert verdicts["K=2: g₁·d = 1 + max(τ − c, 0) c"] is False
    assert verdicts["opposite gradients: MGDA stands still"] is None


def test_the_guarantee_is_of_the_direction_and_adam_takes_another_step():
    changed = {"methods": ["pcd"], "methods.pcd.tau": 0.01, "problems.step-progress.penalty": "l1-nuclear"}
    (found,) = results("theory-adam", seeds=1, **changed, **{"training.epochs": 2})
    descent, adam = found.claims
    assert descent.holds and descent.cases == 1
    assert adam.holds is False and 0.5 < adam.measured[0] < 1.0


def test_one_claim_of_the_paper_about_escape_does_not_hold():
    (found,) = results("escape", methods=["pcgrad", "mgda"], **{"problems.double-well.spread": 0.0})
    verdicts = {claim.claim: claim for claim in found.claims}
    crosses = verdicts["PCGrad crosses every barrier for K ≥ 3"]
    assert crosses.holds is False and 0 < crosses.violated <= 5, "only at K = 3, and there only some seeds"
    others = [claim for name, claim in verdicts.items() if claim is not crosses and claim.cases]
    assert len(others) == 4 and all(claim.holds for claim in others)


@pytest.mark.parametrize(
    "angles", [(120.0, 110.0, 80.0), (90.0, 90.0, 180.0), (120.0, 120.0, 120.0), (0.0, 60.0, 60.0)]
)
def test_given_gradients_have_the_lengths_and_angles_that_are_asked_for(angles):
    lengths = (2.0, 0.5, 3.0)
    rows = find_problem("given-gradients")(lengths=lengths, angles=angles).constants(Streams(0))["gradients"].numpy()
    cosines = [math.cos(math.radians(angle)) for angle in angles]
    for (i, j), cosine in zip(((0, 1), (0, 2), (1, 2)), cosines, strict=True):
        assert rows[i] @ rows[j] == pytest.approx(lengths[i] * lengths[j] * cosine, abs=1e-12)
    assert [float(row @ row) for row in rows] == pytest.approx([4.0, 0.25, 9.0])


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"lengths": (1.0, 1.0, 1.0), "angles": (150.0, 150.0, 150.0)}, "no 3 directions enclose these angles"),
        ({"lengths": (1.0, 1.0, 1.0), "angles": (90.0, 90.0)}, "3 pairs of gradients"),
    ],
)
def test_angles_that_no_gradients_enclose_are_refused(settings, reason):
    with pytest.raises(UserError, match=reason):
        find_problem("given-gradients")(**settings)


@pytest.mark.parametrize("angle", [0.0, 60.0, 100.0, 180.0])
def test_gradients_in_the_plane_enclose_the_angles_that_are_asked_for(angle):
    problem = find_problem("planar-gradients")(angles=(0.0, angle), primary=2.0)
    gradients = problem.constants(Streams(0))["gradients"]
    assert gradients[0].tolist() == [2.0, 0.0]
    assert float(gradients[1] @ gradients[2]) == pytest.approx(math.cos(math.radians(angle)), abs=1e-15)
    measured = problem.measure(gradients[0] * 0.0, problem.constants(Streams(0)))
    assert measured["largest_angle"] == pytest.approx(angle, abs=1e-5)
    assert measured["angle_bound"] == 180.0, "two secondaries"
    assert (measured["farkas_margin"] < 1e-7) == (angle == 180.0)


def test_one_step_shows_the_direction():
    from mobench.core.registry import find_method

    training = Training(optimizer="sgd", lr=1.0, steps=1).configuration()
    weighted = find_method("ws")(form="penalty", weight=0.5)
    (outcome,) = train([RunSpec.of(find_problem("planar-gradients")(angles=90.0), weighted, training, 0)])
    assert outcome.metrics["loss/primary"] == -1.0 and outcome.metrics["loss/secondary-1"] == pytest.approx(-0.5)
    assert outcome.metrics["displacement"] == pytest.approx(math.sqrt(1.25))
    assert outcome.metrics["smallest_progress"] == pytest.approx(0.5)
