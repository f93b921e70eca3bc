"""On which data configurations were selected, said only where it is so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from mobench.core.metric import Metric
from mobench.core.problem import Problem
from mobench.scoring.select import Criterion

NOTHING = "every method has one configuration, so none is selected"


def how_selected(criteria: Iterable[Criterion], problem: Problem, tried: int) -> str:
    """Say how one of `tried` configurations was chosen on a problem, and what is shown of it, without a full stop.

    The problem declares which data a metric is measured on. A metric that it does not declare is named.
    """
    if tried <= 1:
        return NOTHING
    declared = {metric.name: metric for metric in problem.metrics()}
    chosen: dict[str, None] = {}
    measured = set()
    for criterion in criteria:
        select, value = (
            declared.get(name) or Metric(name, name.replace("_", " ")) for name in (criterion.select, criterion.value)
        )
        measured.add(value.data)
        on = f"on {select.data} data" if select.data else ""
        if select.name == value.name:
            on = f"{on} by the numbers shown, so that a longer sweep has an advantage".strip()
        chosen[on or f"by {select.label}"] = None
    data = next(iter(measured)) if len(measured) == 1 else ""
    words = f"configurations are selected {', or '.join(chosen)}"
    return f"{words}; they are measured on {data} data" if data else words


def selection_words(rows: Iterable[Criterion], frame: pd.DataFrame, problems: Mapping[str, Problem]) -> list[str]:
    """Return the sentences that hold for the rows of `selected_frame`, each once."""
    criteria = list(rows)
    found: dict[str, None] = {}
    for instance, part in frame.groupby("instance", sort=False) if len(frame) else ():
        present = [row for row in criteria if (part["value"] == row.value).any()]
        words = how_selected(present, problems[str(instance)], int(part["tried"].max()))
        found[f"{words[0].upper()}{words[1:]}."] = None
    return list(found)
