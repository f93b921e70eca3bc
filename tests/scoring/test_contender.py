import pytest

from mobench import UserError
from mobench.scoring.contender import instance_labels, ordered_contenders
from tests.reporting.frames import run, table

WS = [run("ws", 0, settings={"weight": w, "form": f}) for w, f in ((0.5, "convex"), (0.1, "penalty"), (0.2, "penalty"))]


def test_a_method_is_one_contender_unless_its_settings_are_split():
    assert table(WS)["contender"].tolist() == ["ws", "ws", "ws"]
    split = table(WS, [run("mgda", 0)], split=["method.form"])
    assert split["contender"].tolist() == ["ws", "ws(form=penalty)", "ws(form=penalty)", "mgda"]
    assert split["method"].tolist() == ["ws", "ws", "ws", "mgda"]


def test_numbers_can_be_split_too_and_defaults_are_not_spelled():
    pcd = [run("pcd", 0, settings={"beta": beta, "tau": 0.1}) for beta in (0.9, 0.999)]
    assert table(pcd, split=["method.beta"])["contender"].tolist() == ["pcd(beta=0.9)", "pcd"]


def test_a_split_of_a_method_that_was_not_run_changes_nothing():
    assert table([run("mgda", 0)], split=["method.form"])["contender"].tolist() == ["mgda"]


def test_a_misspelt_split_is_refused():
    with pytest.raises(UserError, match=r"Did you mean 'method\.form'"):
        table(WS, split=["method.from"])


def test_a_method_that_is_no_longer_installed_keeps_its_name():
    assert table([run("gone", 0)], split=["method.form"])["contender"].tolist() == ["gone"]


def test_instances_are_named_by_what_differs_and_ordered_by_number():
    columns = {"problem.n": 50, "training.lr": 0.1}
    runs = [run("pcd", 0, instance=str(k), **{"problem.k": k, **columns}) for k in (10, 2)]
    assert instance_labels(table(runs)) == {"2": "toy: k=2", "10": "toy: k=10"}
    assert table(runs)["instance"].tolist() == ["2", "10"]
    assert instance_labels(table(runs[:1])) == {"10": "toy"}


def test_numbers_that_differ_little_still_make_different_names():
    runs = [run("pcd", 0, instance=str(scale), **{"problem.scale": scale}) for scale in (1.0, 1.0000001)]
    assert sorted(instance_labels(table(runs)).values()) == ["toy: scale=1.0", "toy: scale=1.0000001"]


def test_training_and_versions_tell_instances_apart():
    runs = [run("pcd", 0, instance=str(lr), **{"training.lr": lr}) for lr in (0.5, 1e-5)]
    assert sorted(instance_labels(table(runs)).values()) == ["toy: lr=0.5", "toy: lr=1e-05"]
    versions = [run("pcd", 0, instance=version, problem=f"toy@{version}") for version in "12"]
    assert sorted(instance_labels(table(versions)).values()) == ["toy@1", "toy@2"]


def test_contenders_stand_in_the_order_of_the_suite():
    runs = table(WS, [run("zeta", 0), run("mgda", 0), run("alpha", 0)], split=["method.form"])
    assert ordered_contenders(runs, ["mgda", "ws"]) == ["mgda", "ws", "ws(form=penalty)", "alpha", "zeta"]
