"""`kill -9` at random instants: a few in the ordinary tests, 200 by `make faults`."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.faults.kills import SUITES, check
from tests.faults.processes import PATIENCE, leftovers, living, marked, mobench, wait_until

HOLDER = """
import ctypes, os, pathlib, subprocess, sys
from mobench import Method, register

@register
class Holder(Method):
    def weights(self, step):
        sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
        subprocess.Popen(sleep, start_new_session=True)
        if os.fork() == 0:  # its parent ends at once: nobody knows it any more
            os.setsid()
            subprocess.Popen(sleep)
            os._exit(0)
        pathlib.Path("held").touch()
        ctypes.PyDLL(None).sleep(600)  # no other thread of this process runs meanwhile
        return [1.0] * step.k
"""
RUN = ("run", "problem=double-well", "seeds=1", "jobs=1", "--quiet")
NOWHERE = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def hold(folder: Path) -> subprocess.Popen[bytes]:
    """Start a run of a method that starts processes and hides them; return when it has."""
    (folder / "holder.py").write_text(HOLDER)
    driver = mobench(*RUN, "methods=holder", "plugins=holder.py", cwd=folder, env=marked(folder), **NOWHERE)
    wait_until(lambda: (folder / "held").exists() or driver.poll() is not None)
    return driver


@pytest.mark.parametrize("signals", [[signal.SIGKILL], [signal.SIGTERM, signal.SIGTERM]])
def test_no_worker_that_is_deaf_and_no_child_of_a_plugin_outlives_its_driver(
    signals: list[signal.Signals], tmp_path: Path
) -> None:
    driver = hold(tmp_path)
    assert len(living(tmp_path)) >= 5
    for number in signals:
        driver.send_signal(number)
    assert driver.wait(timeout=PATIENCE) == (130 if len(signals) > 1 else -signal.SIGKILL)
    wait_until(lambda: not living(tmp_path))
    assert leftovers(tmp_path) == []


def test_the_next_driver_ends_what_a_plugin_hid_from_one_that_was_killed_with_its_server(tmp_path: Path) -> None:
    bystander = tmp_path / "bystander"
    bystander.mkdir()
    try:
        killed, _ = hold(tmp_path), hold(bystander)
        (server,) = (child for child in psutil.Process(killed.pid).children() if child.children())
        server.kill()
        killed.kill()
        assert killed.wait(timeout=PATIENCE) == -signal.SIGKILL
        wait_until(lambda: len(living(tmp_path)) == 2)  # what the plugin started; whoever could have ended it is gone
        others = living(bystander)
        following = mobench(*RUN, "methods=ws", cwd=tmp_path, env=marked(tmp_path), **NOWHERE)
        assert following.wait(timeout=PATIENCE) == 0
        wait_until(lambda: not living(tmp_path), patience=10.0)
        assert leftovers(tmp_path) == []
        assert living(bystander) == others  # its driver lives
    finally:
        for process in (*living(tmp_path), *living(bystander)):
            process.kill()


@pytest.mark.parametrize("suite", SUITES)
def test_killed_again_and_again_a_suite_ends_as_if_undisturbed(suite: str, tmp_path: Path) -> None:
    assert sum(check(tmp_path, suite, kills=3, seed=1).values()) == 3


@pytest.mark.faults
@pytest.mark.parametrize("suite", SUITES)
def test_a_hundred_kills(suite: str, tmp_path: Path) -> None:
    counts = check(tmp_path, suite, kills=100, seed=2)
    print(suite, counts)
    assert sum(counts.values()) == 100 and all(counts.values())
