"""Plugins that misbehave while a suite is planned or checked, and plugins that would change others' numbers."""

from __future__ import annotations

import contextlib
import io
import textwrap
from pathlib import Path

import pytest

from mobench.cli import main
from mobench.core import registry
from mobench.running import guarded_call
from mobench.store.folder import Store

SUITE = """
title: A tiny suite
problems: {double-well@1: {k: 3, dimension: 10}}
methods: {mgda: {}, pcd: {tau: 0.1}}
seeds: [0, 1]
training: {optimizer: sgd, lr: 0.05, steps: 20}
metrics: [primary_gradient_norm]
"""
METHOD = """
from mobench import Method, register
{top}

@register
class Mine(Method):
    {inside}
    def reset(self, k, rng):
        super().reset(k, rng)
        {reset}

    def weights(self, step):
        {weights}
        return [1.0] * step.k
"""


@pytest.fixture(autouse=True)
def forget_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.methods(), registry.problems()
    monkeypatch.setattr(registry, "_found", {kind: dict(getattr(registry, kind)()) for kind in registry.PACKAGES})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tiny.yaml").write_text(SUITE)
    return tmp_path


def mobench(*arguments: str, cwd: Path) -> tuple[int, str]:
    out = io.StringIO()
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        return main(arguments), out.getvalue()


def write(folder: Path, *, name: str = "mine.py", **parts: str) -> None:
    indented = {key: textwrap.indent(text, " " * 8).strip() for key, text in parts.items() if key != "top"}
    whole = {"top": parts.get("top", ""), "inside": "pass", "reset": "pass", "weights": "pass", **indented}
    (folder / name).write_text(METHOD.format(**whole))


RUN = ("run", "suite=tiny.yaml", "plugins=mine.py", "methods=+mine", "results=out", "jobs=2", "--quiet")
CHECK = ("check", "methods=mine", "plugins=mine.py", "time_limit=2")
AT_IMPORT, IN_RESET = "top", "reset"


@pytest.mark.parametrize(
    ("where", "code", "words"),
    [
        (AT_IMPORT, "raise LookupError('no such thing')", "LookupError: no such thing"),
        (AT_IMPORT, "import sys; sys.exit(0)", "SystemExit: 0"),
        (AT_IMPORT, "import os; os._exit(0)", "importing it: the worker process ended with exit code 0"),
        (AT_IMPORT, "import time; time.sleep(600)", "importing it took longer than 2 s"),
        (IN_RESET, "raise LookupError('no such thing')", "mine: its reset raised LookupError: no such thing"),
        (IN_RESET, "import sys; sys.exit(0)", "mine: its reset raised SystemExit: 0"),
        (IN_RESET, "import os; os._exit(3)", "mine: its reset: the worker process ended with exit code 3"),
        (IN_RESET, "import time; time.sleep(600)", "mine: its reset took longer than 2 s"),
        (IN_RESET, "import ctypes; ctypes.string_at(0)", "mine: its reset: the worker process was killed by SIGSEGV"),
    ],
)
@pytest.mark.parametrize("flags", [(), ("--dry-run",)])
def test_planning_survives_a_plugin_and_names_its_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, where: str, code: str, words: str, flags: tuple[str, ...]
) -> None:
    monkeypatch.setattr(guarded_call, "PATIENCE_SECONDS", 2.0)
    write(folder, **{where: code})
    status, said = mobench(*RUN, *flags, cwd=folder)
    assert status == 2 and said.startswith(f"mobench: plugins={folder / 'mine.py'}: ") and words in said, said
    assert said.count("\n") == 1 and not (folder / "out").exists()


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({AT_IMPORT: "import os; os._exit(0)"}, "importing it: the worker process ended with exit code 0"),
        ({IN_RESET: "import os; os._exit(5)"}, "checking method mine of plugins="),
        ({"weights": "import time; time.sleep(600)"}, "took longer than 2 s"),
    ],
)
def test_a_check_survives_a_plugin_and_names_its_file(folder: Path, parts: dict[str, str], words: str) -> None:
    write(folder, **parts)
    status, said = mobench(*CHECK, cwd=folder)
    assert status == 2 and str(folder / "mine.py") in said and words in said, said


def metrics(store: Store) -> dict[str, object]:
    return {record.id: record.outcome.metrics for record in store.records() if record.spec.method != "mine@1"}


PATCHES = {
    "the type of numbers": "import torch\ntorch.set_default_dtype(torch.float16)",
    "threads and denormals": "import torch\ntorch.set_num_threads(2)\ntorch.set_flush_denormal(True)",
    "the engine": (
        "import mobench.training.workload as w\nmeasured = w.VectorWorkload.metrics\n"
        "w.VectorWorkload.metrics = lambda self, member: dict.fromkeys(measured(self, member), 0.0)"
    ),
    "a method": (
        "import mobench.methods.mgda as m\nm.MGDA.weights = lambda self, step: [0.0] * step.k\n"
        "import mobench.methods.pcd as p\np.PCD.weights = lambda self, step: [0.0] * step.k"
    ),
}


def test_no_plugin_changes_the_numbers_of_others(folder: Path) -> None:
    status, said = mobench("run", "suite=tiny.yaml", "results=alone", "jobs=2", "--quiet", cwd=folder)
    assert status == 0, said
    alone = metrics(Store(folder / "alone"))
    assert len(alone) == 4
    for number, code in enumerate(PATCHES.values()):
        in_workers = "import multiprocessing\nif multiprocessing.parent_process():\n" + textwrap.indent(code, "    ")
        write(folder, top=in_workers, weights=code)
        beside = f"results=beside{number}"
        status, said = mobench(*RUN[:-3], beside, "jobs=1", "--quiet", cwd=folder)
        store = Store(folder / f"beside{number}")
        assert metrics(store) == alone, said
        shared = {record.spec.method: record.shared for record in store.records()}
        assert shared["mgda@1"] is not None and shared["mgda@1"].sources == ()
        assert shared["mine@1"] is not None and shared["mine@1"].sources == (registry.file_digest(folder / "mine.py"),)
        assert shared["mine@1"].beside == ("mine@1",)


def test_a_plugin_that_claims_to_be_ours_is_still_foreign(folder: Path) -> None:
    write(folder, inside="__module__ = 'mobench.methods.pcd'")
    registry.load_plugins([folder / "mine.py"])
    mine = registry.find_method("mine")
    assert mine.__module__ == "mobench.methods.pcd"
    assert registry.source_digest(mine) == registry.file_digest(folder / "mine.py")
    assert registry.source_digest(registry.find_method("pcd")) is None
