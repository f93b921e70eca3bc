"""An override goes to the variants that are meant for it."""

import pytest

from mobench.planning.plan import make_plan
from mobench.planning.suite import load_suite


def planned(profile="paper", **overrides):
    given = {"methods": ["mgda"], "seeds": 1, **{key.replace("__", "."): value for key, value in overrides.items()}}
    specs = make_plan(load_suite("compression", profile), given).specs
    return sorted(
        (s.problem_settings["network"], s.problem_settings["dataset"], s.problem_settings["prox"]) for s in specs
    )


@pytest.mark.parametrize(("network", "prox"), [("resnet-34", 1e-3), ("mobilenet-v2", 5e-4), ("resnet-narrow", 1e-3)])
def test_one_network_is_planned_once_with_the_prox_meant_for_it(network, prox):
    found = planned(problems__compression__network=network)
    assert found == [(network, "cifar-10", prox), (network, "cifar-100", prox)]


def test_several_networks_keep_their_own_settings():
    found = planned(
        problems__compression__network="[resnet-34,mobilenet-v2]", problems__compression__dataset="cifar-10"
    )
    assert found == [("mobilenet-v2", "cifar-10", 5e-4), ("resnet-34", "cifar-10", 1e-3)]


def test_a_number_goes_to_every_variant():
    assert {prox for _, _, prox in planned(problems__compression__prox="0")} == {0.0}
    assert len(planned(problems__compression__prox="0")) == 8


def test_a_form_of_weighted_sum_has_its_own_sweep():
    specs = make_plan(load_suite("compression", "paper"), {"methods": ["ws"], "methods.ws.form": "penalty"}).specs
    assert {spec.method_settings["form"] for spec in specs} == {"penalty"}
    assert {spec.method_settings["weight"] for spec in specs} == {1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2}


def test_the_published_profile_holds_nothing_out_and_the_validated_one_does():
    for suite in ("compression", "low-rank", "normalization"):
        for profile, holdout in (("paper", False), ("paper-validated", True)):
            specs = make_plan(load_suite(suite, profile), {"seeds": 1}).specs
            assert {spec.problem_settings["holdout"] for spec in specs} == {holdout}
            assert {spec.problem for spec in specs} == {"compression@2"}
            assert "plain@1" in {spec.method for spec in specs}
