"""Stored records as one table: a row per run, a column per setting, metric and cost."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mobench.core.plain_text import last_line
from mobench.core.problem import Problem
from mobench.core.registry import methods, problems
from mobench.core.settings import Configurable
from mobench.core.spec import RunSpec, hash_of
from mobench.errors import NonFiniteError
from mobench.scoring.contender import instance_labels
from mobench.store.columns import DIAGNOSTIC, METRIC, TIMING, TOTAL, RunColumns
from mobench.store.record import RunRecord

DONE = "done"


def results_table(given: RunColumns | Iterable[RunRecord], *, by_instance: bool = False) -> pd.DataFrame:
    """Return one row per run, failed runs too, by problem, method, seed and id; `by_instance`: by instance before that.

    Columns: `id`, `problem`, `method`, `seed`, `status`; `problem.<setting>`, `method.<setting>` and
    `training.<setting>`; `configuration` (equal for runs that differ in the seed alone) and `instance`
    (equal for runs of the same problem and training, whatever the method); the metrics
    under their own names; `diagnostic/<name>` (mean over steps) and `total/<name>`; the costs.
    """
    runs = given if isinstance(given, RunColumns) else RunColumns.of(given)
    if not len(runs):
        return pd.DataFrame()
    specs, number = runs.specs
    shared = pd.DataFrame(_configurations(specs))
    order = _order(runs, shared, number, by_instance)
    measured = pd.concat([_measured(runs, order), _costs(runs, order)], axis=1)
    shared = _plain(shared.drop(columns=[name for name in measured if name in shared]))
    identity = {
        "id": runs.table["id"].take(pa.array(order)).to_numpy(),
        "seed": runs.table["seed"].to_numpy()[order],
        "status": _repeated(runs.table["status"], order),
    }
    texts = {name: pd.Series(values, dtype=object) for name, values in identity.items() if values.dtype == object}
    table = shared.take(number[order]).reset_index(drop=True).assign(**identity | texts)
    return pd.concat([table, measured], axis=1)


def diverged_ids(table: pd.DataFrame) -> set[str]:
    """Return the ids of the runs that failed because losses or gradients left the finite numbers."""
    failed = table[table["status"] != DONE]
    said = failed["error"].astype(str).map(last_line)
    return {*failed.loc[said.str.contains(f".{NonFiniteError.__name__}: ", regex=False).astype(bool), "id"]}


def _order(runs: RunColumns, shared: pd.DataFrame, number: NDArray[np.int64], by_instance: bool) -> NDArray[np.int64]:
    """Return the runs in order. Columns are then put in order one by one, as they are read."""
    place = shared.groupby(["problem", "method"], sort=True).ngroup().to_numpy()
    if by_instance:
        places = {instance: first for first, instance in enumerate(instance_labels(shared))}
        place = place + len(shared) * shared["instance"].map(places).to_numpy()
    keys = pa.table({"place": place[number], "seed": runs.table["seed"], "id": runs.table["id"]})
    found: NDArray[np.int64] = pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names]).to_numpy()
    return found


def _measured(runs: RunColumns, order: NDArray[np.int64]) -> pd.DataFrame:
    """Return all measured numbers, in one piece: pandas is slow at many small ones, and joining them takes a copy."""
    columns = {
        **dict(runs.numbers(METRIC)),
        **{f"{DIAGNOSTIC}{name}": values for name, values in runs.numbers(DIAGNOSTIC)},
        **{f"{TOTAL}{name}": values for name, values in runs.numbers(TOTAL)},
        **dict(runs.numbers(TIMING)),
    }
    whole = np.empty((len(columns), len(order)))
    for row, values in zip(whole, columns.values(), strict=True):
        row[:] = values[order]
    return pd.DataFrame(whole.T, columns=list(columns), copy=False)


def _costs(runs: RunColumns, order: NDArray[np.int64]) -> pd.DataFrame:
    counts = ("backward_passes", "peak_memory", "failed_at_step")
    numbers = {name: runs.table[name].to_numpy()[order] for name in counts}
    errors = pd.Series(_repeated(runs.table["error"], order), dtype=object)
    return pd.DataFrame({**numbers, "error": errors})


def _repeated(column: pa.ChunkedArray, order: NDArray[np.int64]) -> NDArray[np.object_]:
    """Return a column of few different texts, each of them one object, which compares fast; NaN where there is none."""
    coded = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
    different = coded.dictionary.to_pylist()
    texts = np.array([math.nan if text is None else sys.intern(text) for text in different], dtype=object)
    found: NDArray[np.object_] = texts[coded.indices.to_numpy()[order]]
    return found


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with Python's texts, its columns in one piece: pandas' own are slow at many small selections."""
    texts = [column for column, kind in table.dtypes.items() if isinstance(kind, pd.StringDtype)]
    return table.astype(dict.fromkeys(texts, object)).copy()


def _configurations(specs: Iterable[RunSpec]) -> list[dict[str, Any]]:
    """Return the columns that all seeds of a configuration share; `id`, `seed` and `status` keep their places."""
    known_methods, known_problems = methods(), problems()
    return [
        {
            "id": None,
            "problem": spec.problem,
            "method": spec.method.partition("@")[0],
            "method_label": _label(spec.method, spec.method_settings, known_methods),
            "problem_label": _label(spec.problem, spec.problem_settings, known_problems),
            "seed": None,
            "status": None,
            "configuration": spec.configuration.id,
            "instance": instance_of(spec),
            **_flat("problem", _implicit(spec.problem, known_problems) | dict(spec.problem_settings)),
            **_flat("method", _implicit(spec.method, known_methods) | dict(spec.method_settings)),
            **_flat("training", spec.training),
        }
        for spec in specs
    ]


def _owner(name: str, known: Mapping[str, type[Configurable]]) -> type[Configurable] | None:
    return known.get(name) or known.get(name.partition("@")[0])


def _implicit(name: str, known: Mapping[str, type[Configurable]]) -> dict[str, Any]:
    """Return the settings that a configuration leaves out while they are at their defaults."""
    owner = _owner(name, known)
    return {key: s.default for key, s in owner.settings.items() if s.implicit} if owner else {}


def instance_of(spec: RunSpec) -> str:
    """Return what runs of one problem and training have in common, whatever their method and seed."""
    return hash_of([spec.problem, spec.problem_settings, spec.training])


def _flat(prefix: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}.{name}": list(value) if isinstance(value, tuple) else value for name, value in settings.items()}


def _label(name: str, settings: Mapping[str, Any], known: Mapping[str, type[Configurable]]) -> str:
    """Return a name with the settings that differ from their defaults."""
    owner = _owner(name, known)
    declared = owner.settings if owner else {}
    changed = [
        f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
        for key, value in settings.items()
        if key not in declared or declared[key].default != value
    ]
    plain = name.partition("@")[0]
    return f"{plain}({', '.join(changed)})" if changed else plain


LACKS = "the record says that the run is done, but lacks "


def without_unscored(table: pd.DataFrame, solved: Mapping[str, Problem]) -> pd.DataFrame:
    """Return the table with runs that say done but lack what scores need counted as failed, and that as their error.

    The engine stores no such record. Code that patches it may, and so may an editor.
    """
    status, error = table["status"].copy(), table["error"].astype(object)
    for instance, runs in table[table["status"] == "done"].groupby("instance", sort=False):
        problem = solved.get(str(instance))
        needed = list(_needed(problem)) if problem else []
        there = np.isfinite(runs.reindex(columns=needed).to_numpy(dtype=np.float64))
        for row in np.flatnonzero(~there.all(axis=1)).tolist():
            lacking = [name for name, found in zip(needed, there[row], strict=True) if not found]
            status[runs.index[row]], error[runs.index[row]] = "failed", LACKS + ", ".join(lacking)
    return table.assign(status=status, error=error)


def runs_table(runs: RunColumns) -> pd.DataFrame:
    """Return `results_table` of runs of whatever suites, with incomplete records counted as failed."""
    table = results_table(runs)
    if not len(table):
        return table
    known = {instance_of(spec): spec for spec in runs.specs[0] if spec.problem in problems()}
    return without_unscored(table, {instance: spec.build_problem() for instance, spec in known.items()})


def _needed(problem: Problem) -> dict[str, None]:
    """Return the metrics that every finished run of a problem has, each once."""
    losses = [f"loss/{name}" for name in problem.objectives()]
    return dict.fromkeys([*losses, *(name for declared in problem.hypervolumes() for name in declared.metrics())])
