"""Reports say "selected on validation data" only where that is so."""

import pandas as pd
import pytest

from mobench.core.registry import find_problem
from mobench.scoring.select import Criterion
from mobench.scoring.selection_words import NOTHING, how_selected, selection_words

ON_VALIDATION = Criterion("accuracy@90", "selection_accuracy@90")
ITSELF = Criterion("accuracy@90", "accuracy@90")


def test_validation_data_is_named_only_where_images_were_held_out():
    held_out, none_held_out = (find_problem("compression")(holdout=share) for share in (True, False))
    words = how_selected([ON_VALIDATION], held_out, 4)
    assert words == "configurations are selected on validation data; they are measured on test data"
    assert "validation" not in how_selected([ON_VALIDATION], none_held_out, 4)
    assert how_selected([ON_VALIDATION], none_held_out, 4).startswith("configurations are selected on test data")


def test_choosing_by_the_number_shown_and_having_no_choice_are_said():
    problem = find_problem("compression")()
    assert "on test data by the numbers shown" in how_selected([ITSELF], problem, 4)
    assert how_selected([ON_VALIDATION], problem, 1) == NOTHING
    plain = how_selected([Criterion("x", "loss/wells")], find_problem("two-wells")(), 2)
    assert plain == "configurations are selected by wells loss"


def test_every_sentence_that_holds_for_some_instance_is_said_once():
    known = {"a": find_problem("compression")(holdout=True), "b": find_problem("compression")(holdout=False)}
    frame = pd.DataFrame({"instance": ["a", "a", "b"], "value": ["accuracy@90"] * 3, "tried": [2, 1, 3]})
    sentences = selection_words([ON_VALIDATION], frame, known)
    assert ["on validation data" in each for each in sentences] == [True, False]
    assert all(each.endswith(".") for each in sentences)


@pytest.mark.parametrize("penalty", ["group-lasso", "l1-nuclear", "quantisation"])
def test_nothing_that_a_problem_declares_speaks_of_validation_where_nothing_was_held_out(penalty):
    for holdout in (True, False):
        problem = find_problem("compression")(holdout=holdout, penalty=penalty)
        said = [volume.meaning for volume in problem.hypervolumes()]
        said += [f"{metric.label} {metric.meaning} {metric.data}" for metric in problem.metrics()]
        assert any("validation" in each for each in said) is holdout
        assert all("not dominated on " + ("validation" if holdout else "test") in each for each in said[:2])
