"""Rankings with one learning rate and with all of them, from real runs."""

from benchmarks.tuned_rates import ranks_by_rate
from mobench.planning.plan import make_plan
from mobench.planning.suite import load_suite
from mobench.running.environment import environment
from mobench.store.record import RunRecord
from mobench.training.loop import train

RATES = {"ws": "[0.01]", "mgda": "[0.01,0.3]", "pcgrad": "[0.3]"}
NOW = "2030-01-01T00:00:00+00:00"


def test_methods_are_ranked_with_the_runs_of_each_rate_and_with_all():
    rates = {f"methods.{name}.training.lr": rate for name, rate in RATES.items()}
    short = {"methods": list(RATES), "training.steps": 40, "problems.two-wells.start": "upper"}
    plan = make_plan(load_suite("plane", "tuned-lr"), {**short, **rates})
    records = [
        RunRecord(spec, outcome, None, environment(), NOW, NOW)
        for spec, outcome in zip(plan.specs, train(plan.specs), strict=True)
    ]
    frame = ranks_by_rate(plan.suite, records)
    assert list(frame) == ["tuned", "0.01", "0.3"]
    assert frame["tuned"].sum() == 6.0
    assert frame["0.01"].drop("pcgrad").sum() == frame["0.3"].drop("ws").sum() == 3.0
    assert frame.loc[["pcgrad", "ws"], ["0.01", "0.3"]].isna().to_numpy().tolist() == [[True, False], [False, True]]
