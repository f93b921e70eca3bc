"""Typed settings: one declaration serves the constructor, overrides, errors, sweeps, tables and help.

A class that derives from `Configurable` declares its settings as fields:

    class MyMethod(Method):
        strength: float = real(0.4, low=0.0, high=1.0, meaning="radius of the trust region")

`MyMethod(strength=2)` and `methods.my-method.strength=2` are then refused with the same sentence. Each setting
is a field of a pydantic model, which validates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, make_dataclass, replace
from functools import cache, cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ByteSize, ConfigDict, Field, Strict, TypeAdapter, ValidationError, WrapValidator
from pydantic.dataclasses import dataclass as validated
from pydantic_core import PydanticCustomError

from mobench.errors import UserError, spelled, unknown

LARGEST = 2**63 - 1
"""Whole numbers stay in 64 bits, which every store and every tensor can hold."""

OF_TRAINING = "training."
"""The prefix of a training setting in a method's configuration, for example of a swept learning rate."""

Kind = Literal["real", "reals", "integer", "choice", "flag", "text", "names", "seeds"]


@dataclass(frozen=True)
class Setting:
    """One typed setting: its default, what it means, and what is accepted."""

    default: Any
    meaning: str
    kind: Kind
    accepted: str
    """In words, which values are accepted."""
    type: Any
    """The pydantic type that checks a value and brings it into its canonical form."""
    choices: tuple[str, ...] = ()
    shown: str = ""
    """What stands for a value in help, e.g. `DIR`."""
    interval: tuple[float, float, bool, bool] | None = None
    """Of a number: its bounds, and whether each of them is excluded."""
    implicit: bool = False
    """Left out of a configuration while at its default: a setting added later, which must not change old runs' ids."""

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.type)

    def parse(self, key: str, value: Any) -> Any:
        """Return `value` in canonical form, or raise `UserError` naming `key` and `value`."""
        try:
            return self._adapter.validate_python(value)
        except ValidationError:
            raise self.refusal(key, value) from None

    def refusal(self, key: str, value: Any) -> UserError:
        """Build the error for a value that is not accepted."""
        if self.choices:
            return unknown(f"value for {key}:", str(value), self.choices)
        return UserError(f"{key}={spelled(value)} is not accepted; {key} takes {self.accepted}")


def in_words(accepted: str) -> WrapValidator:
    """Annotate a type so that it says `accepted`, whatever pydantic finds wrong with a value."""

    def check(value: Any, inner: Callable[[Any], Any]) -> Any:
        try:
            return inner(value)
        except ValueError:
            raise PydanticCustomError("not_accepted", "{accepted}", {"accepted": accepted}) from None

    return WrapValidator(check)


def real(
    default: float | None,
    *,
    meaning: str,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
    infinite: bool = False,
    implicit: bool = False,
) -> Any:
    """Declare a real-valued setting; infinity is accepted where `infinite` says so and the interval allows it."""
    type_, accepted = _interval(low, high, low_open, high_open, infinite)
    interval = low, high, low_open, high_open
    return Setting(default, meaning, "real", accepted, type_, shown="NUMBER", interval=interval, implicit=implicit)


def reals(
    default: float | None,
    *,
    meaning: str,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
    implicit: bool = False,
) -> Any:
    """Declare a setting that is one real number or one per objective; one with the default None may stay open."""
    type_, accepted = _interval(low, high, low_open, high_open, False)
    several = Annotated[tuple[type_, ...], Field(min_length=1)]  # type: ignore[valid-type]
    words, interval = f"{accepted}, or a list of such numbers", (low, high, low_open, high_open)
    setting = Setting(default, meaning, "reals", words, type_ | several, interval=interval, implicit=implicit)
    return optional(setting) if default is None else setting


def optional(setting: Setting) -> Any:
    """Let a setting stay open: it takes `none` too."""
    given: Any = setting.type
    either = Annotated[given | None, BeforeValidator(_none)]
    return replace(setting, type=either, accepted=f"none, {setting.accepted}")


def one_each(key: str, value: float | tuple[float, ...], count: int, of: str) -> tuple[float, ...]:
    """Return the value of a `reals` setting as one number for each of `count` objectives, or refuse its length."""
    if not isinstance(value, tuple):
        return (value,) * count
    if len(value) != count:
        raise UserError(
            f"{key}={list(value)} has {len(value)} values for {count} {of}; "
            f"{key} takes one number for all, or one for each"
        )
    return value


def integer(
    default: int | None, *, meaning: str, low: int | None = None, high: int | None = None, implicit: bool = False
) -> Any:
    """Declare a whole-number setting."""
    bounds = Field(ge=-LARGEST - 1 if low is None else low, le=LARGEST if high is None else high)
    words = [
        "a whole number",
        *([f"from {low}"] if low is not None else []),
        *([f"up to {high}"] if high is not None else []),
    ]
    type_ = Annotated[int, bounds, BeforeValidator(_number)]
    return Setting(default, meaning, "integer", " ".join(words), type_, shown="N", implicit=implicit)


def choice(
    default: str | None,
    choices: Sequence[str],
    *,
    meaning: str,
    implicit: bool = False,
) -> Any:
    """Declare a setting that takes one of `choices`."""
    words = tuple(choices)
    type_ = Annotated[Literal[words], BeforeValidator(_word)]  # type: ignore[valid-type]
    listed = ", ".join(words)
    return Setting(default, meaning, "choice", f"one of {listed}", type_, words, "|".join(words), implicit=implicit)


def flag(default: bool | None, *, meaning: str, implicit: bool = False) -> Any:
    """Declare a yes-or-no setting."""
    type_ = Annotated[bool, Strict(), BeforeValidator(_truth)]
    return Setting(default, meaning, "flag", "true or false", type_, shown="true|false", implicit=implicit)


def text(default: str | None, *, meaning: str, shown: str = "TEXT") -> Any:
    """Declare a free-text setting."""
    return Setting(default, meaning, "text", "a text", Annotated[str, Strict()], shown=shown)


def size(default: int | None, *, meaning: str) -> Any:
    """Declare a number of bytes, written as people do."""
    type_ = Annotated[ByteSize, Field(gt=0)]
    return Setting(default, meaning, "text", "a size such as 500MB or 4GB", type_, shown="4GB")


def _interval(low: float, high: float, low_open: bool, high_open: bool, infinite: bool) -> tuple[Any, str]:
    """Return the type of the real numbers in an interval, and the same in words."""
    limits = {"gt" if low_open else "ge": low, "lt" if high_open else "le": high}
    finite = {name: limit for name, limit in limits.items() if math.isfinite(limit)}
    type_ = Annotated[float, Field(allow_inf_nan=infinite, **finite), BeforeValidator(_number)]
    if not finite:
        return type_, "a number" if infinite else "a finite number"
    left = "(" if low_open or (math.isinf(low) and not infinite) else "["
    right = ")" if high_open or (math.isinf(high) and not infinite) else "]"
    return type_, f"a number in {left}{low:g}, {high:g}{right}"


def _number(value: Any) -> Any:
    """Let pass what Python takes for a number, in text too, except truth values and NaN."""
    try:
        number = value if isinstance(value, int) else float(value)
    except TypeError:
        raise ValueError("no number") from None
    if isinstance(value, bool) or number != number:
        raise ValueError("no number")
    return number


def _word(value: Any) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _none(value: Any) -> Any:
    return None if value == "none" else value


def _truth(value: Any) -> Any:
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value


class Configurable:
    """A class whose instances are described completely by their typed settings."""

    settings: ClassVar[dict[str, Setting]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Setting)}
        bases = [base.settings for base in reversed(cls.__bases__) if issubclass(base, Configurable)]
        cls.settings = {name: setting for part in (*bases, own) for name, setting in part.items()}
        for name, setting in own.items():
            setattr(cls, name, setting.default)

    def __init__(self, **values: Any) -> None:
        vars(self).update(check_settings(type(self), values))

    @classmethod
    def label(cls) -> str:
        """Return the name that error messages put before a setting."""
        return cls.__name__.lower()

    def configuration(self) -> dict[str, Any]:
        """Return the value of every setting, without implicit ones that are at their default."""
        values = {name: getattr(self, name) for name in self.settings}
        return {name: values[name] for name, s in self.settings.items() if not s.implicit or values[name] != s.default}

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.configuration().items())
        return f"{type(self).__name__}({inside})"


@cache
def settings_model(owner: type[Configurable]) -> TypeAdapter[Any]:
    """Return the pydantic model of all settings of a class."""
    fields = [(name, setting.type, Field(default=setting.default)) for name, setting in owner.settings.items()]
    config = ConfigDict(extra="forbid")
    return TypeAdapter(validated(make_dataclass(owner.label() or owner.__name__, fields, kw_only=True), config=config))


def check_settings(owner: type[Configurable], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the canonical value of every setting of a class."""
    for name in given:
        if name not in owner.settings:
            raise unknown(f"setting of {owner.label()}", name, owner.settings)
    try:
        return dict(vars(settings_model(owner).validate_python(dict(given))))  # type: ignore[arg-type]
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise owner.settings[name].refusal(f"{owner.label()}.{name}".lstrip("."), given[name]) from None
