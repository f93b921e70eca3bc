"""Ctrl-C, SIGTERM, SIGHUP, a closed terminal and a reader that leaves, sent to the real program."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from mobench.store.folder import Store
from tests.faults.processes import PATIENCE, hear_signals, leftovers, living, marked, mobench, wait_until

SUITE = """
title: Long runs
problems: {double-well@1: {k: 3, dimension: 10}}
methods: {mgda: {}, ws: {}}
training: {optimizer: sgd, lr: 0.001, steps: 10_000_000}
metrics: [primary_gradient_norm]
"""
RUN = ("run", "suite=long.yaml", "jobs=1", "checkpoint_seconds=0.05")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "long.yaml").write_text(SUITE)
    yield tmp_path
    for process in living(tmp_path):
        process.kill()


def saved(folder: Path) -> dict[str, int]:
    """Return when each checkpoint was written."""
    found = {}
    for path in (folder / "results" / "checkpoints").glob("*.pt"):
        with suppress(FileNotFoundError):
            found[path.name] = path.stat().st_mtime_ns
    return found


def test_a_signal_saves_the_work_and_says_how_to_go_on(folder: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        earlier = saved(folder)
        process = mobench(*RUN, cwd=folder, env=marked(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        wait_until(lambda earlier=earlier, process=process: saved(folder) != earlier or process.poll() is not None)
        process.send_signal(number)
        said = process.communicate(timeout=PATIENCE)[0].decode()
        assert process.returncode == 130, said
        again = "To go on: mobench run suite=long.yaml jobs=1 checkpoint_seconds=0.05"
        assert again in said and "Traceback" not in said
        assert saved(folder) and list(Store(folder / "results").records()) == []
    wait_until(lambda: not living(folder))
    assert leftovers(folder) == [] and not list((folder / "results").rglob("*.part"))


def on_a_terminal(folder: Path) -> tuple[int, int]:
    """Start the program as a shell would, on a terminal of its own; return its process id and the terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(marked(folder))
        hear_signals()
        os.execv(sys.executable, [sys.executable, "-m", "mobench", *RUN])
    return child, terminal


def test_a_closed_terminal_saves_the_work(folder: Path) -> None:
    child, terminal = on_a_terminal(folder)
    os.set_blocking(terminal, False)

    def training() -> object:
        drain(terminal)
        return saved(folder)

    wait_until(training)
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    wait_until(lambda: not living(folder))
    assert saved(folder) and leftovers(folder) == []


def drain(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except BlockingIOError:
        return b""


def test_ctrl_c_twice_on_a_terminal_stops_at_once(folder: Path) -> None:
    child, terminal = on_a_terminal(folder)
    os.set_blocking(terminal, False)
    seen = bytearray()

    def training() -> object:
        seen.extend(drain(terminal))
        return saved(folder)

    wait_until(training)
    os.write(terminal, b"\x03\x03")

    def ended() -> bool:
        try:
            seen.extend(drain(terminal))
        except OSError:  # the other end is closed
            return True
        return False

    wait_until(ended)
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130
    assert b"To go on: mobench run" in seen and b"Traceback" not in seen
    wait_until(lambda: not living(folder))
    assert leftovers(folder) == []


def test_a_signal_before_the_first_run_leaves_no_traceback(folder: Path) -> None:
    moments = [(signal.SIGINT, 0), (signal.SIGINT, 1), (signal.SIGINT, 3), (signal.SIGTERM, 0), (signal.SIGHUP, 2)]
    for number, moment in moments:
        with (folder / "said").open("wb") as said:
            process = mobench(*RUN, cwd=folder, env=marked(folder), stdout=said, stderr=said)
        wait_until(lambda moment=moment, process=process: has_come_to(process.pid, moment))
        process.send_signal(number)
        code = process.wait(timeout=PATIENCE)
        text = (folder / "said").read_text()
        assert code == 130 and "Traceback" not in text and "rror" not in text, (number, moment, code, text)
        wait_until(lambda: not living(folder))
        assert leftovers(folder) == []


STRUCK = """
import os, signal

def struck(call):
    def then(path, *rest, **options):
        given = call(path, *rest, **options)
        if os.path.dirname(str(path)) == os.environ["TMPDIR"]:
            os.kill(os.getpid(), signal.SIGINT)
        return given
    return then

os.{call} = struck(os.{call})
"""


@pytest.mark.parametrize("call", ["open", "mkdir"])
def test_a_signal_while_the_temporary_folder_is_tried_leaves_nothing_in_it(folder: Path, call: str) -> None:
    """Python's `tempfile` tries the folder with a file; a signal right after it was made kept it from being removed."""
    (folder / "sitecustomize.py").write_text(STRUCK.replace("{call}", call))
    env = {**marked(folder), "PYTHONPATH": str(folder)}
    process = mobench(*RUN, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = process.communicate(timeout=PATIENCE)[0].decode()
    assert (process.returncode, said) == (130, "mobench: interrupted\n")
    wait_until(lambda: not living(folder))
    assert leftovers(folder) == []


def test_a_driver_that_is_stopped_at_once_removes_its_folder_itself(folder: Path) -> None:
    """Its server does so too, but not if it ends while it is still loading."""
    (folder / "sitecustomize.py").write_text(STRUCK.replace("{call}", "mkdir"))
    env = {**marked(folder), "PYTHONPATH": str(folder)}
    process = mobench(*RUN, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert process.wait(timeout=PATIENCE) == 130
    assert leftovers(folder) == []
    wait_until(lambda: not living(folder))


def has_come_to(driver: int, moment: int) -> bool:
    """Say whether a driver has loaded numpy, or has started that many processes: a tracker, a fork server, a worker."""
    try:
        below = psutil.Process(driver).children(recursive=True)
        if moment == 0:
            return "numpy" in Path(f"/proc/{driver}/maps").read_text()
        return len(below) >= moment
    except (psutil.NoSuchProcess, FileNotFoundError):
        raise AssertionError("the program has ended already") from None


def test_a_reader_that_leaves_does_not_end_the_runs(folder: Path) -> None:
    words = (*RUN, "training.steps=200", "seeds=3", "results=read")
    command = " ".join([sys.executable, "-m", "mobench", *words])
    shell = ["bash", "-c", f"set -o pipefail; {command} | head -1; echo code $?"]
    done = subprocess.run(shell, cwd=folder, env=marked(folder), capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.splitlines()[0].startswith("6 runs: 0 stored, 6 to do") and "code 0" in done.stdout, done
    assert len(list(Store(folder / "read").records())) == 6 and "Traceback" not in done.stderr


DROPS = """
import sys, time
import mobench.cli

class Slow:
    def __del__(self):
        print("deleting", flush=True)
        time.sleep(0.3)

def work(given):
    while True:
        Slow()
        time.sleep(0.3)

mobench.cli._run = work
sys.exit(mobench.cli.main())
"""


def test_a_signal_that_comes_while_an_object_is_deleted_is_not_lost() -> None:
    command = [sys.executable, "-c", DROPS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"deleting\n"
        process.send_signal(signal.SIGTERM)
        try:
            said = process.communicate(timeout=PATIENCE)[1].decode()
        finally:
            process.kill()
    assert process.returncode == 130 and said == "mobench: interrupted\n"
