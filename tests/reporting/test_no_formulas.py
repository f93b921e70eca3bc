"""CSV files of commands: a spreadsheet finds no formula in them, whatever a plugin is called."""

from __future__ import annotations

import contextlib
import csv
import io
from pathlib import Path

import pytest

from mobench.cli import main
from mobench.core import registry
from mobench.reporting.csv import FORMULA

SUITE = """
title: "=1+1"
problems: {double-well@1: {k: 3, dimension: 10}}
methods: {"=1+1": {}, "-x": {}, ws: {}}
training: {optimizer: sgd, lr: 0.01, steps: 3}
metrics: [primary_gradient_norm]
"""
METHOD = """
@register
class Named{number}(Method):
    name = {name!r}

    def weights(self, step):
        step.note(**{{"-curve": 1.0}})
        return [1.0] * step.k
"""


def cells(text: str) -> list[str]:
    return [cell for row in csv.reader(io.StringIO(text)) for cell in row]


def formulas(text: str) -> list[str]:
    """Return the cells that a spreadsheet would compute."""
    return [cell for cell in cells(text) if cell.startswith(FORMULA) and not _is_number(cell)]


def _is_number(cell: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool(str(float(cell)))
    return False


def test_no_cell_is_a_formula(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    registry.methods(), registry.problems()
    monkeypatch.setattr(registry, "_found", {kind: dict(getattr(registry, kind)()) for kind in registry.PACKAGES})
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(SUITE)
    methods = "".join(METHOD.format(number=number, name=name) for number, name in enumerate(("=1+1", "-x")))
    Path("mine.py").write_text(f"from mobench import Method, register\n{methods}")
    assert main(["run", "suite=mine.yaml", "plugins=mine.py", "jobs=0", "--quiet"]) == 0
    assert main(["report", "suite=mine.yaml", "plugins=mine.py", "out=report"]) == 0
    written = [file.read_text() for file in Path("report").glob("*.csv")]
    for words in (
        ["results", "format=csv"],
        ["results", "view=scores", "format=csv"],
        ["compare", "first==1+1", "second=ws", "format=csv"],
    ):
        capsys.readouterr()
        assert main([*words, "plugins=mine.py"]) == 0
        written.append(capsys.readouterr().out)
    assert len(written) > 3 and sum("'=1+1" in cells(text) for text in written) > 3
    assert [formulas(text) for text in written] == [[]] * len(written)
