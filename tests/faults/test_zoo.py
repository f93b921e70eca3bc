"""Thirty and more bad methods in one real run: each fails alone and for its own reason, and nobody else notices."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mobench.store.folder import Store
from mobench.store.record import RunRecord
from tests.faults.processes import leftovers, living, marked, mobench, wait_until
from tests.faults.zoo import DONE, MEMORY_LIMIT, TIME_LIMIT, ZOO

SUITE = """
title: "[/b] A tiny suite"
problems: {double-well@1: {k: 3, dimension: 10}}
methods: {mgda: {}, pcd: {tau: [0.1, 0.5]}, ws: {}, pcgrad: {}}
training: {optimizer: sgd, lr: 0.05, steps: 20}
metrics: [primary_gradient_norm]
"""
LIMITS = (f"time_limit={TIME_LIMIT}", f"memory_limit={MEMORY_LIMIT}")


def results(folder: Path, name: str) -> dict[str, RunRecord]:
    return {record.id: record for record in Store(folder / name).records()}


def said(folder: Path, *arguments: str) -> tuple[int, bytes]:
    """Return the exit code of a command and what it prints; its standard error goes to a file."""
    with (folder / "stderr").open("wb") as errors:
        process = mobench(*arguments, cwd=folder, env=marked(folder), stdout=subprocess.PIPE, stderr=errors)
        out, _ = process.communicate(timeout=300)
    return process.returncode, out


RUN = ("run", "suite=tiny.yaml", "jobs=4")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("zoo")
    (folder / "tiny.yaml").write_text(SUITE)
    code, out = said(folder, *RUN, "results=alone")
    assert code == 0, out
    (folder / "zoo").mkdir()
    for animal in ZOO:
        animal.write(folder / "zoo")
    names = ",".join(f"+bad-{animal.name}" for animal in ZOO)
    code, out = said(folder, *RUN, "results=beside", "plugins=zoo", f"methods={names}", *LIMITS)
    assert code == 1, (out, (folder / "stderr").read_bytes()[-3000:])
    (folder / "stdout").write_bytes(out)
    return folder


def test_every_bad_method_has_its_own_record_with_the_right_reason(folder: Path) -> None:
    found = {record.spec.method: record.outcome for record in results(folder, "beside").values()}
    wrong = {}
    for animal in ZOO:
        outcome = found[f"bad-{animal.name}@1"]
        said = DONE if outcome.status == DONE else outcome.reason
        if (said != DONE) if animal.ends == DONE else (animal.ends not in said):
            wrong[animal.name] = said[:300]
        assert len(outcome.error or "") < 200_000
    assert not wrong


def test_all_other_runs_are_as_if_the_zoo_had_not_been_there(folder: Path) -> None:
    alone, beside = results(folder, "alone"), results(folder, "beside")
    assert len(alone) == 5 and len(beside) == 5 + len(ZOO)
    for id_, record in alone.items():
        other = beside[id_]
        for name in ("status", "metrics", "history", "diagnostics", "backward_passes", "error"):
            assert getattr(other.outcome, name) == getattr(record.outcome, name), (record.spec.method, name)
        assert other.shared is not None and other.shared.sources == ()
        assert not any(name.startswith("bad-") for name in (*other.shared.beside, *other.shared.before))
    for record in beside.values():
        if record.id not in alone and record.shared is not None:
            assert len(record.shared.sources) == 1 and record.shared.before == ()


def test_nothing_is_left_behind(folder: Path) -> None:
    wait_until(lambda: not living(folder))
    assert leftovers(folder) == []
    store = folder / "beside"
    assert [path for name in ("leases", "checkpoints") for path in (store / name).glob("*")] == []
    assert list(store.rglob("*.tmp")) == [] == list(store.rglob("*.part"))


def test_what_they_say_is_shown_as_text(folder: Path) -> None:
    printed = [(folder / "stdout").read_bytes()]
    assert b"[/b]" in printed[0]
    words = " ".join(printed[0].decode().split())
    assert (
        "bad-no-losses: 1 of its runs counts as failed: the record says that the run is done, but lacks loss/" in words
    )
    code, listed = said(folder, "results", "--failed", "results=beside")
    assert code == 0 and b"[nan, nan, nan]" in listed and b"[/b] [nan, nan] [bold red]x[/]" in listed
    printed.append(listed)
    for animal in ("long-message", "lone-surrogate", "markup", "escapes"):
        (id_,) = (r.id for r in results(folder, "beside").values() if r.spec.method == f"bad-{animal}@1")
        code, shown = said(folder, "show", id_, "results=beside")
        assert code == 0
        printed.append(shown)
    for text in printed:
        assert b"Traceback (most recent call last):\n  File" not in text or text in printed[2:]
        assert b"\x1b" not in text and b"\x07" not in text and len(text) < 300_000
