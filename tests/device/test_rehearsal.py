"""The rehearsal: a short run of each cell with every metric, on made-up data, of which nothing is kept."""

from __future__ import annotations

import gc
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from mobench.core.registry import find_problem
from mobench.planning.plan import make_plan
from mobench.planning.rehearsal import cell_names, rehearsed
from mobench.planning.suite import load_suite
from mobench.training.loop import Group
from tests.commands import plugins_forgotten
from tests.device.counts import counted
from tests.device.pretended_cuda import PretendedCuda
from tests.device.rehearsal import rehearse
from tests.problems.compression.runs import few_steps, machine, mobench, spec

DIGITS = ("suite=compression", "profile=digits", "quiet=true")
BROKEN = '''
from mobench import Method, register

@register
class Broken(Method):
    """Cannot."""

    def weights(self, step):
        raise ArithmeticError("no such number")
'''


def test_every_cell_of_the_papers_tables_is_one_run_of_one_epoch() -> None:
    plan = rehearsed(make_plan(load_suite("compression", "paper"), {}))
    names = cell_names(plan.specs)
    assert len(set(names)) == len(names) == 4 * 2 * 10
    assert {"cifar-10 resnet-34 pcd", "cifar-100 mobilenet-v2 ws penalty"} <= set(names)
    lengths = {(spec.run_training["epochs"], len({spec.seed for spec in plan.specs})) for spec in plan.specs}
    assert lengths == {(1, 1)}
    with machine(rehearsal=True):
        assert find_problem("compression@2")(dataset="cifar-10").steps_per_epoch() == 2


def test_a_length_of_a_methods_own_is_shortened_too() -> None:
    plan = make_plan(load_suite("toy"), {"methods": ["mgda"], "methods.mgda.training.steps": [50, 60]})
    assert [spec.run_training["steps"] for spec in rehearsed(plan).specs] == [2] * len(rehearsed(plan).specs)


def test_cells_run_on_a_device_and_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with machine():
        assert rehearse([*DIGITS, "methods=pcd", "problems.compression.prox=0.1"]) == 0
    told = capsys.readouterr().out
    assert "A rehearsal of 1 cells on cuda" in told and "ok     pcd" in told
    assert "1 cells in" in told and "all can be run. Nothing was kept." in told
    locks = tmp_path / f"mobench-{os.getuid()}"  # of the machine, by which timings wait for each other
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.parent != locks]


def test_a_cell_that_cannot_be_run_is_named_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text(BROKEN)
    words = (*DIGITS, "rehearsal=true", "jobs=0", "device=cpu", "plugins=broken.py", "methods=broken")
    with plugins_forgotten():
        told = mobench("run", *words, code=1)
    assert "FAILED broken" in told and "ArithmeticError: no such number" in told and "1 cannot" in told


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("results=mine", "results=mine is not accepted with rehearsal=true"),
        ("retry=failed", "retry=failed is not accepted with rehearsal=true"),
        ("executor=slurm", "executor=slurm is not accepted with rehearsal=true"),
    ],
)
def test_what_a_rehearsal_would_ignore_is_refused(word: str, says: str) -> None:
    assert says in mobench("run", *DIGITS, "rehearsal=true", word, code=2)


@pytest.mark.parametrize(("penalty", "more"), [("l1-nuclear", {"prox": 0.1}), ("distillation", {"teacher_epochs": 1})])
def test_a_hundred_steps_leave_no_memory_behind(penalty: str, more: dict[str, Any], device: PretendedCuda) -> None:
    def live(steps: int) -> int:
        group.total = steps
        group.run(None, 1e9)
        gc.collect()
        return len(device.places.live())

    with machine(device="cuda", rehearsal=True):
        group = Group([spec("moco", training=few_steps(100), penalty=penalty, batch_size=4, **more)])
        assert live(3) == live(100)
    assert group.members[0].error is None


def test_launches_and_waits_of_a_step_are_counted() -> None:
    plain, pcd = counted("digits-cnn", "plain"), counted("digits-cnn", "pcd")
    assert plain.launches < pcd.launches < 2 * plain.launches
    assert (plain.waits, pcd.waits) == (2, 2), (plain.sites, pcd.sites)
