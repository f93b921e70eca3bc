"""`kill -9` at random instants: a few in the ordinary tests, 200 by `make faults`."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

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


@pytest.mark.parametrize("signals", [[signal.SIGKILL], [signal.SIGTERM, signal.SIGTERM]])
def test_no_worker_that_is_deaf_and_no_child_of_a_plugin_outlives_its_driver(
    signals: list[signal.Signals], tmp_path: Path
) -> None:
    (tmp_path / "holder.py").write_text(HOLDER)
    words = ("run", "problem=double-well", "methods=holder", "plugins=holder.py", "seeds=1", "jobs=1", "--quiet")
    nowhere = subprocess.DEVNULL
    driver = mobench(*words, cwd=tmp_path, env=marked(tmp_path), stdout=nowhere, stderr=nowhere)
    wait_until(lambda: (tmp_path / "held").exists() or driver.poll() is not None)
    assert len(living(tmp_path)) >= 5
    for number in signals:
        driver.send_signal(number)
    assert driver.wait(timeout=PATIENCE) == (130 if len(signals) > 1 else -signal.SIGKILL)
    wait_until(lambda: not living(tmp_path))
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("suite", SUITES)
def test_killed_again_and_again_a_suite_ends_as_if_undisturbed(suite: str, tmp_path: Path) -> None:
    assert sum(check(tmp_path, suite, kills=3, seed=1).values()) == 3


@pytest.mark.faults
@pytest.mark.parametrize("suite", SUITES)
def test_a_hundred_kills(suite: str, tmp_path: Path) -> None:
    counts = check(tmp_path, suite, kills=100, seed=2)
    print(suite, counts)
    assert sum(counts.values()) == 100 and all(counts.values())
