"""What is kept of a run: its spec, its outcome, its cost, and where and when it ran."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson

from mobench.core.spec import FORMAT, RunSpec

SCHEMA = 1
"""Raised when the layout of a stored record changes."""

Status = Literal["done", "failed"]


@dataclass(frozen=True)
class Environment:
    """What, besides the spec, a result may depend on."""

    versions: Mapping[str, str | None]
    hardware: Mapping[str, Any]
    code: Mapping[str, Any] | None
    """Git commit of mobench and whether its sources differ from it; None outside of a checkout."""


@dataclass(frozen=True)
class PeakMemory:
    """The highest memory use seen while a group of runs trained."""

    resident_bytes: int
    """Highest resident set of the process."""
    resident_before_bytes: int
    """Resident set when training began: the price of Python and torch alone."""
    scope: Literal["training", "process"]
    """`process`: the system cannot reset its peak, so this one reaches back to the process's start."""
    runs: int
    """How many runs trained in lockstep and share this peak."""
    device_bytes: int | None = None
    """Highest memory allocated on CUDA devices; None where none was used."""


@dataclass(frozen=True)
class Outcome:
    """What training a run gave. A failed run has an error and is never scored."""

    status: Status
    metrics: Mapping[str, float] = field(default_factory=dict)
    history: Mapping[str, list[Any]] = field(default_factory=dict)
    """Sampled curves, columns of equal length; None where a value is missing or not finite."""
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    backward_passes: int = 0
    error: str | None = None
    failed_at_step: int | None = None
    artifact: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """Tensors worth keeping, e.g. trained weights; stored beside the record, not in it."""

    @classmethod
    def failure(cls, error: str, seconds: float) -> Outcome:
        """Return the outcome of a run that gave nothing but an error."""
        return cls("failed", error=error, timings={"seconds": seconds})

    @property
    def reason(self) -> str:
        """The last line of the error: what went wrong, without the way there."""
        lines = (self.error or "").strip().splitlines()
        return lines[-1].strip() if lines else ""


def settled(outcome: Outcome) -> Outcome:
    """Return `outcome` in a form that can be stored as strict JSON.

    A metric that is not a finite number, or a value that JSON cannot hold, makes the run a failed
    one, with a sentence that names it. Non-finite numbers in curves and diagnostics become null.
    """
    bad = {name: value for name, value in outcome.metrics.items() if not _is_finite_number(value)}
    complaints = [f"the metric '{name}' is {value!r}, not a finite number" for name, value in bad.items()]
    metrics = {name: float(value) for name, value in outcome.metrics.items() if name not in bad}
    kept: dict[str, Any] = {}
    for name in ("history", "diagnostics", "timings"):
        try:
            kept[name] = orjson.loads(_dumps(getattr(outcome, name)))
        except TypeError as error:
            complaints.append(f"the {name} of this run cannot be stored as JSON: {error}")
            kept[name] = {}
    stored = replace(outcome, metrics=metrics, artifact={}, **kept)
    if not complaints:
        return stored
    parts = [outcome.error, "Refused: " + "; ".join(complaints)]
    return replace(stored, status="failed", error="\n".join(part for part in parts if part))


@dataclass(frozen=True)
class RunRecord:
    """One run, whole. `started` and `finished` are UTC in ISO 8601."""

    spec: RunSpec
    outcome: Outcome
    memory: PeakMemory | None
    """None when the run's process died before it could be read."""
    environment: Environment
    started: str
    finished: str

    @property
    def id(self) -> str:
        """The id of the run's spec."""
        return self.spec.id

    @property
    def peak_memory(self) -> int | None:
        """Highest resident memory in bytes while the run trained, where it is known."""
        return None if self.memory is None else self.memory.resident_bytes

    def encode(self) -> bytes:
        """Return the record as strict JSON; the outcome has to be `settled`."""
        return _dumps(
            {
                "schema": SCHEMA,
                "id": self.id,
                "spec": orjson.Fragment(self.spec.canonical),
                "outcome": {name: value for name, value in vars(self.outcome).items() if name != "artifact"},
                "memory": self.memory,
                "environment": self.environment,
                "started": self.started,
                "finished": self.finished,
            }
        )

    @classmethod
    def decode(cls, text: bytes) -> RunRecord:
        """Restore a record; raises ValueError, with the reason, for anything but a whole record."""
        data = orjson.loads(text)
        if not isinstance(data, dict) or "schema" not in data:
            raise ValueError("it is JSON, but not a run record")
        if data["schema"] != SCHEMA:
            raise ValueError(f"its schema is {data['schema']}; this mobench reads schema {SCHEMA}")
        try:
            if data["spec"]["format"] != FORMAT:
                raise ValueError(f"its spec has format {data['spec']['format']}; this mobench reads format {FORMAT}")
            record = cls(
                spec=RunSpec.from_json(data["spec"]),
                outcome=Outcome(**data["outcome"]),
                memory=None if data["memory"] is None else PeakMemory(**data["memory"]),
                environment=Environment(**data["environment"]),
                started=data["started"],
                finished=data["finished"],
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"a field is missing or has the wrong type: {error}") from error
        if data["id"] != record.id:
            raise ValueError("its content does not belong to its id: it was altered after the run")
        return record


def _is_finite_number(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False


def _dumps(value: Any) -> bytes:
    return orjson.dumps(value, default=_array_as_list, option=orjson.OPT_SERIALIZE_NUMPY)


def _array_as_list(value: Any) -> Any:
    """Store tensors, and arrays of any layout, as lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} is not a JSON value")
