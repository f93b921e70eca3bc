"""What a step of each method costs beside one of the weighted sum."""

from types import SimpleNamespace

import pytest

from mobench.leaderboard.site.method_costs import method_costs
from mobench.scoring.tables import Column, Row, Table


def view(name, scores, notes=""):
    """A suite with a row of `scores` (seconds per step, own seconds) for each contender, the method's name first."""
    methods = {contender: contender.partition("(")[0] for contender in scores}
    columns = (Column("seconds_per_step", "ms/step"), Column("method_seconds_per_step", "own µs"))
    headline = Table("methods", "", columns, tuple(Row(contender, both) for contender, both in scores.items()))
    suite = SimpleNamespace(name=name)
    return SimpleNamespace(
        results=SimpleNamespace(suite=suite, profile="standard", headline=headline, methods=methods),
        reference=SimpleNamespace(notes=notes) if notes else None,
    )


def test_costs_are_ratios_to_the_weighted_sum_of_the_same_suite():
    table = method_costs(
        [
            view(
                "one",
                {
                    "ws": (2e-3, 1e-6),
                    "pcd(a)": (4e-3, 3e-6),
                    "pcd(b)": (8e-3, 5e-6),
                    "mgda": (1e-3, 2e-6),
                    "bad": (0.0, 0.0),
                },
            ),
            view("two", {"ws": (1e-3, 3e-6), "mgda": (3e-3, 4e-6)}, "On a busy machine."),
            view("without", {"pcd": (1e-3, 1e-6), "mgda": (9e-3, 1e-6)}),
        ]
    )
    assert table["header"] == ["method", "× ws, median", "own µs/step", "one (standard)", "two (standard)"]
    assert table["notes"][-1] == "two (standard): On a busy machine."
    rows = {row[0].text: [cell.value for cell in row[1:]] for row in table["rows"]}
    assert list(rows) == ["ws", "mgda", "pcd"], "the cheapest first"
    assert [float(value) for value in rows["mgda"]] == pytest.approx([1.75, 3.0, 0.5, 3.0])
    assert float(rows["pcd"][0]) == pytest.approx(3.0) and rows["pcd"][3] == "", "the median of a method's contenders"


def test_without_the_weighted_sum_there_is_no_table():
    assert method_costs([view("one", {"pcd": (1e-3, 1e-6)}), view("two", {"ws": (1e-3, 1e-6)})]) is None
