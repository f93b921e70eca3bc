from types import SimpleNamespace

import numpy as np
import pytest

from mobench.core.outcome import Outcome
from mobench.planning.suite_parts import ClaimEntry
from mobench.reporting.format import lines_of
from mobench.scoring.claims import judge
from mobench.scoring.query import Query
from mobench.scoring.suite_tables import claims_table
from tests.reporting.frames import run, table

RUNS = table(
    [
        run("mgda", seed, instance=f"{k}", **{"problem.k": k, "loss/wells": 0.5 * (k - 1) + 0.01 * seed})
        for k in (2, 5)
        for seed in (0, 1)
    ]
)


def claim(**parts):
    return ClaimEntry(**{"claim": "it is so", "measured": "`loss/wells`", **parts})


def verdict(entry, runs=RUNS, records=list):
    (found,) = judge([entry], Query(runs), records)
    return found


@pytest.mark.parametrize(
    ("parts", "violated"),
    [
        ({"relation": "==", "bound": "0.5 * (problem.k - 1)", "tolerance": 0.02}, 0),
        ({"relation": "==", "bound": "0.5 * (problem.k - 1)", "tolerance": 0.005}, 2),
        ({"relation": ">=", "bound": "0.5 * (problem.k - 1)"}, 0),
        ({"relation": ">", "bound": "0.5 * (problem.k - 1)", "tolerance": 1.0}, 2),
        ({"relation": "<=", "bound": 2.0, "tolerance": 0.02}, 0),
        ({"relation": "<", "bound": 2.0}, 2),
        ({"relation": "==", "bound": 0.5, "where": {"problem.k": 2, "seed": 0}}, 0),
    ],
)
def test_a_claim_holds_if_it_does_for_every_run(parts, violated):
    found = verdict(claim(**parts))
    assert (found.violated, found.holds) == (violated, violated == 0)


def test_what_was_measured_is_told_with_what_was_claimed():
    found = verdict(claim(relation="<", bound="problem.k", source="Eq. 1"))
    assert found.measured == (0.5, 2.01) and found.bound == (2.0, 5.0) and found.cases == 4
    made = claims_table([found, verdict(claim(relation="<", bound=1))])
    first, second = lines_of(made)
    assert first == ["it is so [Eq. 1]", "0.5 … 2.01", "< 2 … 5", "4 runs", "0", "yes"]
    assert second[-3:] == ["4 runs", "2", "no"]
    measured = made.frame().query("column == 'measured'")
    assert measured["high"].tolist() == [2.01, 2.01] and made.column("holds") == [True, False]


def test_without_runs_nothing_is_said():
    found = verdict(claim(relation="<", bound=0, where={"problem.k": 3}))
    assert (found.holds, found.measured, found.cases) == (None, None, 0)
    assert [*lines_of(claims_table([found]))] == [["it is so", "–", "< –", "0 runs", "0", "–"]]


def test_a_run_without_the_number_counts_against_a_claim():
    runs = RUNS.assign(**{"loss/wells": [0.5, np.nan, 2.0, 2.0]})
    assert verdict(claim(relation=">=", bound=0), runs).violated == 1


def test_a_claim_about_steps_reads_pairs_of_neighbouring_steps():
    history = {
        "step": [0, 1, 2, 5, 6],
        "losses": [[8.0, 1.0], [4.0, 1.0], [2.0, 1.0], [1.0, 1.0], [0.9, 1.0]],
        "gradient_norms": [[2.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]],
    }
    runs = RUNS.iloc[:1]
    records = [SimpleNamespace(id=runs["id"].iloc[0], outcome=Outcome("done", history=history))]
    falls = {"measured": "step.losses[0] - step.next_losses[0]", "relation": ">=", "each": "step"}
    found = verdict(claim(bound=0.1, tolerance=1e-12, **falls), runs, lambda: records)
    assert (found.cases, found.each, found.holds) == (3, "step", True)
    assert found.measured == pytest.approx((0.1, 4.0))
    assert verdict(claim(bound="step.gradient_norms[0] ** 2", **falls), runs, lambda: records).violated == 1
    assert verdict(claim(bound=0.0, **falls), runs, list).holds is None
