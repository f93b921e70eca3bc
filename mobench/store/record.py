"""What is kept of a run: its spec, its outcome, its cost, and where and when it ran."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, get_type_hints

import orjson
from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from mobench.core.outcome import Count, Outcome
from mobench.core.plain_text import readable
from mobench.core.spec import FORMAT, RunSpec, settings_from_json
from mobench.store.validation import complaint, given

SCHEMA = 2
"""Raised when the layout of a stored record changes."""
_SEAL = b',"checksum":"%s"}'
_SEAL_LENGTH = len(_SEAL % bytes(64))


class NewerSchemaError(ValueError):
    """A record of a later mobench: it is whole, but not for us to read."""


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

    resident_bytes: Count
    """Highest resident set of the process."""
    resident_before_bytes: Count
    """Resident set when training began: the price of Python and torch alone."""
    scope: Literal["training", "process"]
    """`process`: the system cannot reset its peak, so this one reaches back to the process's start."""
    runs: Annotated[Count, Field(ge=1)]
    """How many runs trained in lockstep and share this peak."""
    device_bytes: Count | None = None
    """Highest memory allocated on CUDA devices; None where none was used."""


@dataclass(frozen=True)
class SharedProcess:
    """What else the process of a run has done: code in it could have changed the run."""

    beside: tuple[str, ...] = ()
    """The methods of the runs that trained in lockstep with it."""
    before: tuple[str, ...] = ()
    """The methods that the process had trained before."""
    sources: tuple[str, ...] = ()
    """sha256 of the files in it that do not ship with mobench; a shipped method on a shipped problem has none."""


_DECLARED: dict[str, TypeAdapter[Any]] = {
    name: TypeAdapter(hint)
    for name, hint in get_type_hints(Outcome, include_extras=True).items()
    if name in ("history", "diagnostics", "timings")
}


def settled(outcome: Outcome) -> Outcome:
    """Return `outcome` in a form that can be stored as strict JSON.

    A metric that is not a finite number, or a value that a record cannot hold, makes the run a failed
    one, with a sentence that names it. Non-finite numbers in curves, diagnostics and timings become null. What an error
    says is kept `readable`.
    """
    bad = {name: value for name, value in outcome.metrics.items() if not _is_finite_number(value)}
    complaints = [f"the metric '{name}' is {value!r}, not a finite number" for name, value in bad.items()]
    metrics = {name: float(value) for name, value in outcome.metrics.items() if name not in bad}
    kept: dict[str, Any] = {}
    for name, declared in _DECLARED.items():
        try:
            kept[name] = declared.validate_python(orjson.loads(_dumps(getattr(outcome, name))))
        except (TypeError, ValidationError) as error:
            reason = complaint(error) if isinstance(error, ValidationError) else error
            complaints.append(f"the {name} of this run cannot be stored: {reason}")
            kept[name] = {}
    said = None if outcome.error is None else readable(outcome.error)
    stored = replace(outcome, metrics=metrics, artifact={}, error=said, **kept)
    if not complaints:
        return stored
    parts = [said, "Refused: " + readable("; ".join(complaints))]
    return replace(stored, status="failed", error="\n".join(part for part in parts if part))


def _spec_fields(data: Any) -> Any:
    """Return the fields of a stored spec."""
    if not isinstance(data, dict):
        return data
    data = dict(data)
    if (found := data.pop("format", None)) != FORMAT:
        raise ValueError(f"has format {given(found)}; this mobench reads format {FORMAT}")
    if type(seed := data.get("seed", 0)) is not int:
        raise ValueError(f"has seed {given(seed)}, not a whole number")
    return {name: settings_from_json(value) if isinstance(value, dict) else value for name, value in data.items()}


@dataclass(frozen=True)
class RunRecord:
    """One run, whole. `started` and `finished` are UTC in ISO 8601."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    spec: Annotated[RunSpec, BeforeValidator(_spec_fields)]
    outcome: Outcome
    memory: PeakMemory | None
    """None when the run's process died before it could be read."""
    environment: Environment
    started: str
    finished: str
    shared: SharedProcess | None = None
    """None for a run whose process died."""

    @property
    def id(self) -> str:
        """The id of the run's spec."""
        return self.spec.id

    @property
    def peak_memory(self) -> int | None:
        """Highest resident memory in bytes while the run trained, where it is known."""
        return None if self.memory is None else self.memory.resident_bytes

    def encode(self) -> bytes:
        """Return the record as strict JSON with its checksum; the outcome has to be `settled`."""
        return sealed(
            {
                "schema": SCHEMA,
                "id": self.id,
                "spec": orjson.Fragment(self.spec.canonical),
                "outcome": {name: value for name, value in vars(self.outcome).items() if name != "artifact"},
                "memory": self.memory,
                "environment": self.environment,
                "started": self.started,
                "finished": self.finished,
                **({} if self.shared is None else {"shared": self.shared}),
            }
        )

    @classmethod
    def decode(cls, text: bytes) -> RunRecord:
        """Restore a record; raises ValueError, with the reason, for anything but a whole record."""
        data = orjson.loads(text)
        if not isinstance(data, dict) or "schema" not in data:
            raise ValueError("it is JSON, but not a run record")
        schema = data.pop("schema")
        if type(schema) is int and schema > SCHEMA:
            raise NewerSchemaError(f"its schema is {schema}; this mobench reads {SCHEMA}, a newer one wrote it")
        if type(schema) is not int or schema != SCHEMA:
            raise ValueError(f"its schema is {given(schema)}; this mobench reads {SCHEMA}")
        _check_seal(text, data.pop("checksum", None))
        id_ = data.pop("id", None)
        try:
            record = _RECORD.validate_python(data)
            right = id_ == record.id
        except ValidationError as error:
            raise ValueError(complaint(error)) from error
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        if not right:
            raise ValueError("its content does not belong to its id: it was altered after the run")
        return record


_RECORD = TypeAdapter(RunRecord)


def history_of(text: bytes) -> tuple[str, Mapping[str, list[Any]]]:
    """Return the id of a record and what it keeps of the run's steps; ValueError where its checksum does not fit.

    It costs half of `RunRecord.decode`, which must have found the record whole before: nothing else is checked.
    """
    data = orjson.loads(text)
    if not isinstance(data, dict):
        raise ValueError("it is JSON, but not a run record")
    _check_seal(text, data.get("checksum"))
    return data["id"], data["outcome"]["history"]


def sealed(data: Mapping[str, Any]) -> bytes:
    """Return a record's JSON; its last field is the sha256 of the text without that field."""
    text = _dumps(data)
    return text[:-1] + _SEAL % _digest(text)


def _check_seal(text: bytes, checksum: Any) -> None:
    if not isinstance(checksum, str) or text[-_SEAL_LENGTH:] != _SEAL % _digest(text[:-_SEAL_LENGTH] + b"}"):
        raise ValueError("its checksum does not fit its content: it was edited or damaged after the run")


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


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
