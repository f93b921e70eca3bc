"""`mobench check`: the shared battery on any method or problem, ours or yours."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from mobench.errors import UserError, unknown
from mobench.planning.overrides import parse_overrides, section

if TYPE_CHECKING:
    from mobench.conformance import Finding

KEYS = ("methods", "problems", "plugins")

EXAMPLES = """
examples:
  mobench check methods=pcd
  mobench check methods=mine plugins=mine.py methods.mine.strength=0.5
  mobench check problems=double-well problems.double-well.k=4
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("settings", nargs="+", metavar="key=value", help="methods=A,B problems=P,Q plugins=PATH")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = EXAMPLES


def execute(arguments: argparse.Namespace) -> int:
    """Run the battery: 0 when all required properties hold, 1 otherwise."""
    from mobench import conformance
    from mobench.core import registry

    overrides = parse_overrides(arguments.settings, KEYS)
    if not {"methods", "problems"} & overrides.keys():
        raise UserError("say what to check: methods=NAME or problems=NAME")
    registry.load_plugins(overrides.get("plugins", []))
    findings: dict[str, list[Finding]] = {}
    for name, settings in _subjects(overrides, "methods").items():
        findings[name] = conformance.check_method(registry.find_method(name), settings)
    for name, settings in _subjects(overrides, "problems").items():
        findings[name] = conformance.check_problem(registry.find_problem(name), settings)
    if arguments.json:
        print(json.dumps({name: [asdict(finding) for finding in found] for name, found in findings.items()}, indent=2))
    else:
        _print(findings)
    return 0 if all(conformance.conforms(found) for found in findings.values()) else 1


def _subjects(overrides: dict[str, object], part: str) -> dict[str, dict[str, object]]:
    """Return the named subjects of a part with the settings given for each."""
    names = overrides.get(part, [])
    assert isinstance(names, list)
    subjects: dict[str, dict[str, object]] = {name: {} for name in names}
    for key, value in section(overrides, part).items():
        name, _, setting = key.partition(".")
        if name not in subjects:
            raise unknown(f"entry of {part} to check:", name, subjects)
        subjects[name][setting] = value
    return subjects


def _print(findings: dict[str, list[Finding]]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for name, found in findings.items():
        table = Table(title=name, title_justify="left", title_style="bold", box=None, pad_edge=False, show_header=False)
        for finding in found:
            verdict = {True: "yes", False: "no", None: "–"}[finding.holds]
            mark = ("ok" if finding.holds else "FAILED") if finding.required else verdict
            table.add_row(mark, finding.name, finding.sentence)
        console.print(table)
        failed = sum(finding.failed for finding in found)
        console.print(f"{name}: {f'{failed} required properties do not hold' if failed else 'conforms'}\n")
