"""The survey behind the atlas: it finds the relations that hold, and none that only seem to."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from mobench.conformance.scenes import Scene, update
from mobench.conformance.survey import forms_of, random_gradients, search_points, survey
from mobench.core.method import Method, Step
from mobench.core.registry import find_method
from mobench.core.settings import choice, flag, integer, real, text
from mobench.scoring.atlas import Atlas, Column, Condition, method_of, shipped_atlas

CONDITIONS = [Condition(k, conflict, equal) for k in (2, 3, 6) for conflict in (True, False) for equal in (True, False)]


class UnitSum(Method):
    """A method that is registered nowhere."""

    name = "unit-sum"

    def weights(self, step: Step) -> Any:
        return 1.0 / np.sqrt(step.gram.diagonal())


class Fails(Method):
    name = "fails"

    def weights(self, step: Step) -> Any:
        raise RuntimeError("no idea")


@cache
def surveyed(k: int) -> Atlas:
    """Compare the shipped methods and two more on `k` gradients, with few draws."""
    return survey([*map(find_method, shipped_atlas().methods), find_method("proximal"), UnitSum, Fails], (k,), 24, 3)


def column(atlas: Atlas, *, conflict: bool = True, equal: bool = False, whole_run: bool = True) -> Column:
    asked = (conflict, equal, whole_run)
    return next(c for c in atlas.columns if (c.condition.conflict, c.condition.equal, c.whole_run) == asked)


def together(found: Column, *labels: str) -> bool:
    """Whether labels have one direction."""
    return len({found.places.get(label, (label,))[0] for label in labels}) == 1


def shipped_relations(atlas: Atlas, k: int) -> set[frozenset[str]]:
    """Return the classes of one update, without the methods that this file adds."""
    added = (UnitSum.name, Fails.name)
    kept = (frozenset(each for each in same if each not in added) for line in atlas.always(k) for same in line)
    return {same for same in kept if same}


@pytest.mark.parametrize("k", [2, 3])
def test_the_relations_that_ship_are_found_again(k: int) -> None:
    assert shipped_relations(surveyed(k), k) == shipped_relations(shipped_atlas(), k)
    assert len(shipped_relations(shipped_atlas(), k)) > 5


BARGAINS = ("config", "imtlg", "nashmtl", "auxinash", "fairgrad(alpha=1)", "mgda(normalization=l2)", "unit-sum")


@pytest.mark.parametrize("conflict", [True, False])
def test_seven_rules_are_one_direction_on_two_gradients_and_not_on_three(conflict: bool) -> None:
    assert together(column(surveyed(2), conflict=conflict), *BARGAINS)
    assert not together(column(surveyed(2), conflict=conflict), "nashmtl", "fairgrad")
    three = column(surveyed(3), conflict=conflict)
    assert together(three, "nashmtl", "fairgrad(alpha=1)")
    assert not any(together(three, "nashmtl", label) for label in ("config", "auxinash", "unit-sum"))


def test_projections_agree_where_nothing_is_projected() -> None:
    assert together(column(surveyed(2)), "pcgrad", "upgrad")
    assert not together(column(surveyed(2)), "pcgrad", "gradvac")
    assert together(column(surveyed(2), whole_run=False), "pcgrad", "upgrad", "gradvac")
    for k in (2, 3):
        assert together(column(surveyed(k), conflict=False), "pcgrad", "upgrad", "dualproj", "graddrop(leak=1)")
        assert not together(column(surveyed(k)), "pcgrad", "dualproj")


@pytest.mark.parametrize(
    ("labels", "at_first"),
    [
        (("famo", "gls"), True),
        (("dwa", "graddrop(leak=1)"), True),
        (("uw", "gradnorm", "graddrop(leak=1)"), True),
        (("lagrangian", "plain"), True),
        (("graddrop", "graddrop(leak=1)"), False),
        (("epo", "plain"), False),
    ],
)
def test_what_only_seems_to_be_the_same_is_told_apart(labels: tuple[str, ...], at_first: bool) -> None:
    for k in (2, 3):
        for conflict in (True, False):
            first, run = (column(surveyed(k), conflict=conflict, whole_run=whole) for whole in (False, True))
            assert together(first, *labels) is at_first
            assert len({run.places.get(label, (label,))[0] for label in labels}) == len(labels)


def test_equal_lengths_are_a_column_of_their_own() -> None:
    equal = column(surveyed(2), equal=True, whole_run=False)
    plain_sum = {label for same in equal.classes[equal.places["ws"][0]] for label in same}
    defaults = {label for label in plain_sum if label == method_of(label)} - {UnitSum.name}
    assert len(defaults) >= 18 and "pcd" not in defaults
    assert not together(column(surveyed(2), whole_run=False), "ws", "mgda")


def test_opposite_directions_of_imtlg_raise_every_objective() -> None:
    found = {c.condition: c.opposite for c in shipped_atlas().columns if not c.whole_run}
    assert len(found) == 12
    for condition, opposite in found.items():
        pairs = {(one.one, one.other): one.value for one in opposite}
        assert (("config", "imtlg") in pairs) is (condition.k > 2 and not condition.equal)
        assert all(0.001 < value < 0.25 for value in pairs.values())
    rng, method = np.random.default_rng(0), find_method("imtlg")()
    steps = [(g := random_gradients(Condition(6, False, False), rng)) @ update(method, Scene.of(g)) for _ in range(200)]
    raised = [products for products in steps if products[0] < 0.0]
    assert 0.05 < len(raised) / len(steps) < 0.25 and all((products < 0.0).all() for products in raised)


def test_what_is_no_direction_and_what_fails_is_said() -> None:
    assert "proximal" in surveyed(2).left_out["proximal"]
    assert surveyed(2).left_out["fails at K = 2"] == "RuntimeError: no idea"
    assert not any("fails" in found.places or "proximal" in found.places for found in surveyed(2).columns)


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.words)
def test_gradients_are_of_their_kind(condition: Condition) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        gradients = random_gradients(condition, rng)
        products, lengths = gradients @ gradients.T, np.linalg.norm(gradients, axis=1)
        assert gradients.shape == (condition.k, condition.k + 4) and (gradients < 0.0).any()
        assert (products.min() < 0.0) is np.bool_(condition.conflict)
        assert (np.ptp(lengths) < 1e-12 * lengths.max()) is np.bool_(condition.equal)


class Settings(Method):
    share: float = real(0.3, low=0.0, high=1.0, low_open=True, meaning="a share")
    rate: float = real(0.025, low=0.0, meaning="a rate")
    every: int = integer(50, low=1, meaning="a period")
    form: str = choice("a", ("a", "b"), meaning="a form")
    on: bool = flag(False, meaning="a flag")
    words: str = text("", meaning="words")

    def weights(self, step: Step) -> Any:
        return np.ones(step.k)


def test_settings_are_tried_at_their_limits_and_three_points_inside() -> None:
    tried = {name: search_points(setting) for name, setting in Settings.settings.items()}
    assert tried["share"] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert tried["rate"] == pytest.approx([0.0, 0.001, 0.01, 0.1])
    assert tried["every"] == [1, 1, 10, 100]
    assert (tried["form"], tried["on"], tried["words"]) == (["a", "b"], [False, True], [])
    labels = list(forms_of(Settings))
    assert labels[0] == "settings" and "settings(share=0)" not in labels and "settings(share=1)" in labels
    assert len(labels) == 1 + 4 + 4 + 3 + 1 + 1
