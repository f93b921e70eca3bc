"""Signals to real processes: Ctrl-C, SIGTERM and `kill -9` at any instant, and resuming after them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from mobench.running.executor import execute
from mobench.running.interruption import Interruption
from mobench.store.folder import Store
from tests.running import trainers
from tests.running.trainers import spec

FOLDER = Path(__file__).parent
COUNT = 400
PATIENCE = 60.0


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a program in a session of its own, and leave none behind."""
    started: list[subprocess.Popen[str]] = []

    def launch(program: str, *arguments: object) -> subprocess.Popen[str]:
        errors = (tmp_path / "stderr").open("w")
        process = subprocess.Popen(
            [sys.executable, str(FOLDER / program), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        errors.close()
        started.append(process)
        assert answer(process) == "ready\n"
        return process

    yield launch
    for process in started:
        if living(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def say(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.flush()


def answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def living(session: int) -> list[int]:
    """Return the processes of a session that are not merely waiting to be reaped."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (psutil.NoSuchProcess, ProcessLookupError):
            continue
    return found


def stored(store: Store) -> int:
    return len(list((store.root / "runs").glob("*/*.json")))


def trained(store: Store) -> Counter[str]:
    """Return how often each seed was trained."""
    log = store.root.parent / "log"
    return Counter(log.read_text().split()) if log.exists() else Counter()


def go_on(process: subprocess.Popen[str], store: Store) -> None:
    """Let the program run until it has stored three more runs."""
    before = stored(store)
    say(process, "go on\n")
    wait_until(lambda: stored(store) >= before + 3)


def resume(store: Store) -> None:
    """Do what is missing, and check that only that was done."""
    before = trained(store)
    finished = [str(record.spec.seed) for record in store.records()]
    todo = store.pending(trainers.counted(store.root, COUNT))
    assert len(todo) == COUNT - len(finished)
    assert execute([[run] for run in todo], store, jobs=0, train=trainers.train).done == len(todo)
    assert len(list(store.records())) == COUNT
    after = trained(store)
    assert all(after[seed] == before[seed] for seed in finished)


def test_signals_keep_what_is_done_and_kill_9_leaves_whole_records_and_no_worker(
    store: Store, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = start("script.py", store.root, COUNT)
    for number in (signal.SIGINT, signal.SIGTERM):
        go_on(process, store)
        os.killpg(process.pid, number)
        os.killpg(process.pid, number)  # an impatient second time
        assert answer(process) == f"failed=0 interrupted=True signal={int(number)}\n"
        assert all(record.outcome.status == "done" for record in store.records())
        assert stored(store) < COUNT
    assert (tmp_path / "stderr").read_text() == ""
    go_on(process, store)
    process.kill()
    process.wait()
    wait_until(lambda: not living(process.pid))
    resume(store)


def test_a_signal_while_workers_are_being_prepared(
    store: Store, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = start("script.py", store.root, COUNT)
    say(process, "go on\n")
    wait_until(lambda: len(living(process.pid)) > 1)
    os.killpg(process.pid, signal.SIGINT)
    assert answer(process) == "failed=0 interrupted=True signal=2\n"
    assert stored(store) == 0
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait() == 0
    wait_until(lambda: not living(process.pid))
    assert (tmp_path / "stderr").read_text() == ""


def test_in_this_process_a_signal_does_what_it_did_before_and_what_is_done_is_kept(store: Store) -> None:
    """A KeyboardInterrupt, as a debugger's user expects; the program's own handler, where there is one."""
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell lets processes in the background ignore it
    try:
        groups = [[spec(0)], [spec(1, "kill", signal=int(signal.SIGINT))], [spec(2)]]
        with pytest.raises(KeyboardInterrupt):
            execute(groups, store, jobs=0, train=trainers.train)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert [record.spec.seed for record in store.records()] == [0]
    assert execute([[spec(2)], [spec(3)]], store, jobs=0, train=trainers.train).done == 2, "no lease is left"


def test_kill_9_at_random_instants_while_records_are_written(
    store: Store, start: Callable[..., subprocess.Popen[str]]
) -> None:
    chance = random.Random(0)
    for _ in range(6):
        process = start("saver.py", store.root, 2000)
        time.sleep(chance.uniform(0.0, 0.15))
        process.kill()
        process.wait()
        for record in store.records():  # raises for any file that is not a whole record
            assert len(record.outcome.history["losses"]) == 20_000
    assert 0 < stored(store) < 2000


@pytest.fixture
def hearing() -> Iterator[None]:
    """Hear signals that whoever started the tests may have told them to ignore, as `nohup` does."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("hearing")
def test_the_first_signal_asks_the_second_insists_and_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interruption() as interruption:
        signal.raise_signal(signal.SIGTERM)
        assert interruption.signal == signal.SIGTERM and not interruption.insisted
        signal.raise_signal(signal.SIGHUP)
        assert interruption.signal == signal.SIGTERM and interruption.insisted
        with pytest.raises(KeyboardInterrupt), interruption.immediate():
            raise AssertionError("never reached")
    assert signal.getsignal(signal.SIGTERM) == before


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interruption() as interruption:
            signal.raise_signal(signal.SIGINT)
            assert not interruption.requested
    finally:
        signal.signal(signal.SIGINT, before)


def test_without_listening_signals_go_to_whoever_heard_them_before() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        with Interruption(listen=False) as interruption:
            signal.raise_signal(signal.SIGTERM)
            assert heard == [signal.SIGTERM] and not interruption.requested
    finally:
        signal.signal(signal.SIGTERM, before)
