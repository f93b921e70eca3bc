"""Sentences about tables: "selected on validation data" only where that is so, and who is first."""

import pytest

from mobench.core.registry import find_problem
from mobench.reporting.notes import how_selected, sentence, verdict
from mobench.scoring.select import Criterion, Indicator
from mobench.scoring.suite_tables import selection_note
from mobench.scoring.tables import Column, Estimate, Row, Table


def words_of(criteria, problem, tried):
    indicators = [Indicator(Column("x", "x"), criterion) for criterion in criteria]
    return how_selected(*selection_note(indicators, problem, tried).values)


ON_VALIDATION = Criterion("accuracy@90", "selection_accuracy@90")
ITSELF = Criterion("accuracy@90", "accuracy@90")


def test_validation_data_is_named_only_where_images_were_held_out():
    held_out, none_held_out = (find_problem("compression")(holdout=share) for share in (True, False))
    words = words_of([ON_VALIDATION], held_out, 4)
    assert words == "configurations are selected on validation data; they are measured on test data"
    assert "validation" not in words_of([ON_VALIDATION], none_held_out, 4)
    assert words_of([ON_VALIDATION], none_held_out, 4).startswith("configurations are selected on test data")


def test_choosing_by_the_number_shown_and_having_no_choice_are_said():
    problem = find_problem("compression")()
    assert "on test data by the numbers shown" in words_of([ITSELF], problem, 4)
    assert words_of([ON_VALIDATION], problem, 1) == "every method has one configuration, so none is selected"
    plain = words_of([Criterion("x", "loss/wells")], find_problem("two-wells")(), 2)
    assert plain == "configurations are selected by wells loss"


def table_of(values, leaders):
    rows = tuple(Row(name, (Estimate(dict(enumerate(by_seed))),)) for name, by_seed in values.items())
    return Table("methods", "t", (Column("aim", "aim", direction="max"),), rows, leaders=leaders).sorted()


def test_the_verdict_names_the_first_and_whoever_stands_above_the_line_without_belonging_there():
    values = {"a": [3.0], "b": [2.0], "c": [1.0], "d": [0.0], "gone": []}
    assert verdict(table_of(values, ("a", "c"))) == (
        "a is first; 1 of 3 others cannot be told from it at equal seeds. "
        "Above the line, b is told from it all the same."
    )
    assert verdict(table_of(values, ("a", "b"))).endswith("equal seeds.")
    assert verdict(table_of(values, ("a",))) == "a is first, and at equal seeds told from all 3 others."
    assert verdict(table_of(values, ())) == "a is first; it takes 3 seeds to tell methods apart."
    assert verdict(table_of({"gone": []}, ())) == "No method finished."


def test_a_note_is_a_sentence():
    note = selection_note([Indicator(Column("x", "x"), ON_VALIDATION)], find_problem("compression")(), 2)
    assert sentence(note).startswith("Configurations are selected on") and sentence(note).endswith(".")


@pytest.mark.parametrize("penalty", ["group-lasso", "l1-nuclear", "quantisation"])
def test_nothing_that_a_problem_declares_speaks_of_validation_where_nothing_was_held_out(penalty):
    for holdout in (True, False):
        problem = find_problem("compression")(holdout=holdout, penalty=penalty)
        said = [volume.meaning for volume in problem.hypervolumes()]
        said += [f"{metric.label} {metric.meaning} {metric.data}" for metric in problem.metrics()]
        assert any("validation" in each for each in said) is holdout
        assert all("not dominated on " + ("validation" if holdout else "test") in each for each in said[:2])
