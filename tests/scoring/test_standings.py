from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from mobench.planning.suite import Suite
from mobench.reporting.notes import remarks_on
from mobench.scoring.contests import Contest
from mobench.scoring.standings import standings
from tests.scoring.made_results import results_of

NAN = math.nan


def contest(values, suite="s", instance="i", best="max", seeds=None):
    frame = pd.DataFrame(values, dtype=float)
    frame.index = pd.Index(range(len(frame)) if seeds is None else seeds, name="seed")
    tried = dict.fromkeys(frame.columns, 1)
    return Contest(suite, "p", "toy@1", instance, instance, "m", best, frame, tried)


def row(found, name):
    return found.frame.set_index("contender").loc[name]


def noisy(generator, suite, instance, names="abcd", seeds=5):
    return contest({name: generator.normal(0.5, 0.1, seeds) for name in names}, suite, instance)


# Ranks


def test_mean_ranks_by_hand():
    one = contest({"a": [3.0, 3.0], "b": [2.0, 4.0], "c": [1.0, 1.0]})
    two = contest({"a": [1.0, 1.0], "b": [1.0, 1.0], "c": [0.0, 0.0]}, instance="j")
    found = standings([one, two])
    # Contest i: a 1 and 2, b 2 and 1, c 3 and 3. Contest j: a and b share 1.5.
    assert found.frame["contender"].tolist() == ["a", "b", "c"]
    assert found.frame["mean_rank"].tolist() == [1.5, 1.5, 3.0]
    assert (found.blocks, found.unit) == (2, "contest")


def test_every_suite_counts_the_same():
    many = [contest({"a": [1.0], "b": [0.0]}, "many", str(index)) for index in range(9)]
    few = [contest({"a": [0.0], "b": [1.0]}, "few")]
    found = standings([*many, *few])
    assert row(found, "a")["mean_rank"] == row(found, "b")["mean_rank"] == 1.5
    assert (found.blocks, found.unit) == (2, "suite")


def test_a_failure_is_last_there_and_counted():
    broken = contest({"a": [NAN, NAN], "b": [0.1, 0.2], "c": [0.3, 0.4]}, instance="broken")
    fine = contest({"a": [9.0, 9.1], "b": [0.1, 0.2], "c": [0.3, 0.4]}, instance="fine")
    found = standings([broken, fine])
    assert row(found, "a")["mean_rank"] == (3 + 1) / 2
    assert found.frame.set_index("contender")["failed_contests"].to_dict() == {"a": 1, "b": 0, "c": 0}
    assert row(found, "a")["contests"] == 2
    partly = standings([contest({"a": [1.0, NAN], "b": [0.0, 0.0]})])
    assert (row(partly, "a")["mean_rank"], row(partly, "a")["failed_contests"]) == (1.5, 1)


def test_contenders_that_are_equal_tie_everywhere():
    values = [0.1, 0.7, 0.3]
    found = standings([contest(dict.fromkeys("abc", values), "s", str(index)) for index in range(8)])
    assert found.frame[["mean_rank", "low", "high"]].to_numpy().tolist() == [[2.0, 2.0, 2.0]] * 3
    assert found.friedman_p == 1.0


def test_a_clear_order_is_found_and_a_single_suite_can_show_it():
    values = {name: 3.0 - place + 0.01 * np.arange(3) for place, name in enumerate("abc")}
    listed = [contest(values, "s", str(index)) for index in range(12)]
    found = standings(listed)
    assert found.friedman_p == pytest.approx(math.exp(-12.0))  # χ² = N (k − 1) = 24 with two degrees of freedom
    # The critical difference is 2.343 √(2/N).
    assert found.critical_difference == pytest.approx(0.957, abs=1e-3)
    assert standings(listed[:10]).critical_difference == pytest.approx(1.048, abs=1e-3)


def test_only_the_order_of_values_matters_for_ranks():
    generator = np.random.default_rng(3)
    listed = [noisy(generator, suite, str(index)) for suite in "xy" for index in range(3)]
    bent = [
        contest(np.exp(9.0 * c.values) if i % 2 else -np.cbrt(c.values), c.suite, c.instance, "max" if i % 2 else "min")
        for i, c in enumerate(listed)
    ]
    first, second = standings(listed), standings(bent)
    columns = ["contender", "mean_rank", "low", "high", "contests"]
    pd.testing.assert_frame_equal(first.frame[columns], second.frame[columns])
    assert first.friedman_p == second.friedman_p


def test_the_order_of_seeds_contenders_and_contests_changes_nothing():
    generator = np.random.default_rng(4)
    listed = [noisy(generator, suite, str(index)) for suite in "xyz" for index in range(3)]
    listed[0].values.iloc[1, 2] = NAN
    shuffled = []
    for c in generator.permutation(np.array(listed, dtype=object)):
        values = c.values.sample(frac=1.0, random_state=1).sample(frac=1.0, axis=1, random_state=2)
        shuffled.append(contest(values, c.suite, c.instance, seeds=values.index))
    first, second = standings(listed), standings(shuffled)
    pd.testing.assert_frame_equal(first.frame, second.frame)
    assert (first.friedman_p, first.critical_difference) == (second.friedman_p, second.critical_difference)


def test_an_interval_holds_the_mean_and_needs_something_to_draw():
    generator = np.random.default_rng(5)
    found = standings([noisy(generator, "x", str(index)) for index in range(4)]).frame
    assert ((found["low"] <= found["mean_rank"]) & (found["mean_rank"] <= found["high"])).all()
    assert (found["high"] - found["low"] > 0.1).all()
    lone = standings([contest({"a": [1.0], "b": [0.0]})])
    assert lone.frame[["low", "high"]].isna().all(axis=None)
    assert any("One seed only in s" in remark for remark in remarks_on(lone))


def test_nothing_gives_empty_standings():
    found = standings([])
    assert (len(found.frame), found.blocks, found.friedman_p) == (0, 0, None)


# Who is ranked


def test_who_did_not_enter_is_unranked_and_not_a_failure():
    everywhere = [contest({"a": [1.0, 1.1], "b": [0.0, 0.2]}, suite) for suite in ("x", "y")]
    some = contest({"a": [1.0, 1.1], "b": [0.0, 0.2], "late": [2.0, 2.2]}, "z")
    found = standings([*everywhere, some])
    assert found.ranked.contenders == ("a", "b")
    assert found.frame["contender"].tolist() == ["a", "b", "late"]
    assert row(found, "late")[["ranked", "contests", "failed_contests"]].tolist() == [False, 1, 0]
    assert math.isnan(row(found, "late")["mean_rank"])
    assert any("late" in remark for remark in remarks_on(found))


def test_a_suite_of_one_method_does_not_shrink_the_field():
    full = [contest({name: [1.0, 2.0] for name in "abc"}, suite) for suite in ("x", "y")]
    alone = contest({"a": [1.0, 2.0], "a(form=other)": [1.0, 2.0]}, "ablation")
    found = standings([*full, alone])
    assert found.ranked.contenders == ("a", "b", "c")
    assert [c.suite for c in found.ranked.left_out] == ["ablation"]


# Contests from results


def run(method, seed, scale, primary, secondary, status="done", **settings):
    label = f"{method}({settings})"
    return {
        "id": f"{label}{seed}{scale}", "problem": "quadratic@1", "method": method, "method_label": label,
        "problem_label": "quadratic", "seed": seed, "status": status, "configuration": f"{label}{scale}",
        "instance": f"q{scale}", "problem.scale": scale, "problem.secondary": "l1", "problem.dimension": 50,
        "problem.condition": 100.0, **{f"method.{name}": value for name, value in settings.items()},
        "loss/quadratic": primary, "secondary": secondary,
    }  # fmt: skip


@pytest.fixture
def table():
    from mobench.core.registry import find_problem

    known = {f"problem.{name}": setting.default for name, setting in find_problem("quadratic@1").settings.items()}
    rows = []
    for seed in (0, 1):
        for weight, point in ((0.2, (-6.0, 15.0)), (0.5, (-3.0, 10.0))):
            rows.append(run("ws", seed, 1.0, *point, weight=weight))
        rows.append(run("mgda", seed, 1.0, -6.0, 10.0, "done" if seed == 0 else "failed"))
    rows.append(run("ws", 7, 1.0, -12.0, 0.0, weight=0.2))
    return pd.DataFrame([{**known, **row} for row in rows])


SUITE = Suite(name="hand", profile="quick", title="Hand-made", methods={"mgda": {}, "ws": {}}, seeds=(0, 1))


def test_a_contest_is_the_hypervolume_per_seed_and_a_failure_is_missing(table):
    (found,) = results_of(table[table["seed"] != 7], SUITE).contests
    assert (found.suite, found.profile, found.metric, found.best) == ("hand", "quick", "hypervolume", "max")
    assert list(found.values) == ["mgda", "ws"]
    # In the box from (−12, 0) to (0, 20): ws has 6/12 · 5/20 + 3/12 · 10/20 minus the corner 3/12 · 5/20 they share.
    assert found.values["ws"].tolist() == pytest.approx([0.125 + 0.125 - 0.0625] * 2)
    assert found.values["mgda"].tolist() == pytest.approx([0.25, NAN], nan_ok=True)
    assert found.tried == {"mgda": 1, "ws": 2}


def test_nobody_gains_by_leaving_out_what_is_hard(table):
    hard = table[table["seed"] != 7].query("method == 'ws'").assign(instance="q9", **{"problem.scale": 9.0})
    found = results_of(pd.concat([table[table["seed"] != 7], hard], ignore_index=True), SUITE).contests
    assert found[1].values["mgda"].isna().all()
    assert row(standings(found), "mgda")["failed_contests"] == 2


def test_what_only_a_minority_ran_is_no_contest(table):
    one = table.query("method == 'mgda'")
    more = [one.assign(method=name, method_label=name, configuration=name) for name in ("famo", "pcgrad")]
    (found,) = results_of(pd.concat([table, *more], ignore_index=True), SUITE).contests
    assert found.values.index.tolist() == [0, 1]  # seed 7 was run by one of four


def toy(seed, method, **columns):
    return {
        "id": f"{method}{seed}", "problem": "random-gradients@1", "method": method, "method_label": method,
        "problem_label": "toy", "seed": seed, "status": "done", "configuration": method, "instance": "r", **columns,
    }  # fmt: skip


def test_without_bounds_the_first_selected_row_or_a_loss_ranks_and_nothing_else():
    from mobench.core.registry import find_problem

    known = {f"problem.{name}": s.default for name, s in find_problem("random-gradients@1").settings.items()}
    rows = [
        toy(s, m, **known, **{"loss/primary": v + s, "test": v, "valid": v})
        for s in (0, 1)
        for m, v in (("ws", 1.0), ("mgda", 2.0))
    ]
    table = pd.DataFrame(rows)
    picked = ({"label": "x", "value": "test", "select": "valid", "best": "min"},)
    (found,) = results_of(
        table, Suite(name="s", profile="p", title="t", selected=picked, metrics=("loss/primary",))
    ).contests
    assert (found.metric, found.best, found.values["ws"].tolist()) == ("test", "min", [1.0, 1.0])
    (found,) = results_of(table, Suite(name="s", profile="p", title="t", metrics=("loss/primary",))).contests
    assert (found.metric, found.best, found.values["mgda"].tolist()) == ("loss/primary", "min", [2.0, 3.0])
    assert results_of(table, Suite(name="s", profile="p", title="t", metrics=("farkas_margin",))).contests == []


def test_rounding_is_no_rank(table):
    nearly = table[table["seed"] == 0].assign(method="ws", method_label="x", **{"method.weight": NAN})
    near = nearly.assign(
        secondary=nearly["secondary"] * (1 + 1e-14), method="famo", method_label="famo",
        configuration=nearly["configuration"] + " of famo",
    )  # fmt: skip
    (found,) = results_of(pd.concat([nearly, near], ignore_index=True), SUITE).contests
    assert found.values["ws"].equals(found.values["famo"])
