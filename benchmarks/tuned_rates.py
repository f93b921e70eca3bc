"""Whether a ranking survives tuned learning rates: `python -m benchmarks.tuned_rates SUITE RESULTS`.

Reads what `mobench run suite=SUITE profile=tuned-lr results=RESULTS` stored, and ranks the methods with each rate alone
and with all of them, by the rules of the report. Of all rates a method keeps the best point by validation data where
the suite has them, and the front of its points where it has none. Runs that are missing, e.g. of other seeds, are left
out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from mobench.planning.plan import make_plan
from mobench.planning.suite import Suite, load_suite
from mobench.scoring.results import SuiteResults
from mobench.scoring.standings import standings
from mobench.store.folder import Store
from mobench.store.record import RunRecord
from mobench.store.stored_runs import HeldRuns


def ranks_by_rate(suite: Suite, records: Sequence[RunRecord]) -> pd.DataFrame:
    """Return mean ranks, a row for each contender, best first; a column for each rate, and `tuned` for all together."""

    def ranks(keep: Callable[[RunRecord], bool]) -> pd.Series[float]:
        results = SuiteResults.read(suite, HeldRuns([record for record in records if keep(record)]))
        return standings(results.contests).frame.set_index("contender")["mean_rank"]

    rates = sorted({_rate(record) for record in records})
    alone = {f"{rate:g}": ranks(lambda record, rate=rate: _rate(record) == rate) for rate in rates}  # type: ignore[misc]
    return pd.DataFrame({"tuned": ranks(lambda record: True), **alone}).sort_values("tuned")


def _rate(record: RunRecord) -> float:
    return float(record.spec.method_settings["training.lr"])


def main(name: str, results: Path) -> None:
    """Print the ranks and how far each rate's order agrees with the tuned one."""
    plan = make_plan(load_suite(name, "tuned-lr"), {})
    records = list(Store(results).records(spec.id for spec in plan.specs))
    frame = ranks_by_rate(plan.suite, records)
    print(f"{len(records)} of {len(plan.specs)} runs\n{frame.round(1).to_string()}")
    print("\nSpearman's correlation with the tuned order:")
    print(frame.corr(method="spearman")["tuned"].drop("tuned").round(2).to_string())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
