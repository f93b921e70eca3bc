"""The page of the atlas that ships, its picture, and notes under a suite's table."""

from __future__ import annotations

from pathlib import Path

import pytest

from mobench.core.registry import find_problem
from mobench.errors import UserError
from mobench.reporting.atlas_page import BEGIN, END, atlas_page, draw_atlas, grid, spelled_class
from mobench.reporting.notes import sentence
from mobench.scoring.atlas import one_direction, shipped_atlas
from mobench.scoring.tables import Note
from tests.reporting.frames import run, table

PAGE = Path(__file__).parents[2] / "docs" / "atlas.md"


def test_the_page_says_what_the_data_say() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert atlas_page(shipped_atlas(), text) == text, "make atlas writes the page anew"
    with pytest.raises(UserError, match="lacks the marks"):
        atlas_page(shipped_atlas(), text.replace(END, ""))
    assert BEGIN in atlas_page(shipped_atlas())


def test_a_class_is_written_in_signs() -> None:
    assert spelled_class([["a", "b", "b(x=1)"], ["a(x=1)", "c(x=1)"], ["b(x=2)"]]) == "a = b ∥ c(x=1)"


def test_rows_with_one_letter_have_one_direction() -> None:
    rows = grid(shipped_atlas())
    assert set(shipped_atlas().methods) <= set(rows)
    for place in shipped_atlas().columns[1::2]:
        letters = {label: marks[place.condition].run for label, marks in rows.items() if place.condition in marks}
        for label, letter in letters.items():
            same = {other for other in letters if letter and letters[other] == letter}
            opposite = {one for pair in place.opposite for one in (pair.one, pair.other)}
            assert {place.places[each][0] for each in same - opposite} <= {place.places.get(label, ("",))[0]}
    assert len(draw_atlas(shipped_atlas()).axes[0].patches) > 200


def test_a_suites_table_names_what_cannot_differ() -> None:
    swept = [("fairgrad", {"alpha": alpha}) for alpha in (0.5, 1.0, 2.0)]
    tried = [("nashmtl", {}), ("imtlg", {}), ("pcd", {}), *swept]
    runs = table([run(name, seed, settings=settings) for seed in (0, 1) for name, settings in tried])
    toy, three, four = find_problem("toy")(), *(find_problem("double-well")(k=k) for k in (3, 4))
    ((k, classes),) = one_direction(runs, {"a": toy})
    note = sentence(Note("one-direction", (k, classes)))
    assert note.startswith("On any 2 gradients") and note.endswith(": Nash-MTL ∥ IMTL-G ∥ FairGrad (alpha=1).")
    assert one_direction(runs, {"a": four}) == one_direction(runs[:0], {}) == []
    ((k, ((first, second),)),) = one_direction(runs, {"a": three})
    assert (k, first, second) == (3, ("Nash-MTL",), ("FairGrad (alpha=1)",))
