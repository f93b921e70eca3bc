"""`mobench list`: what there is, with every setting's range, default and meaning."""

from __future__ import annotations

import json
from typing import Any

from mobench.cli.command import PLUGINS, Command
from mobench.core.settings import choice, flag


class List(Command):
    """List methods, problems or suites."""

    name = "list"
    words = ("what",)

    what: str = choice(None, ("methods", "problems", "suites"), meaning="what to list")
    plugins: list[str] = PLUGINS
    json: bool = flag(False, meaning="print JSON")

    def execute(self) -> int:
        self.need("what")
        from mobench.core.registry import load_plugins

        load_plugins(self.plugins)
        entries = _suites() if self.what == "suites" else _plugins(self.what)
        if self.json:
            print(json.dumps(entries, indent=2))
        else:
            _print(self.what, entries)
        return 0


def _plugins(kind: str) -> list[dict[str, Any]]:
    from mobench.core import registry

    found = registry.methods() if kind == "methods" else registry.problems()
    return [
        {
            "id": id_,
            "summary": (plugin.__doc__ or "").strip().partition("\n")[0],
            "reference": str(plugin.reference),
            "settings": {
                name: {"default": setting.default, "accepted": setting.accepted, "meaning": setting.meaning}
                for name, setting in plugin.settings.items()
            },
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

    console = Console(highlight=False)
    for entry in entries:
        console.print(Text.assemble((entry["id"], "bold"), "  ", entry["summary"]), soft_wrap=False)
        if kind == "suites":
            parts = entry["includes"] or [*entry["problems"], *entry["methods"]]
            console.print(Padding(Text(f"profiles: {', '.join(entry['profiles'])}; {', '.join(parts)}"), (0, 0, 0, 4)))
            continue
        for name, setting in entry["settings"].items():
            line = f"{name} = {setting['default']}  ({setting['accepted']}) {setting['meaning']}"
            console.print(Padding(Text(line), (0, 0, 0, 4)))
