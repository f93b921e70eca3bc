"""What a command is: keys declared once as typed settings, which parsing, error messages and help are made of.

Everything on the line is `key=value`. A flag may be written `--dry-run` or `dry_run=true`, anywhere. Texts are
taken as they stand, with every `=`, space and `@`; lists of names are split at commas.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, ClassVar, Self

from mobench.core.settings import Configurable, Setting, text
from mobench.errors import UserError, unknown
from mobench.planning.overrides import read_value


def names(*, meaning: str, shown: str) -> Any:
    """Declare a key whose value is a list of names."""
    return Setting((), meaning, "names", "names, divided by commas", list[str], shown=shown)


RESULTS: Any = text("results", meaning="where records are stored", shown="DIR")
PLUGINS: Any = names(meaning="Python files or folders with methods and problems of your own", shown="PATH[,PATH]")
SUITES: Any = names(meaning="suites of `mobench list suites`, or YAML files", shown="NAME[,NAME]")


class Command(Configurable, ABC):
    """One command of the program; its docstring says what it does."""

    name: ClassVar[str] = ""
    """As it is typed, e.g. `leaderboard build`."""
    words: ClassVar[tuple[str, ...]] = ()
    """Keys whose values may stand alone, without `key=`, in this order."""
    spelling: ClassVar[Mapping[str, str]] = {}
    """Keys that are typed otherwise than the field is called."""
    sections: ClassVar[Mapping[str, str]] = {}
    """Dotted keys that are not known before the run, e.g. `methods.A.SETTING=V`, and what they mean."""
    more: ClassVar[str] = ""
    """What other keys the command takes; without it they are refused."""
    examples: ClassVar[str] = ""

    others: Mapping[str, str] = {}
    """The values of keys that are no settings, as they were typed."""

    @abstractmethod
    def execute(self) -> int:
        """Do it, and return the exit code."""

    @classmethod
    def label(cls) -> str:
        return ""

    @classmethod
    def keys(cls) -> dict[str, str]:
        """Return every key as it is typed, and the field it fills; the command's own keys come first."""
        ordered = sorted(cls.settings, key=lambda name: name not in cls.__annotations__)
        return {cls.spelling.get(name, name): name for name in ordered}

    @classmethod
    def read(cls, arguments: Iterable[str]) -> Self:
        """Return the command with what the line says."""
        given: dict[str, str] = {}
        alone: list[str] = []
        for argument in arguments:
            key, equals, value = argument.partition("=")
            if argument.startswith("--"):
                key, value = cls._flag(argument), "true"
            elif not equals or (cls.words and Path(argument).is_file()):
                alone.append(argument)
                continue
            if key in given:
                raise UserError(f"{key} is given twice")
            if not value:
                raise UserError(f"{key}= has no value")
            given[key] = value
        values, others, keys = cls._alone(alone), dict[str, str](), cls.keys()
        sections = {section.partition(".")[0] for section in cls.sections}
        for key, value in given.items():
            if key in keys:
                values[keys[key]] = _value(key, cls.settings[keys[key]], value)
            elif cls.more or ("." in key and key.partition(".")[0] in sections):
                others[key] = value
            else:
                raise unknown("key", key, [*keys, *cls.sections])
        command = cls(**values)
        command.others = others
        return command

    @classmethod
    def _flag(cls, argument: str) -> str:
        """Return the key of `--flag`."""
        known = {key: cls.settings[name] for key, name in cls.keys().items()}
        flags = [key for key, setting in known.items() if setting.kind == "flag"]
        key = argument[2:].partition("=")[0].replace("-", "_")
        if key in known and (key not in flags or "=" in argument):
            raise UserError(f"{argument} is written {key}={known[key].shown}")
        if key not in flags:
            raise unknown("flag", argument, (f"--{flag.replace('_', '-')}" for flag in flags))
        return key

    @classmethod
    def _alone(cls, given: Sequence[str]) -> dict[str, Any]:
        """Return the values of words that stand without a key."""
        rest, values = list(given), dict[str, Any]()
        for name in cls.words:
            if cls.settings[name].kind == "names" and rest:
                values[name], rest = rest, []
            elif rest:
                values[name] = rest.pop(0)
        if rest:
            raise UserError(f"'{rest[0]}' is not of the form key=value; keys: {', '.join(sorted(cls.keys()))}")
        return values

    def need(self, *fields: str) -> None:
        """Refuse to go on without a value of these keys."""
        for name in fields:
            if not getattr(self, name):
                setting = self.settings[name]
                typed = setting.shown if name in self.words else f"{name}={setting.shown}"
                raise UserError(f"{typed} is missing: {setting.meaning}")


def _value(key: str, setting: Setting, typed: str) -> Any:
    if setting.kind == "names":
        inside = typed[1:-1] if typed.startswith("[") and typed.endswith("]") else typed
        return [name.strip() for name in inside.split(",") if name.strip()]
    return read_value(key, setting, typed) if setting.kind == "seeds" else typed


@cache
def commands() -> dict[str, type[Command]]:
    """Return every command by name: whatever a module of `mobench.cli` defines."""
    found = {}
    for module in iter_modules(import_module("mobench.cli").__path__):
        for value in vars(import_module(f"mobench.cli.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Command) and value.name:
                found[value.name] = value
    return dict(sorted(found.items()))
