"""What `--help` prints, made from the declarations of commands."""

from __future__ import annotations

from inspect import cleandoc
from textwrap import fill, wrap

from mobench.cli.command import Command, commands
from mobench.errors import spelled

WIDTH = 79
COLUMN = 25
"""Where meanings begin."""


def overview(prefix: str) -> str:
    """Return a list of the commands whose names begin with `prefix`."""
    found = [(name, command) for name, command in commands().items() if name.startswith(prefix)]
    lines = [_entry(name, cleandoc(kind.__doc__ or "").partition("\n")[0]) for name, kind in found]
    return "\n".join(["usage: mobench COMMAND [key=value …]", "", *lines, "", "mobench COMMAND --help says more."])


def help_of(command: type[Command]) -> str:
    """Return how a command is used."""
    alone = [command.settings[name] for name in command.words]
    words = [f"[{setting.shown}]" if setting.kind == "names" else setting.shown for setting in alone]
    parts = [f"usage: {' '.join(['mobench', command.name, *words, '[key=value …]'])}"]
    parts += [fill(paragraph, WIDTH) for paragraph in cleandoc(command.__doc__ or "").split("\n\n")]
    keys, flags = [], []
    for key, name in command.keys().items():
        setting = command.settings[name]
        if setting.kind == "flag" and name in command.__annotations__:
            flags.append(_entry(f"--{key.replace('_', '-')}", setting.meaning))
        else:
            default = "" if setting.default in (None, "", ()) else f" (default: {spelled(setting.default)})"
            keys.append(
                _entry(setting.shown if setting in alone else f"{key}={setting.shown}", setting.meaning + default)
            )
    keys += [_entry(*section) for section in command.sections.items()]
    parts += ["\n".join([f"{title}:", *lines]) for title, lines in (("keys", keys), ("flags", flags)) if lines]
    parts += [fill(command.more, WIDTH)] if command.more else []
    parts += [f"examples:\n{command.examples.strip(chr(10))}"] if command.examples else []
    return "\n\n".join(parts)


def _entry(typed: str, meaning: str) -> str:
    first, *rest = wrap(meaning, WIDTH - COLUMN)
    start = f"  {typed:<{COLUMN - 2}}" if len(typed) < COLUMN - 2 else f"  {typed}\n{'':{COLUMN}}"
    return "\n".join([start + first, *(f"{'':{COLUMN}}{line}" for line in rest)])
