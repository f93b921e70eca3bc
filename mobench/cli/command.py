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
from typing import Any, ClassVar, Literal, Self

from mobench.core.plain_text import plain
from mobench.core.settings import Configurable, Setting, text
from mobench.errors import UserError, spelled, unknown
from mobench.planning.overrides import read_value


def _with_namespace(key: str) -> str | None:
    """Return `torchjd.UPGrad.norm_eps` as `methods.torchjd:UPGrad.norm_eps`, None for other keys."""
    space, _, rest = key.partition(".")
    if "." not in rest:
        return None
    from mobench.core.registry import namespaces

    return f"methods.{space}:{rest}" if space in namespaces() else None


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
    loads: ClassVar[Literal["", "packages", "plugins"]] = ""
    """What of others it loads where it is executed: installed packages, or these and `plugins` (`guarded_command`)."""

    others: Mapping[str, str] = {}
    """The values of keys that are no settings, as they were typed."""
    line: Sequence[str] = ()
    """The line after the command's name."""

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
        keys, typed_line = cls.keys(), tuple(arguments)
        sections = {section.partition(".")[0] for section in cls.sections}
        values: dict[str, Any] = {}
        others: dict[str, str] = {}
        for argument in typed_line:
            key, equals, typed = argument.partition("=")
            if plain(argument) != argument:
                raise UserError(f"{spelled(plain(argument))} has unseen characters")
            if argument.startswith("--"):
                key, typed = cls._flag(argument), "true"
            elif not equals or (cls.words and key not in keys and ("(" in key or Path(argument).is_file())):
                key, typed = cls._word(argument, values), argument
                if cls.settings[key].kind == "names":
                    values.setdefault(key, []).append(typed)
                    continue
            if not typed:
                raise UserError(f"{key}= has no value")
            if key in others or keys.get(key) in values:
                raise UserError(f"{key} is given twice")
            if key in keys:
                values[keys[key]] = _value(key, cls.settings[keys[key]], typed)
            elif cls.more or ("." in key and key.partition(".")[0] in sections):
                others[key] = typed
            elif (longer := _with_namespace(key)) is not None and "methods" in sections:
                others[longer] = typed
            else:
                raise unknown("key", key, [*keys, *cls.sections])
        command = cls(**values)
        command.others = others
        command.line = typed_line
        return command

    @classmethod
    def typed(cls) -> dict[str, Setting]:
        """Return the setting of every key, as it is typed."""
        return {key: cls.settings[name] for key, name in cls.keys().items()}

    @classmethod
    def _word(cls, argument: str, values: Mapping[str, Any]) -> str:
        """Return the key of a word that stands alone."""
        for name in cls.words:
            if name not in values or cls.settings[name].kind == "names":
                return name
        raise UserError(f"'{argument}' is not of the form key=value; keys: {', '.join(sorted(cls.keys()))}")

    @classmethod
    def _flag(cls, argument: str) -> str:
        """Return the key of `--flag`."""
        known = cls.typed()
        flags = [key for key, setting in known.items() if setting.kind == "flag"]
        key = argument[2:].partition("=")[0].replace("-", "_")
        if key in known and (key not in flags or "=" in argument):
            raise UserError(f"{argument} is written {key}={known[key].shown}")
        if key not in flags:
            raise unknown("flag", argument, (f"--{flag.replace('_', '-')}" for flag in flags))
        return key

    def need(self, name: str) -> None:
        """Refuse to go on without a value of this key."""
        if not getattr(self, name):
            setting = self.settings[name]
            typed = setting.shown if name in self.words else f"{name}={setting.shown}"
            raise UserError(f"{typed} is missing: {setting.meaning}")


def _value(key: str, setting: Setting, typed: str) -> Any:
    if setting.kind == "names":
        inside = typed[1:-1] if typed.startswith("[") and typed.endswith("]") else typed
        listed = [name.strip() for name in inside.split(",") if name.strip()]
        if not listed:
            raise UserError(f"{key}={spelled(typed)} names nothing; it takes {setting.accepted}")
        return listed
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
