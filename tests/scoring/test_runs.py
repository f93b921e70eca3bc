from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
from pandas.testing import assert_frame_equal

from mobench.core.columns import IDENTITY, MEASURED
from mobench.core.outcome import Outcome
from mobench.core.registry import methods, problems
from mobench.core.spec import RunSpec, hash_of
from mobench.scoring.contender import with_contenders
from mobench.scoring.runs import results_table
from mobench.store.record import PeakMemory, RunRecord
from tests.running.records import make_record

TRAINING = {"lr": 0.1, "steps": 10, "schedule": "constant"}
DONE = Outcome(
    "done",
    metrics={"loss/wells": 0.5, "accuracy@90": 91.0},
    history={"step": [0, 1], "losses": [[1.0], [0.5]]},
    diagnostics={"active": {"mean": 0.5, "total": 5.0}, "norm": {"mean": None, "total": None}},
    timings={"seconds": 0.1, "latency_ms": None},
    backward_passes=10,
)
FAILED = Outcome("failed", error="Traceback\nValueError: no", failed_at_step=3, timings={"seconds": 0.2})


def some_records() -> list[RunRecord]:
    """Return runs whose configurations are easily mixed up: 1, 1.0 and True, sources, tuples, failed runs."""
    settings: list[tuple[str, str, dict[str, Any], dict[str, str]]] = [
        ("double-well@1", "pcd@1", {"tau": 0.3, "epsilon_form": "relative"}, {}),
        ("double-well@1", "pcd@1", {"tau": 1}, {}),
        ("double-well@1", "pcd@1", {"tau": 1.0}, {}),
        ("double-well@1", "pcd@1", {"tau": True}, {}),
        ("double-well@2", "ws@1", {"weights": (0.5, 0.25)}, {}),
        ("two-wells@1", "mine@3", {"tau": 1.0}, {"method": "a" * 64}),
        ("two-wells@1", "mine@3", {"tau": 1.0}, {"method": "b" * 64}),
    ]
    found = []
    for number, (problem, method, knobs, sources) in enumerate(settings):
        for seed in (0, 3):
            spec = RunSpec(problem, {"start": "outer", "k": 2}, method, knobs, TRAINING, seed, sources)
            record = make_record(spec, FAILED if (number + seed) % 4 == 0 else DONE)
            found.append(replace(record, memory=PeakMemory(5 + seed, 4, "training", 1) if number % 2 else None))
    return found


def flat(prefix: str, settings: Any) -> dict[str, Any]:
    return {f"{prefix}.{name}": list(value) if isinstance(value, tuple) else value for name, value in settings.items()}


def label(id_: str, settings: Any, kind: Any) -> str:
    declared = kind.settings if kind else {}
    changed = [
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in settings.items()
        if name not in declared or declared[name].default != value
    ]
    name = id_.partition("@")[0]
    return f"{name}({', '.join(changed)})" if changed else name


def left_out(id_: str) -> dict[str, Any]:
    """Return the settings that came later and are not stored while at their defaults."""
    kind = methods().get(id_.partition("@")[0])
    return {name: setting.default for name, setting in kind.settings.items() if setting.implicit} if kind else {}


def row(record: RunRecord) -> dict[str, Any]:
    """Describe one run by itself, nothing shared with others."""
    spec, outcome = record.spec, record.outcome
    return {
        "id": spec.id,
        "problem": spec.problem,
        "method": spec.method.partition("@")[0],
        "method_label": label(spec.method, spec.method_settings, methods().get(spec.method.partition("@")[0])),
        "problem_label": label(spec.problem, spec.problem_settings, problems().get(spec.problem)),
        "seed": spec.seed,
        "status": outcome.status,
        "configuration": replace(spec, seed=-1).id,
        "instance": hash_of([spec.problem, spec.problem_settings, spec.training]),
        **flat("problem", spec.problem_settings),
        **flat("method", {**left_out(spec.method), **spec.method_settings}),
        **flat("training", spec.training),
        **outcome.metrics,
        **{f"diagnostic/{name}": values["mean"] for name, values in outcome.diagnostics.items()},
        **{f"total/{name}": values["total"] for name, values in outcome.diagnostics.items()},
        **outcome.timings,
        "backward_passes": outcome.backward_passes,
        "peak_memory": None if record.memory is None else record.memory.resident_bytes,
        "failed_at_step": outcome.failed_at_step,
        "error": outcome.error,
    }


def test_the_table_is_that_of_the_runs_one_by_one() -> None:
    records = [RunRecord.decode(record.encode()) for record in some_records()]
    expected = pd.DataFrame([row(record) for record in records])
    nothing = [name for name in expected if name != "error" and expected[name].isna().all()]
    expected = expected.astype(dict.fromkeys([*nothing, "failed_at_step"], float))
    texts = [name for name, kind in expected.dtypes.items() if isinstance(kind, pd.StringDtype)]
    expected = expected.astype(dict.fromkeys(texts, object))
    expected = expected.sort_values(["problem", "method", "seed", "id"], ignore_index=True)
    found = results_table(iter(records))
    assert_frame_equal(found, expected, check_like=True)
    assert results_table([]).empty


def test_every_column_that_is_no_setting_is_declared() -> None:
    spec = RunSpec("two-wells@1", {"start": "outer"}, "pcd@1", {"tau": 0.3}, TRAINING, 0, {})
    table = with_contenders(results_table([make_record(spec, Outcome("done"))]), ())
    settings = {name for name in table if name.startswith(("problem.", "method.", "training."))}
    assert set(table) - settings <= {*IDENTITY, *(metric.name for metric in MEASURED)}
