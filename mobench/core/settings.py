"""Typed settings: one declaration serves the constructor, overrides, errors, sweeps and tables.

A class that derives from `Configurable` declares its settings as fields:

    class MyMethod(Method):
        strength: float = real(0.4, low=0.0, high=1.0, meaning="radius of the trust region")

`MyMethod(strength=2)` and `methods.my-method.strength=2` are then refused with the same sentence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mobench.errors import UserError, unknown


@dataclass(frozen=True)
class Setting:
    """One typed setting: its default, what it means, and what is accepted."""

    default: Any
    meaning: str
    implicit: bool = field(default=False, kw_only=True)
    """Left out of a configuration while at its default: a setting added later, which must not change old runs' ids."""

    @property
    def accepted(self) -> str:
        """Say in words which values are accepted."""
        raise AssertionError(f"{type(self).__name__} does not say what it accepts")

    def convert(self, value: Any) -> Any:
        """Return `value` in canonical form, or raise ValueError."""
        raise AssertionError(f"{type(self).__name__} converts nothing")

    def parse(self, key: str, value: Any) -> Any:
        """Return `value` in canonical form, or raise `UserError` naming `key` and `value`."""
        try:
            return self.convert(value)
        except (ValueError, TypeError):
            raise UserError(f"{key}={_spell(value)} is not accepted; {key} takes {self.accepted}") from None


@dataclass(frozen=True)
class Real(Setting):
    """A finite real number in an interval."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False

    @property
    def accepted(self) -> str:
        if math.isinf(self.low) and math.isinf(self.high):
            return "a finite number"
        left = "(" if self.low_open or math.isinf(self.low) else "["
        right = ")" if self.high_open or math.isinf(self.high) else "]"
        return f"a number in {left}{self.low:g}, {self.high:g}{right}"

    def convert(self, value: Any) -> float:
        if isinstance(value, bool):
            raise ValueError(value)
        number = float(value)
        above = number > self.low if self.low_open else number >= self.low
        below = number < self.high if self.high_open else number <= self.high
        if not (math.isfinite(number) and above and below):
            raise ValueError(value)
        return number


@dataclass(frozen=True)
class Reals(Real):
    """One real number, or one for each of several objectives."""

    @property
    def accepted(self) -> str:
        return f"{super().accepted}, or a list of such numbers"

    def convert(self, value: Any) -> Any:
        if isinstance(value, Sequence) and not isinstance(value, str):
            if not value:
                raise ValueError(value)
            return tuple(Real.convert(self, item) for item in value)
        return Real.convert(self, value)


@dataclass(frozen=True)
class Integer(Setting):
    """A whole number in an interval."""

    low: int | None = None
    high: int | None = None

    @property
    def accepted(self) -> str:
        low = "" if self.low is None else f" from {self.low}"
        high = "" if self.high is None else f" up to {self.high}"
        return f"a whole number{low}{high}"

    def convert(self, value: Any) -> int:
        if isinstance(value, bool):
            raise ValueError(value)
        number = float(value)
        if number != int(number):
            raise ValueError(value)
        whole = int(value) if isinstance(value, int) else int(number)
        if (self.low is not None and whole < self.low) or (self.high is not None and whole > self.high):
            raise ValueError(value)
        return whole


@dataclass(frozen=True)
class Choice(Setting):
    """One of a fixed set of words."""

    choices: tuple[str, ...] = ()

    @property
    def accepted(self) -> str:
        return "one of " + ", ".join(self.choices)

    def convert(self, value: Any) -> str:
        word = "none" if value is None and "none" in self.choices else str(value)
        if word not in self.choices:
            raise ValueError(value)
        return word

    def parse(self, key: str, value: Any) -> Any:
        try:
            return self.convert(value)
        except ValueError:
            raise unknown(f"value for {key}:", str(value), self.choices) from None


@dataclass(frozen=True)
class Flag(Setting):
    """True or false."""

    @property
    def accepted(self) -> str:
        return "true or false"

    def convert(self, value: Any) -> bool:
        words = {"true": True, "false": False}
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in words:
            return words[value.lower()]
        raise ValueError(value)


@dataclass(frozen=True)
class Text(Setting):
    """Any text."""

    @property
    def accepted(self) -> str:
        return "a text"

    def convert(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(value)
        return value


def real(
    default: float,
    *,
    meaning: str,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
    implicit: bool = False,
) -> Any:
    """Declare a real-valued setting."""
    return Real(default, meaning, low, high, low_open, high_open, implicit=implicit)


def reals(
    default: float,
    *,
    meaning: str,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
) -> Any:
    """Declare a setting that is one real number or one per objective."""
    return Reals(default, meaning, low, high, low_open, high_open)


def integer(
    default: int, *, meaning: str, low: int | None = None, high: int | None = None, implicit: bool = False
) -> Any:
    """Declare a whole-number setting."""
    return Integer(default, meaning, low, high, implicit=implicit)


def choice(default: str, choices: Sequence[str], *, meaning: str, implicit: bool = False) -> Any:
    """Declare a setting that takes one of `choices`."""
    return Choice(default, meaning, tuple(choices), implicit=implicit)


def flag(default: bool, *, meaning: str) -> Any:
    """Declare a yes-or-no setting."""
    return Flag(default, meaning)


def text(default: str, *, meaning: str) -> Any:
    """Declare a free-text setting."""
    return Text(default, meaning)


def _spell(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_spell(item) for item in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def check_settings(owner: str, declared: Mapping[str, Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return every declared setting's canonical value; `owner` prefixes the key in errors."""
    for name in given:
        if name not in declared:
            raise unknown(f"setting of {owner}", name, declared)
    return {
        name: setting.parse(f"{owner}.{name}", given[name]) if name in given else setting.default
        for name, setting in declared.items()
    }


class Configurable:
    """A class whose instances are described completely by their typed settings."""

    settings: ClassVar[dict[str, Setting]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Setting)}
        cls.settings = {**cls.settings, **own}
        for name, setting in own.items():
            setattr(cls, name, setting.default)

    def __init__(self, **values: Any) -> None:
        for name, value in check_settings(self.label(), self.settings, values).items():
            setattr(self, name, value)

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
