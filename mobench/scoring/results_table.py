"""Stored records as one table: a row per run, a column per setting, metric and cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from mobench.core.registry import methods, problems
from mobench.core.settings import Configurable
from mobench.core.spec import RunSpec, hash_of
from mobench.store.record import RunRecord

DONE = "done"


def results_table(records: Iterable[RunRecord]) -> pd.DataFrame:
    """Return one row per run, failed runs too.

    Columns: `id`, `problem`, `method`, `seed`, `status`; `problem.<setting>`, `method.<setting>` and
    `training.<setting>`; `configuration` (equal for runs that differ in the seed alone) and `instance`
    (equal for runs of the same problem and training, whatever the method); the metrics
    under their own names; `diagnostic/<name>` (mean over steps) and `total/<name>`; the costs.
    """
    configurations: dict[str, dict[str, Any]] = {}
    rows = []
    for record in records:
        key = repr({**vars(record.spec), "seed": None, "id": None})
        if key not in configurations:
            configurations[key] = _configuration(record.spec)
        rows.append(_row(record, configurations[key]))
    if not rows:
        return pd.DataFrame()
    table = pd.DataFrame(rows)
    texts = [column for column, kind in table.dtypes.items() if isinstance(kind, pd.StringDtype)]
    # pandas' own strings are slow at many small selections; the copy is in one piece again
    table = table.astype(dict.fromkeys(texts, object)).copy()
    return table.sort_values(["problem", "method", "seed", "id"], ignore_index=True)


def _configuration(spec: RunSpec) -> dict[str, Any]:
    """Return the columns that all seeds of a configuration share; `id`, `seed` and `status` keep their places."""
    return {
        "id": None,
        "problem": spec.problem,
        "method": spec.method.partition("@")[0],
        "method_label": _label(spec.method, spec.method_settings, methods()),
        "problem_label": _label(spec.problem, spec.problem_settings, problems()),
        "seed": None,
        "status": None,
        "configuration": spec.configuration.id,
        "instance": instance_of(spec),
        **_flat("problem", spec.problem_settings),
        **_flat("method", spec.method_settings),
        **_flat("training", spec.training),
    }


def _row(record: RunRecord, configuration: Mapping[str, Any]) -> dict[str, Any]:
    outcome = record.outcome
    return {
        **configuration,
        "id": record.id,
        "seed": record.spec.seed,
        "status": outcome.status,
        **outcome.metrics,
        **{f"diagnostic/{name}": value["mean"] for name, value in outcome.diagnostics.items()},
        **{f"total/{name}": value["total"] for name, value in outcome.diagnostics.items()},
        **outcome.timings,
        "backward_passes": outcome.backward_passes,
        "peak_memory": record.peak_memory,
        "failed_at_step": outcome.failed_at_step,
        "error": outcome.error,
    }


def instance_of(spec: RunSpec) -> str:
    """Return what runs of one problem and training have in common, whatever their method and seed."""
    return hash_of([spec.problem, spec.problem_settings, spec.training])


def _flat(prefix: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}.{name}": list(value) if isinstance(value, tuple) else value for name, value in settings.items()}


def _label(name: str, settings: Mapping[str, Any], known: Mapping[str, type[Configurable]]) -> str:
    """Return a name with the settings that differ from their defaults."""
    owner = known.get(name) or known.get(name.partition("@")[0])
    declared = owner.settings if owner else {}
    changed = [
        f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
        for key, value in settings.items()
        if key not in declared or declared[key].default != value
    ]
    plain = name.partition("@")[0]
    return f"{plain}({', '.join(changed)})" if changed else plain
