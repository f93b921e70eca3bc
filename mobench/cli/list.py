"""`mobench list`: what there is, a line each, and of one of them every setting with its range, default and meaning."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mobench.cli.command import PLUGINS, Command
from mobench.core.settings import Configurable, choice, flag, text
from mobench.errors import unknown

if TYPE_CHECKING:
    from rich.console import Console

KINDS = {
    "methods": "methods", "problems": "problems", "suites": "suites", "params": "params",
    "method": "methods", "problem": "problems", "suite": "suites",
}  # fmt: skip
"""What may be listed, in the plural or in the singular."""


class List(Command):
    """List methods, problems or suites, or all parameters as they are typed.

    `mobench list method pcd` shows one of them with its settings.
    """

    name = "list"
    loads = "plugins"
    words = ("what", "only")

    what: str = replace(choice(None, tuple(KINDS), meaning="what to list"), shown="methods|problems|suites|params")
    only: str | None = text(None, meaning="only this one, with its settings", shown="NAME")
    plugins: list[str] = PLUGINS
    json: bool = flag(False, meaning="print JSON")

    def execute(self) -> int:
        self.need("what")
        from mobench.core.registry import load_plugins

        load_plugins(self.plugins)
        what = KINDS[self.what]
        entries = _parameters() if what == "params" else _suites() if what == "suites" else _plugins(what)
        if self.only:
            known = {entry["id"]: entry for entry in entries}
            chosen = [entry for id_, entry in known.items() if self.only in (id_, id_.partition("@")[0])]
            if not chosen:
                raise unknown(self.what, self.only, known)
            entries = chosen
        if self.json:
            print(json.dumps(entries, indent=2))
        else:
            _print(what, entries, whole=bool(self.only))
        return 0


def _parameters() -> list[dict[str, Any]]:
    """Return every setting under the key that changes it."""
    from mobench.training.optimizer import Training

    owners = [
        *((f"{kind}.{entry['id']}", entry["settings"]) for kind in ("methods", "problems") for entry in _plugins(kind)),
        ("training", _settings(Training)),
    ]
    return [{"id": f"{owner}.{name}", **about} for owner, settings in owners for name, about in settings.items()]


def _settings(owner: type[Configurable]) -> dict[str, dict[str, Any]]:
    return {
        name: {"default": setting.default, "accepted": setting.accepted, "meaning": setting.meaning}
        for name, setting in owner.settings.items()
    }


def _plugins(kind: str) -> list[dict[str, Any]]:
    from mobench.core import registry
    from mobench.core.method import UNVERIFIED, Method

    found = registry.methods() if kind == "methods" else registry.problems()
    return [
        {
            "id": id_,
            "summary": (plugin.__doc__ or "").strip().partition("\n")[0],
            "reference": str(plugin.reference),
            **({"verified": plugin.verified or UNVERIFIED} if issubclass(plugin, Method) else {}),
            "settings": _settings(plugin),
        }
        for id_, plugin in found.items()
    ]


def _suites() -> list[dict[str, Any]]:
    from mobench.planning.suite import load_suite, profiles_of, suite_files

    loaded = {name: load_suite(name) for name in suite_files()}
    return [
        {
            "id": name,
            "summary": suite.title,
            "about": suite.about,
            "profiles": profiles_of(name),
            "problems": list(suite.problems),
            "methods": list(suite.methods),
            "includes": list(suite.include),
        }
        for name, suite in loaded.items()
    ]


def _print(kind: str, entries: list[dict[str, Any]], *, whole: bool) -> None:
    """Print a line for each entry, or all that there is to say of one."""
    from rich.console import Console
    from rich.text import Text

    from mobench.core.plain_text import plain

    console = Console(highlight=False)
    if kind == "params":
        for entry in entries:
            line = f"{entry['id']}={entry['default']}  ({entry['accepted']}) {entry['meaning']}"
            console.print(Text(plain(line)), soft_wrap=True)
        return
    width = max(len(entry["id"]) for entry in entries)
    for entry in entries:
        heading = Text.assemble((entry["id"].ljust(width), "bold"), "  ", plain(entry["summary"]))
        if whole:
            console.print(heading)
            _print_about(console, kind, entry)
        else:
            console.print(heading, overflow="ellipsis", no_wrap=True)
    if not whole:
        console.print(Text(f"`mobench list {kind[:-1]} NAME` says more of one", style="dim"))


def _print_about(console: Console, kind: str, entry: dict[str, Any]) -> None:
    """Print a suite's question, profiles, problems and methods, or the settings of a method or problem."""
    from rich.padding import Padding
    from rich.text import Text

    from mobench.core.plain_text import plain

    if kind == "suites":
        parts = ("about", "profiles", "includes", "problems", "methods")
        listed = {part: entry[part] if part == "about" else ", ".join(entry[part]) for part in parts}
        lines = [f"{part}: {content}" if part != "about" else content for part, content in listed.items() if content]
    else:
        settings = entry["settings"].items()
        lines = [f"{name} = {of['default']}  ({of['accepted']}) {of['meaning']}" for name, of in settings]
        lines += [entry["reference"]] if entry["reference"] else []
        lines += [f"verification: {entry['verified']}"] if "verified" in entry else []
    for line in lines:
        console.print(Padding(Text(plain(" ".join(line.split()))), (0, 0, 0, 4)))
