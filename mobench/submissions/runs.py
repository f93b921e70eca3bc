"""One run as a line of a bundle: what is written, and the strict way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import orjson

from mobench.core.spec import FORMAT, RunSpec
from mobench.store.record import Environment, Outcome, PeakMemory, RunRecord
from mobench.submissions import limits
from mobench.submissions.entry import Entry, is_number, plain_text, settings
from mobench.submissions.text import RefusedError, shown

FIELDS = ("id", "spec", "outcome", "memory", "environment", "started", "finished", "suites")
SPEC = ("format", "problem", "problem_settings", "method", "method_settings", "training", "seed", "sources")
OUTCOME = (
    "status", "metrics", "history", "diagnostics", "timings", "backward_passes", "error", "failed_at_step",
)  # fmt: skip
MEMORY = ("resident_bytes", "resident_before_bytes", "scope", "runs", "device_bytes")
COLUMNS = frozenset(
    {"id", "problem", "method", "method_label", "problem_label", "seed", "status", "configuration", "instance"}
    | {"backward_passes", "peak_memory", "failed_at_step", "error", "contender", "instance_label"}
)
"""Columns of result tables that are no metrics; a metric of that name would replace them."""
PREFIXES = ("diagnostic/", "total/")


def run_as_json(record: RunRecord, environment: int, suites: Sequence[int]) -> dict[str, Any]:
    """Return what a bundle holds of a thinned record; environment and suites are numbers of the manifest's lists."""
    outcome = {name: value for name, value in vars(record.outcome).items() if name in OUTCOME}
    return {
        "id": record.id,
        "spec": orjson.loads(record.spec.canonical),
        "outcome": outcome,
        "memory": None if record.memory is None else asdict(record.memory),
        "environment": environment,
        "started": record.started,
        "finished": record.finished,
        "suites": list(suites),
    }


def read_run(
    place: str, value: object, environments: Sequence[Environment], suites: int
) -> tuple[RunRecord, tuple[int, ...]]:
    """Return the record of a line and the numbers of the suites it belongs to."""
    entry = Entry(place, value, FIELDS)
    times = [
        entry.match(key, limits.TIME, "a time in UTC like 2026-01-31T12:00:00Z") for key in ("started", "finished")
    ]
    members = tuple(entry.array("suites", limits.SUITES))
    if not members or any(type(item) is not int or not 0 <= item < suites for item in members):
        raise entry.refuse("suites", "a list of the manifest's suites")
    if list(members) != sorted(set(members)):
        raise entry.refuse("suites", "a sorted list without repetition")
    record = RunRecord(
        spec=_spec(entry.inside("spec", SPEC)),
        outcome=_outcome(entry.inside("outcome", OUTCOME)),
        memory=None if entry.raw("memory") is None else _memory(entry.inside("memory", MEMORY)),
        environment=environments[entry.integer("environment", high=len(environments) - 1)],
        started=times[0],
        finished=times[1],
    )
    if entry.raw("id") != record.id:
        raise RefusedError(place, f"its id {shown(entry.raw('id'), 14)} is not that of its spec, {record.id[:12]}…")
    return record, members


def _spec(entry: Entry) -> RunSpec:
    entry.integer("format", FORMAT, FORMAT)
    method = entry.raw("method")
    name, _, version = method.partition("@") if isinstance(method, str) else ("", "", "")
    if not limits.METHOD_NAME.fullmatch(name) or not (version.isascii() and version.isdigit() and len(version) < 5):
        raise entry.refuse("method", "a name of small letters, digits and '-' with a version, like my-method@1")
    sources = entry.inside("sources")
    for role, digest in sources.items(limits.SETTING_NAME, "a role"):
        if role != "method" or not isinstance(digest, str) or not limits.DIGEST.fullmatch(digest):
            raise RefusedError(
                sources.place, f"'{role}' is not accepted; it takes the sha256 of the method's file alone"
            )
    return RunSpec(
        problem=entry.match("problem", limits.PROBLEM_ID, "a problem's id like two-wells@1"),
        problem_settings=settings(f"{entry.place}, problem_settings", entry.raw("problem_settings")),
        method=str(method),
        method_settings=settings(f"{entry.place}, method_settings", entry.raw("method_settings")),
        training=settings(f"{entry.place}, training", entry.raw("training")),
        seed=entry.integer("seed"),
        sources=dict(sources.items(limits.SETTING_NAME, "a role")),
    )


def _outcome(entry: Entry) -> Outcome:
    status = entry.raw("status")
    if status not in ("done", "failed"):
        raise entry.refuse("status", "done or failed")
    metrics = entry.inside("metrics").numbers(limits.METRIC_NAME, "a metric's name")
    for name in metrics:
        if name in COLUMNS or name.startswith(PREFIXES) or limits.TIMING_NAME.fullmatch(name):
            raise RefusedError(entry.place, f"a metric may not be called '{name}'")
    error = entry.raw("error")
    if (status == "done") != (error is None):
        raise entry.refuse("error", "null for a finished run and a text for a failed one")
    if status == "done" and not metrics:
        raise entry.refuse("metrics", "those of a finished run")
    failed_at = entry.raw("failed_at_step")
    return Outcome(
        status=status,
        metrics=metrics,
        history=_history(entry.inside("history")),
        diagnostics=_diagnostics(entry.inside("diagnostics")),
        timings=_timings(entry.inside("timings")),
        backward_passes=entry.integer("backward_passes"),
        error=None if error is None else plain_text(f"{entry.place}, error", error),
        failed_at_step=None if failed_at is None else entry.integer("failed_at_step"),
    )


def _timings(entry: Entry) -> dict[str, float]:
    timings = entry.numbers(limits.TIMING_NAME, "a timing's name: it ends in its unit, like latency_ms")
    for name, value in timings.items():
        if value < 0:
            raise entry.refuse(name, "a number from 0")
    if "seconds" not in timings:
        raise RefusedError(entry.place, "seconds is missing")
    return timings


def _diagnostics(entry: Entry) -> dict[str, Mapping[str, float | None]]:
    found: dict[str, Mapping[str, float | None]] = {}
    for name, _ in entry.items(limits.METRIC_NAME, "a diagnostic's name"):
        pair = entry.inside(name, ("mean", "total"))
        values = {key: pair.raw(key) for key in ("mean", "total")}
        if not all(value is None or is_number(value) for value in values.values()):
            raise RefusedError(pair.place, "mean and total are not numbers")
        found[name] = values
    return found


def _history(entry: Entry) -> dict[str, list[Any]]:
    columns = dict(entry.items(limits.METRIC_NAME, "a curve's name"))
    if columns and not {"step"} < set(columns) <= {"step", "gradient_norms", "point"}:
        raise RefusedError(entry.place, "a bundle has the curves step, gradient_norms and point alone")
    lengths = {len(entry.array(name, limits.CURVE_POINTS)) for name in columns}
    if len(lengths) > 1:
        raise RefusedError(entry.place, "its columns differ in length")
    for name, column in columns.items():
        for item in column:
            if name == "step" and not (type(item) is int and item >= 0):
                raise RefusedError(entry.place, "a step is not a whole number from 0")
            if name != "step" and item is not None:
                if not isinstance(item, list) or len(item) > 3:
                    raise RefusedError(entry.place, f"{name} holds something else than lists of at most 3 numbers")
                if not all(value is None or is_number(value) for value in item):
                    raise RefusedError(entry.place, f"{name} holds something else than numbers")
    return columns


def _memory(entry: Entry) -> PeakMemory:
    if entry.raw("scope") not in ("training", "process"):
        raise entry.refuse("scope", "training or process")
    return PeakMemory(
        resident_bytes=entry.integer("resident_bytes"),
        resident_before_bytes=entry.integer("resident_before_bytes"),
        scope=entry.raw("scope"),
        runs=entry.integer("runs", low=1),
        device_bytes=None if entry.raw("device_bytes") is None else entry.integer("device_bytes"),
    )
