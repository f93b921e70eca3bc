"""`mobench check`: the shared battery on any method or problem, ours or yours."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from mobench.cli.command import PLUGINS, Command, names
from mobench.core.settings import Configurable, flag
from mobench.errors import UserError, unknown
from mobench.planning.overrides import read_value, section

if TYPE_CHECKING:
    from mobench.conformance import Finding


class Check(Command):
    """Test a method or problem, ours or yours, against the shared battery.

    Exit code: 0 when all required properties hold, 1 otherwise.
    """

    name = "check"
    sections: ClassVar = {
        "methods.A.SETTING=V": "a setting of a method that is checked",
        "problems.P.SETTING=V": "a setting of a problem that is checked",
    }
    examples = """
  mobench check methods=pcd
  mobench check methods=mine plugins=mine.py methods.mine.strength=0.5
  mobench check problems=double-well problems.double-well.k=4
"""

    methods: list[str] = names(meaning="methods to check", shown="A,B")
    problems: list[str] = names(meaning="problems to check", shown="P,Q")
    plugins: list[str] = PLUGINS
    json: bool = flag(False, meaning="print JSON")

    def execute(self) -> int:
        if not self.methods and not self.problems:
            raise UserError("say what to check: methods=NAME or problems=NAME")
        from mobench import conformance
        from mobench.core import registry

        registry.load_plugins(self.plugins)
        findings: dict[str, list[Finding]] = {}
        for name, settings in self._subjects("methods", self.methods, registry.find_method).items():
            findings[name] = conformance.check_method(registry.find_method(name), settings)
        for name, settings in self._subjects("problems", self.problems, registry.find_problem).items():
            findings[name] = conformance.check_problem(registry.find_problem(name), settings)
        if self.json:
            print(
                json.dumps({name: [asdict(finding) for finding in found] for name, found in findings.items()}, indent=2)
            )
        else:
            _print(findings)
        return 0 if all(conformance.conforms(found) for found in findings.values()) else 1

    def _subjects(
        self, part: str, named: list[str], find: Callable[[str], type[Configurable]]
    ) -> dict[str, dict[str, Any]]:
        """Return the named subjects of a part with the settings given for each."""
        subjects: dict[str, dict[str, Any]] = {name: {} for name in named}
        for key, value in section(self.others, part).items():
            name, _, setting = key.partition(".")
            if name not in subjects:
                raise unknown(f"entry of {part} to check:", name, subjects)
            subjects[name][setting] = read_value(f"{part}.{key}", find(name).settings.get(setting), value)
        return subjects


def _print(findings: dict[str, list[Finding]]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for name, found in findings.items():
        table = Table(title=name, title_justify="left", title_style="bold", box=None, pad_edge=False, show_header=False)
        for finding in found:
            verdict = {True: "yes", False: "no", None: "–"}[finding.holds]
            mark = ("FAILED" if finding.failed else "ok" if finding.holds else "lacks") if finding.required else verdict
            why = f" (by definition: {finding.lacking})" if finding.lacking and not finding.holds else ""
            table.add_row(mark, finding.name, finding.sentence + why)
        console.print(table)
        failed = sum(finding.failed for finding in found)
        console.print(f"{name}: {f'{failed} required properties do not hold' if failed else 'conforms'}\n")
