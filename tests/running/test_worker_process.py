"""Worker processes whose fork server is killed, and those that are stopped before they have begun."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from mobench.running import fork_server
from mobench.running.death import Death
from mobench.running.environment import environment
from mobench.running.executors.base import Setup
from mobench.running.executors.local import Slot, poll_slots
from mobench.running.job import Halted, Job
from mobench.running.machine import CPU
from mobench.running.worker_process import WorkerProcess
from tests.commands import run_here
from tests.faults.processes import leftovers, living, marked, wait_until
from tests.running import trainers


def test_a_killed_fork_server_is_replaced_and_no_fault_of_its_workers() -> None:
    workers = [WorkerProcess({}), WorkerProcess({})]
    try:
        wait_until(lambda: [worker.poll() for worker in workers] and all(worker.doing == "ready" for worker in workers))
        server = fork_server.server_id()
        assert server is not None
        os.kill(server, signal.SIGSTOP)  # it takes the request for a worker, and dies without an answer
        killer = threading.Timer(0.5, os.kill, (server, signal.SIGKILL))
        killer.start()
        workers.append(WorkerProcess({}))
        killer.join()
        assert fork_server.lives() and fork_server.server_id() != server
        for worker in workers[:2]:
            found: list[Death] = []
            wait_until(lambda worker=worker, found=found: found.append(worker.poll()) or found[-1])
            assert found[-1].code is None and found[-1].from_outside
        wait_until(lambda: workers[2].poll() or workers[2].doing == "ready")
    finally:
        for worker in workers:
            worker.kill(everything=False)


def test_a_worker_that_is_still_starting_stops_at_once(tmp_path: Path) -> None:
    """What it was to do has not reached it: it would train on, and the driver wait for it."""
    slot = Slot(CPU, Setup())
    job = Job(((trainers.spec(0, "sleep", seconds=600),),), tmp_path, trainers.train, environment())
    slot.begin(job)
    slot.ask_to_stop()
    assert poll_slots([slot], 60.0) == [(job, Halted())] and slot.job is None
    slot.stop()


def test_a_mistake_leaves_no_server_behind_that_loads_torch_for_nobody(tmp_path: Path) -> None:
    fork_server.abandon()
    assert "unknown method 'pdc'" in run_here("run", "suite=escape", "methods=pdc", cwd=tmp_path, code=2)
    assert fork_server.server_id() is not None and not fork_server.lives()


STARTS = (
    "from mobench.running import fork_server; fork_server.start(); print(fork_server.server_id(), flush=True); input()"
)


def test_the_next_driver_removes_what_one_left_that_was_killed_with_its_server(tmp_path: Path) -> None:
    environment = {**marked(tmp_path)}
    for round_ in range(2):
        program = subprocess.Popen(
            [sys.executable, "-c", STARTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        assert program.stdin is not None and program.stdout is not None
        server = int(program.stdout.readline())
        if round_ == 0:
            os.kill(server, signal.SIGKILL)
            program.kill()
            program.communicate()
            assert len(leftovers(tmp_path)) == 1
        else:
            program.communicate(b"\n")
            wait_until(lambda: not living(tmp_path))
            assert leftovers(tmp_path) == []
