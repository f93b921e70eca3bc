"""`mobench check`: the shared battery on any method or problem, ours or yours."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from mobench.cli.command import PLUGINS, Command, names
from mobench.core.settings import Configurable, flag, real
from mobench.errors import UserError, unknown
from mobench.planning.overrides import read_value, section

if TYPE_CHECKING:
    from mobench.conformance import Finding
    from mobench.running.worker_main import Note


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
    time_limit: float = real(
        600.0, low=0.0, low_open=True, meaning="seconds that each of them may take, where plugins are loaded"
    )
    json: bool = flag(False, meaning="print JSON")

    def execute(self) -> int:
        if not self.methods and not self.problems:
            raise UserError("say what to check: methods=NAME or problems=NAME")
        from mobench import conformance
        from mobench.running.guarded_call import call_in_worker
        from mobench.running.planned_work import has_foreign_code, silent

        self.plugins = [str(Path(path).resolve()) for path in self.plugins]
        if has_foreign_code(self.plugins):
            found = call_in_worker("mobench.cli.check:findings_of", self, seconds=self.time_limit)
            findings: dict[str, list[Finding]] = found
        else:
            findings = findings_of(silent, self)
        if self.json:
            print(
                json.dumps({name: [asdict(finding) for finding in found] for name, found in findings.items()}, indent=2)
            )
        else:
            _print(findings)
        return 0 if all(conformance.conforms(found) for found in findings.values()) else 1

    def subjects(
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


def findings_of(note: Note, asked: Check) -> dict[str, list[Finding]]:
    """Run the battery on everything that is asked for, and note whose code runs."""
    from mobench import conformance
    from mobench.core.registry import find_method, find_problem
    from mobench.running.planned_work import load_noting

    load_noting(note, asked.plugins)
    files = f" of plugins={','.join(asked.plugins)}" if asked.plugins else ""
    findings: dict[str, list[Finding]] = {}
    for name, settings in asked.subjects("methods", asked.methods, find_method).items():
        note(f"checking method {name}{files}:")
        findings[name] = conformance.check_method(find_method(name), settings)
    for name, settings in asked.subjects("problems", asked.problems, find_problem).items():
        note(f"checking problem {name}{files}:")
        findings[name] = conformance.check_problem(find_problem(name), settings)
    return findings


def _print(findings: dict[str, list[Finding]]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for name, found in findings.items():
        table = Table(title=name, title_justify="left", title_style="bold", box=None, pad_edge=False, show_header=False)
        for finding in found:
            required = "FAILED" if finding.failed else "ok" if finding.holds else "lacks"
            mark = required if finding.required else finding.answer
            why = f" (by definition: {finding.lacking})" if finding.lacking and not finding.holds else ""
            table.add_row(mark, finding.name, finding.sentence + why)
        console.print(table)
        failed = sum(finding.failed for finding in found)
        console.print(f"{name}: {f'{failed} required properties do not hold' if failed else 'conforms'}\n")
