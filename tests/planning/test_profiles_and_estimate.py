import pytest
import torch

from mobench import UserError
from mobench.core import speed
from mobench.core.resources import Resources, resources
from mobench.planning.estimate import estimate_seconds, states_its_cost, time_steps
from mobench.planning.plan import make_groups, make_plan
from mobench.planning.suite import choose_profile, load_suite
from mobench.planning.suite_parts import SuiteFile

FILE = SuiteFile(
    default_profile="auto",
    auto={"cpu": "small", "cuda": "large", "hint": "profile=large does more"},
    profiles={"small": {}, "large": {}},
)


def test_the_machine_decides_where_the_suite_says_auto(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_profile("x", FILE, None) == (
        "small",
        "x: picked profile=small (no CUDA device here); profile=large does more",
    )
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_profile("x", FILE, "auto")[0] == "large"
    assert choose_profile("x", FILE, "small") == ("small", "")


def test_a_suite_without_default_has_a_standard_profile():
    assert SuiteFile(profiles={"quick": {}}).profile_names == ["quick", "standard"]
    assert FILE.profile_names == ["large", "small"]
    assert choose_profile("x", SuiteFile(), None) == ("standard", "")
    with pytest.raises(UserError, match="Did you mean 'small'"):
        choose_profile("x", FILE, "smal")


def test_an_estimate_is_positive():
    def estimate(seeds):
        plan = make_plan(load_suite("plane"), {"seeds": seeds, "methods": ["mgda"]})
        return estimate_seconds(make_groups(plan.specs), "cpu")

    assert estimate(1) > 0


def test_a_problem_that_states_its_cost_is_believed():
    plan = make_plan(load_suite("compression", "paper"), {"methods": ["mgda"], "seeds": 1, "training.epochs": 2})
    groups = make_groups(plan.specs)
    assert all(map(states_its_cost, groups))
    assert estimate_seconds(groups, "cpu") > 10 * estimate_seconds(groups, "cuda") > 0
    longer = make_plan(load_suite("compression", "paper"), {"methods": ["mgda"], "seeds": 1, "training.epochs": 4})
    assert estimate_seconds(make_groups(longer.specs), "cuda") == pytest.approx(2 * estimate_seconds(groups, "cuda"))


def planned(suite, profile, **overrides):
    return make_groups(make_plan(load_suite(suite, profile), overrides).specs)


def test_twenty_steps_are_timed_after_the_first_or_as_many_as_there_are_time_for():
    def timed(steps, budget=float("inf")):
        plan = make_plan(load_suite("plane", "quick"), {"methods": ["ws"], "training.steps": steps})
        return time_steps(plan.specs[:1], budget).steps

    assert [timed(steps) for steps in (500, 5, 2, 1)] == [20, 4, 1, 1]
    assert timed(500, 1e-9) == 1


def test_the_estimate_counts_nuclear_norms_and_the_speed_of_this_device(monkeypatch):
    short = {"methods": ["mgda"], "seeds": 1, "training.epochs": 1}
    plain = {**short, "problems.compression.penalty": "group-lasso"}
    with_norm, without = (estimate_seconds(planned("low-rank", "paper", **o), "cuda") for o in (short, plain))
    assert with_norm > 1.2 * without > 0
    monkeypatch.setattr(speed, "measured_speed", lambda device: speed.Speed(1e9, 1e9, 1.0, True))
    slow = estimate_seconds(planned("compression", "cifar-small", **short), "cpu")
    monkeypatch.setattr(speed, "measured_speed", lambda device: speed.Speed(2e9, 1e9, 1.0, True))
    assert slow == pytest.approx(2 * estimate_seconds(planned("compression", "cifar-small", **short), "cpu"))


def test_the_speed_of_the_device_that_is_here_is_measured_and_that_of_another_assumed():
    here = speed.speed_of("cpu")
    assert here.measured and here.convolution > 1e8 and here.product > 1e8 and 0 < here.eigen < 10
    assert here.seconds_of_eigen(2 * speed.SIDE) == 8 * here.eigen
    assert speed.speed_of("cuda") == speed.ASSUMED["cuda"], "no CUDA device here"
    assert "measured here" in str(here) and "15,000 GFLOP/s" in str(speed.ASSUMED["cuda"])


def test_a_day_is_about_one_gpu_day_with_three_configurations_for_every_contender():
    groups = planned("compression", "day")
    assert 12 * 3600 < estimate_seconds(groups, "cuda") < 36 * 3600
    tried = {}
    for spec in (spec for group in groups for spec in group):
        contender = (spec.method, spec.method_settings.get("form"))
        tried.setdefault(contender, set()).add(spec.configuration.id)
    assert len(tried) == 10 and {len(found) for found in tried.values()} == {3}


def test_resources_travel_through_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("MOBENCH_RESOURCES", "{}")
    assert resources().device == "auto"
    Resources(device="cpu", data_root=str(tmp_path), deterministic=True).export()
    found = resources()
    assert (found.device, found.data_root, found.deterministic, found.torch_device) == (
        "cpu",
        str(tmp_path),
        True,
        "cpu",
    )


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(UserError, match="device=nonsense cannot be used here"):
        Resources(device="nonsense").check()
    with pytest.raises(UserError, match=r"device=mps cannot be used: it has no float64 .*device=cpu always can"):
        Resources(device="mps").check()
    Resources(device="cpu").check()
