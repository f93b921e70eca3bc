"""`mobench list`: what there is, with every setting's range, default and meaning."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from mobench.cli.command import PLUGINS, Command
from mobench.core.settings import Configurable, choice, flag, text
from mobench.errors import unknown

KINDS = {
    "methods": "methods", "problems": "problems", "suites": "suites", "params": "params",
    "method": "methods", "problem": "problems", "suite": "suites",
}  # fmt: skip
"""What may be listed, in the plural or in the singular."""


class List(Command):
    """List methods, problems or suites, or all parameters as they are typed.

    `mobench list method pcd` shows one of them.
    """

    name = "list"
    loads = "plugins"
    words = ("what", "only")

    what: str = replace(choice(None, tuple(KINDS), meaning="what to list"), shown="methods|problems|suites|params")
    only: str | None = text(None, meaning="only this one", shown="NAME")
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
            _print(what, entries)
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


def _print(kind: str, entries: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    from mobench.core.plain_text import plain

    console = Console(highlight=False)
    for entry in entries:
        if kind == "params":
            line = f"{entry['id']}={entry['default']}  ({entry['accepted']}) {entry['meaning']}"
            console.print(Text(plain(line)), soft_wrap=True)
            continue
        console.print(Text.assemble((entry["id"], "bold"), "  ", plain(entry["summary"])), soft_wrap=False)
        if kind == "suites":
            parts = entry["includes"] or [*entry["problems"], *entry["methods"]]
            console.print(Padding(Text(f"profiles: {', '.join(entry['profiles'])}; {', '.join(parts)}"), (0, 0, 0, 4)))
            continue
        if "verified" in entry:
            console.print(Padding(Text(plain(f"verified: {entry['verified']}")), (0, 0, 0, 4)))
        for name, setting in entry["settings"].items():
            line = f"{name} = {setting['default']}  ({setting['accepted']}) {setting['meaning']}"
            console.print(Padding(Text(plain(line)), (0, 0, 0, 4)))
