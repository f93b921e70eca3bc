"""One table of runs in, one row per group and metric out: intervals over seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mobench.errors import NonFiniteError, UserError, unknown
from mobench.scoring.indicators.intervals import interval

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("metric", "mean", "sd", "low", "high", "n", "failed")
"""What `summarize` adds to the grouping columns."""

_SHOWN = 5


def summarize(table: pd.DataFrame, by: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    """Return mean, sd and bootstrap interval of `metrics` over the seeds of each group.

    `table` has one row per run, with a column `seed` and, where runs can fail, a column `status` that
    says `done` for those that did not. The result has one row per group and metric, in the order of first
    appearance, with the columns of `by` and then `COLUMNS`.

    - `n` counts the runs behind the numbers, `failed` those of the group that failed. A group whose
      runs all failed is still there, with n = 0 and NaN for every number.
    - With n = 1 the columns sd, low and high are NaN: one seed says nothing about them.
    - A NaN or infinity in a run that did not fail raises `NonFiniteError`.
    - A seed that occurs twice in a group raises `UserError`: the group mixes configurations, and its
      interval would be about nothing. Add the column that tells them apart to `by`.
    """
    import pandas as pd

    _check_columns(table, by, metrics)
    runs = table.reset_index(drop=True)
    for column in by:
        # Settings with one value per objective come as lists, which cannot be grouped.
        runs[column] = runs[column].map(lambda value: tuple(value) if isinstance(value, list) else value)
    done = runs["status"].eq("done") if "status" in runs.columns else pd.Series(True, index=runs.index)
    numbers = _finite_numbers(runs[done], metrics)
    grouped = runs.groupby(list(by), sort=False, dropna=False, observed=True) if by else [((), runs)]
    rows: list[dict[str, Any]] = []
    for key, members in grouped:
        group = dict(zip(by, key, strict=True))
        _check_seeds(members["seed"], group)
        finished = members.index.intersection(numbers.index)
        for metric in metrics:
            found = _columns(numbers.loc[finished, metric].tolist())
            rows.append({**group, "metric": metric, **found, "failed": len(members) - len(finished)})
    return pd.DataFrame(rows, columns=[*by, *COLUMNS])


def _columns(sample: list[float]) -> dict[str, float | int]:
    """Return the interval's columns, with NaN where a table has to say "none"."""
    fields = asdict(interval(sample)) if sample else {"mean": None, "sd": None, "low": None, "high": None, "n": 0}
    return {name: math.nan if value is None else value for name, value in fields.items()}


def _check_columns(table: pd.DataFrame, by: Sequence[str], metrics: Sequence[str]) -> None:
    columns = [str(column) for column in table.columns]
    for kind, names in (("column", ["seed", *by]), ("metric", metrics)):
        for name in names:
            if name not in columns:
                raise unknown(kind, name, columns)
    for name in by:
        if name in ("seed", *COLUMNS):
            raise UserError(f"by={name} is not accepted; by takes columns other than seed, {', '.join(COLUMNS)}")


def _finite_numbers(runs: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Return the metrics as float64, or raise naming the first runs whose value is no finite number."""
    import numpy as np
    import pandas as pd

    numbers = pd.DataFrame(index=runs.index)
    for metric in metrics:
        try:
            numbers[metric] = runs[metric].astype("float64")
        except (TypeError, ValueError) as error:
            raise UserError(f"metric '{metric}' is not accepted; a metric takes numbers: {error}") from None
        bad = runs.index[~np.isfinite(numbers[metric].to_numpy())]
        if len(bad):
            shown = ", ".join(f"{numbers[metric][row]} (row {row}, seed {runs['seed'][row]!s})" for row in bad[:_SHOWN])
            more = f", and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
            raise NonFiniteError(f"metric '{metric}' is not finite in {len(bad)} runs that did not fail: {shown}{more}")
    return numbers


def _check_seeds(seeds: pd.Series[Any], group: Mapping[str, Any]) -> None:
    repeated = seeds[seeds.duplicated()].unique().tolist()
    if repeated:
        where = ", ".join(f"{name}={value}" for name, value in group.items()) or "the table"
        raise UserError(f"{where} holds seeds {repeated} more than once; add what tells these runs apart to 'by'")
