"""Real drivers on one results folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from mobench.store.folder import Store
from tests.running.driver import runs

COUNT = 30


@pytest.fixture
def drivers(store: Store) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start drivers in sessions of their own; whatever is left of them at the end is killed."""
    started = []

    def start(name: str, jobs: int, lease: float) -> subprocess.Popen[str]:
        command = [sys.executable, str(Path(__file__).with_name("driver.py")), name, str(store.root), str(COUNT)]
        process = subprocess.Popen(
            [*command, str(jobs), str(lease)], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def log(store: Store) -> list[list[str]]:
    path = store.root.parent / "log"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def wait_until(happened: Callable[[], bool], patience: float = 120.0) -> None:
    end = time.monotonic() + patience
    while not happened():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def files(store: Store) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (store.root / "runs").glob("*/*")}


def leftovers(store: Store) -> list[Path]:
    return [path for folder in ("leases", "checkpoints") for path in (store.root / folder).glob("*")]


def test_two_drivers_share_the_work(store: Store, drivers: Callable[..., subprocess.Popen[str]]) -> None:
    both = [drivers("one", 1, 60.0), drivers("two", 0, 60.0)]
    assert [process.communicate(timeout=120)[0] for process in both] == [f"done={COUNT} failed=0\n"] * 2
    trained = Counter(seed for _, seed, word in log(store) if word == "begin")
    assert trained == {str(seed): 1 for seed in range(COUNT)}
    assert len(files(store)) == COUNT and not leftovers(store)


def send_to_all_of(driver: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal to a driver and its workers, which have sessions of their own."""
    process = psutil.Process(driver.pid)
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            each.send_signal(number)


def test_a_driver_stopped_past_its_lease_overwrites_nothing(
    store: Store, drivers: Callable[..., subprocess.Popen[str]]
) -> None:
    stopped = drivers("stopped", 1, 1.5)

    under_way: set[str] = set()

    def is_stopped_in_a_run() -> bool:
        send_to_all_of(stopped, signal.SIGSTOP)
        stored = {str(record.spec.seed) for record in store.records()}
        under_way.update({seed for _, seed, _ in log(store)} - stored)
        if len(stored) < 4 or not under_way:
            under_way.clear()
            send_to_all_of(stopped, signal.SIGCONT)
            return False
        return True

    wait_until(is_stopped_in_a_run)
    other = drivers("other", 0, 1.5)
    assert other.communicate(timeout=120)[0] == f"done={COUNT} failed=0\n"
    whole = files(store)
    assert len(whole) == COUNT
    send_to_all_of(stopped, signal.SIGCONT)
    assert stopped.communicate(timeout=120)[0] == f"done={COUNT} failed=0\n"
    assert files(store) == whole and not leftovers(store)
    trained = Counter(seed for _, seed, word in log(store) if word == "begin")
    assert trained == {str(seed): 2 if str(seed) in under_way else 1 for seed in range(COUNT)}
    assert len(under_way) <= 2
    by = {str(record.spec.seed): record.outcome.error for record in store.records()}
    assert all(by[seed] == "other" for seed in under_way)


def test_a_killed_driver_is_noticed_at_once(store: Store, drivers: Callable[..., subprocess.Popen[str]]) -> None:
    killed = drivers("killed", 0, 3600.0)
    wait_until(lambda: len(log(store)) > 2)
    killed.kill()
    killed.wait()
    other = drivers("other", 0, 3600.0)
    assert other.communicate(timeout=120)[0] == f"done={COUNT} failed=0\n"
    assert {record.spec.id for record in store.records()} == {run.id for run in runs(store.root, COUNT)}
    assert not leftovers(store)
