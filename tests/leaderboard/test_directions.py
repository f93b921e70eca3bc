"""The tables behind the interactive figure, against the methods themselves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mobench.core.method import Method, Step
from mobench.core.registry import find_method, methods
from mobench.core.settings import choice, integer, real
from mobench.leaderboard.site.directions import REACH, _tables, weights_table
from mobench.leaderboard.site.names import file_stem
from tests.leaderboard.figure import FORM, KEYS, SHAPE, gradients_at, python_direction, read_tables

POINTS = [
    (0, 0),
    (36, 0),
    (36, REACH),
    (36, -REACH),
    (35, -REACH),
    (1, 3),
    (18, 0),
    *((7 * i % 37, i) for i in range(9)),
]


def test_every_method_has_a_script_of_moderate_size(figure: Path) -> None:
    scripts = {file.stem: file.stat().st_size for file in (figure.parent / "data" / "directions").iterdir()}
    assert set(scripts) == {*map(file_stem, methods()), file_stem(FORM)}
    assert all(size < 60_000 for size in scripts.values()), scripts


@pytest.mark.parametrize("name", KEYS)
def test_tables_hold_the_method_s_own_answers(figure: Path, name: str) -> None:
    """Equal to the precision of float32, relative to the lengths of the terms that are summed."""
    method, _, form = name.partition("(")
    fixed = {"form": "penalty"} if form else {}
    knob = next((setting for setting in find_method(method).settings if setting not in fixed), None)
    content = read_tables(figure.parent / "data" / "directions" / f"{KEYS[name]}.js")
    for value, table in zip(content["values"] or [None], content["tables"], strict=True):
        settings = fixed if value is None or knob is None else {**fixed, knob: value}
        for turn, size in POINTS:
            gradients = gradients_at(turn, size)
            weights = table[turn, REACH + size].astype(np.float64)
            terms = np.abs(weights) @ np.linalg.norm(gradients, axis=1)
            wanted = python_direction(method, gradients, **settings)
            assert np.linalg.norm(weights @ gradients - wanted) <= 2e-7 * max(terms, 1e-9), (value, turn, size)


class Plain(Method):
    bold: str = choice("yes", ("no", "yes"), meaning="a knob without effect")

    def weights(self, step: Step) -> Sequence[float]:
        return [1.0, 2.0]


class Ranged(Plain):
    share: float = real(0.1, low=0.0, high=1.0, high_open=True, meaning="a share")

    def weights(self, step: Step) -> Sequence[float]:
        return [self.share, 1.0]


class Picky(Plain):
    bold: str = choice("yes", ("no", "yes"), meaning="a word")
    count: int = integer(3, low=1, meaning="never the knob, for it comes second")

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        if self.bold == "no":
            raise ValueError("not today")


class Random(Plain):
    def weights(self, step: Step) -> Sequence[float]:
        return self.rng.random(2).tolist()  # type: ignore[no-any-return]


class Conflicted(Plain):
    def weights(self, step: Step) -> Sequence[float]:
        if step.gram[0, 1] < 0.0:
            raise KeyError("conflict")
        return [1.0, 0.0]


class Crooked(Plain):
    def direction(self, step: Step) -> torch.Tensor:
        first, second = step.gradients
        return first + 3.0 * second.sign()


def test_the_first_setting_is_the_knob_where_it_changes_anything() -> None:
    assert _tables(Plain, ())[0] is None
    knob, tables = _tables(Ranged, (("bold", "no"),))
    assert knob is not None and (knob.name, knob.slides) == ("share", True)
    assert knob.values == ["0.0", "0.1", "0.5", "0.74", "0.99"] and knob.values[knob.chosen] == "0.1"
    assert [float(table[0, 0, 0]) for table in tables] == pytest.approx([0.0, 0.1, 0.5, 0.74, 0.99])


def test_values_that_a_method_refuses_are_left_out() -> None:
    knob, tables = _tables(Picky, ())
    assert knob is None and len(tables) == 1
    knob, _ = _tables(find_method("ws"), ())
    assert knob is not None and knob.values == ["0.125", "0.25", "0.5", "1.0"], "2 is too much for the convex form"
    knob, _ = _tables(find_method("mgda"), ())
    assert knob is not None and knob.values == ["none", "l2", "loss", "loss+"] and not knob.slides


def test_a_random_method_is_shown_at_its_first_draw() -> None:
    table = weights_table(Random())
    assert table.shape == SHAPE
    assert (table == np.random.default_rng(0).random(2).astype("<f4")).all()


def test_a_method_has_no_answer_where_it_raises() -> None:
    table = weights_table(Conflicted())
    assert np.isnan(table[19:]).all() and (table[:19] == [1.0, 0.0]).all()


def test_a_direction_that_is_no_sum_of_weights_is_shown_as_one() -> None:
    table = weights_table(Crooked())
    for turn, size in [(1, 0), (20, 3), (35, -2)]:
        first, second = gradients_at(turn, size)
        shown = table[turn, REACH + size] @ np.array([first, second])
        np.testing.assert_allclose(shown, first + 3.0 * np.sign(second), rtol=1e-5)
