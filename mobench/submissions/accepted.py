"""What is accepted in a bundle. It is a stranger's file: all is bounded, spelled in one way, and plain to the eye."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from mobench.core.columns import AMONG_METRICS, IDENTITY, MEASURED
from mobench.errors import UserError
from mobench.store.validation import given, shown
from mobench.submissions import limits

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Control characters, bidi overrides and other invisible ones, unassigned code points, line separators."""


class BundleError(UserError):
    """A bundle is refused; the message names the bundle, the place in it and the reason."""


class RefusedError(Exception):
    """Why a place in a bundle is refused; becomes a `BundleError` where the bundle's name is known."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")


def spell(value: Any) -> bytes:
    """Return the one spelling of a JSON value or dataclass: ASCII, sorted keys, no spaces, shortest numbers."""
    return json.dumps(value, default=vars, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def is_plain(text: str, also: str = "") -> bool:
    """Say whether all characters are visible ones or spaces, or among `also`."""
    return all(character in also or unicodedata.category(character) not in _UNSEEN for character in text)


def that(test: Callable[[Any], object], reason: str) -> AfterValidator:
    """Refuse a value that fails a test; the reason continues the field's name, and `{}` is the value."""

    def check(value: Any) -> Any:
        if not test(value):
            raise ValueError(reason.format(given(value)))
        return value

    return AfterValidator(check)


def _form(pattern: str, wanted: str) -> AfterValidator:
    return that(re.compile(pattern).fullmatch, f"is {{}}, not {wanted}")


def distinct(key: Callable[[Any], object], what: str) -> AfterValidator:
    """Refuse a list in which two entries have the same key."""
    return that(lambda parts: len(set(map(key, parts))) == len(parts), f"has a {what} twice")


def _check_text(text: str, length: int = limits.TEXT, also: str = "") -> str:
    if len(text) > length:
        raise ValueError(f"has {len(text)} characters; the limit is {length}")
    if not is_plain(text, also):
        raise ValueError(f"has control or invisible characters: {shown(text)}")
    return text


def text(length: int = limits.TEXT, also: str = "") -> AfterValidator:
    """Accept visible characters, and those in `also`."""
    return AfterValidator(lambda text: _check_text(text, length, also))


def few(most: int = limits.ENTRIES) -> BeforeValidator:
    """Bound a mapping before its entries are looked at."""

    def check(value: Any) -> Any:
        if isinstance(value, dict) and len(value) > most:
            raise ValueError(f"has {len(value)} entries; the limit is {most}")
        return value

    return BeforeValidator(check)


def _is_number(value: object) -> bool:
    limit = limits.WHOLE if isinstance(value, int) else limits.LARGEST
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= limit


def _check_scalar(value: Any, length: int = limits.TEXT) -> Any:
    if isinstance(value, str):
        return _check_text(value, length)
    if value is None or isinstance(value, bool) or _is_number(value):
        return value
    raise ValueError(f"is {given(value)}, not a text, true, false, null or a number within ±{limits.LARGEST:g}")


def _check_setting(value: Any) -> Any:
    if not isinstance(value, list):
        return _check_scalar(value)
    if not 1 <= len(value) <= limits.ENTRIES or not all(map(_is_number, value)):
        raise ValueError(f"is not a list of 1 to {limits.ENTRIES} numbers")
    return tuple(value)


def check_nested(value: Any, depth: int = limits.DEPTH) -> Any:
    """Bound the depth, the texts and the numbers of any JSON value."""
    if not isinstance(value, (dict, list)):
        return _check_scalar(value)
    if depth == 0:
        raise ValueError(f"is nested deeper than {limits.DEPTH} levels")
    for item in (*value, *value.values()) if isinstance(value, dict) else value:
        check_nested(item, depth - 1)
    return value


_NAME = "[A-Za-z][A-Za-z0-9_]{0,63}(?:[/@][A-Za-z0-9_.-]{1,63})?"
_TIMING = "seconds|(?:method_)?seconds_per_step|steps|runs_in_lockstep|[a-z_]{1,40}_(?:ms|seconds)(?:@[a-z0-9.]{1,10})?"
"""A timing has its unit in its name, so that none can pass for a metric, which is checked more strictly."""
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:\+00:00|Z)"
_TAKEN = [*IDENTITY, *(metric.name for metric in MEASURED if metric.name not in AMONG_METRICS)]
_NO_METRIC = re.compile(f"{'|'.join(_TAKEN)}|{_TIMING}|(?:diagnostic|total)/.*")

Digest = Annotated[str, _form("[0-9a-f]{64}", "a sha256")]
MethodName = Annotated[
    str,
    _form(
        r"(?=.{1,32}\Z)[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*",
        "a name of at most 32 small letters, digits and single '-' or '_'",
    ),
]
SuiteName = Annotated[str, _form(r"(?=.{1,64}\Z)[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)*", "the name of a suite or profile")]
_PART = "[A-Za-z_][A-Za-z0-9_]{0,63}"
SettingName = Annotated[str, _form(_PART, "a setting's name")]
DiagnosticName = Annotated[str, _form(_NAME, "a diagnostic's name")]
MetricName = Annotated[
    str,
    _form(_NAME, "a metric's name"),
    that(lambda name: not _NO_METRIC.fullmatch(name), "is {}; a metric may not be called so"),
]
TimingName = Annotated[str, _form(_TIMING, "a timing's name: it ends in its unit, like latency_ms")]
Time = Annotated[str, _form(_TIME, "a time in UTC like 2026-01-31T12:00:00Z")]
Number = Annotated[float, Field(ge=-limits.LARGEST, le=limits.LARGEST)]
HardwareValue = Annotated[Any, AfterValidator(lambda value: _check_scalar(value, 200))]
Setting = Annotated[Any, AfterValidator(_check_setting)]
TunedName = Annotated[str, _form(rf"{_PART}|training\.{_PART}(\.{_PART})?", "a setting's name")]
"""The name of a setting, or of one of the training's that a method or problem has for itself."""
Settings = Annotated[Mapping[TunedName, Setting], few()]
Sweep = Annotated[
    tuple[Settings, ...],
    Field(strict=False, min_length=1, max_length=limits.SWEEP),  # not strict: a list after `few` has seen it
    distinct(spell, "configuration"),
]
MeanAndTotal = Annotated[Mapping[Literal["mean", "total"], Number | None], Field(min_length=2)]
Curve = Annotated[
    list[Annotated[list[Number | None], Field(max_length=limits.OBJECTIVES)] | None],
    Field(max_length=limits.CURVE_POINTS),
]
PathCurve = Annotated[
    list[Annotated[list[Number | None], Field(max_length=3)] | None], Field(max_length=limits.CURVE_POINTS)
]
NumberCurve = Annotated[list[Number | None], Field(max_length=limits.CURVE_POINTS)]
PictureRow = Annotated[list[Number | None], Field(max_length=limits.PICTURE_SIDE)]
PictureCurve = Annotated[
    list[Annotated[list[PictureRow], Field(max_length=limits.PICTURE_SIDE)] | None],
    Field(max_length=limits.CURVE_POINTS),
]
Sources = Annotated[
    Mapping[str, Annotated[str, text(limits.SOURCE, also="\n\r\t")]],
    few(limits.METHODS),
    that(
        lambda sources: all(hashlib.sha256(text.encode()).hexdigest() == digest for digest, text in sources.items()),
        "has a text with another sha256 than the one it stands under",
    ),
]
