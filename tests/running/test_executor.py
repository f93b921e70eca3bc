"""Runs that misbehave in real worker processes, and in this one."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mobench.core.outcome import Outcome
from mobench.core.registry import file_digest
from mobench.core.spec import RunSpec
from mobench.errors import UserError
from mobench.running import worker_process
from mobench.running.events import Event, Finished, Split, Started, Tally
from mobench.running.executor import divide, execute
from mobench.store.folder import Store
from mobench.store.record import SharedProcess
from tests.running import trainers
from tests.running.trainers import spec, specs

HERE, WORKERS = 0, 2


def outcomes(store: Store) -> dict[int, Outcome]:
    return {record.spec.seed: record.outcome for record in store.records()}


def run(store: Store, groups: Sequence[Sequence[RunSpec]], jobs: int, limit: float | None = None) -> Tally:
    return execute(groups, store, jobs=jobs, time_limit=limit, train=trainers.train)


@pytest.mark.parametrize("jobs", [HERE, WORKERS])
def test_every_run_gets_its_record(store: Store, jobs: int) -> None:
    tally = run(store, [specs(3), [spec(3)], [spec(4), spec(5)]], jobs)
    assert (tally.planned, tally.done, tally.failed, tally.interrupted) == (6, 6, 0, False)
    records = {record.spec.seed: record for record in store.records()}
    assert {seed: record.outcome.metrics["value"] for seed, record in records.items()} == {
        seed: seed * 0.5 for seed in range(6)
    }
    assert records[0].memory is not None and records[0].memory.runs == 3
    assert records[3].memory is not None and records[3].memory.runs == 1
    assert records[0].started <= records[0].finished and records[0].started.endswith("+00:00")
    assert records[0].environment.versions["torch"] is not None


@pytest.mark.parametrize("jobs", [HERE, WORKERS])
def test_what_raises_fails_alone(store: Store, jobs: int) -> None:
    groups = [[spec(0), spec(1, "raise"), spec(2)], [spec(3, "quit")], [spec(4, "infinite")]]
    tally = run(store, groups, jobs)
    assert (tally.done, tally.failed) == (2, 3)
    found = outcomes(store)
    assert [found[seed].status for seed in range(5)] == ["done", "failed", "done", "failed", "failed"]
    assert found[1].reason == "ArithmeticError: seed 1 cannot be trained"
    assert found[1].error is not None and "trainers.py" in found[1].error and "Traceback" in found[1].error
    assert found[3].reason == "SystemExit: 3"
    assert "'loss' is inf" in found[4].reason


def test_what_kills_its_process_fails_alone(store: Store) -> None:
    groups = [
        [spec(0), spec(1, "exit", code=1), spec(2)],
        [spec(3, "exit", code=0)],
        [spec(4), spec(5, "kill", signal=int(signal.SIGKILL))],
        [spec(6, "segfault")],
        [spec(7, "interrupt")],
        [spec(8, "kill", signal=int(signal.SIGTERM))],
        [spec(9)],
    ]
    tally = run(store, groups, WORKERS)
    assert (tally.done, tally.failed, tally.interrupted) == (4, 6, False)
    found = outcomes(store)
    assert {seed for seed, outcome in found.items() if outcome.status == "done"} == {0, 2, 4, 9}
    assert "exit code 1" in found[1].reason
    assert "exit code 0" in found[3].reason
    assert "SIGKILL" in found[5].reason
    assert "SIGSEGV" in found[6].reason
    assert found[6].error is not None and "string_at" in found[6].error
    assert found[7].reason == "KeyboardInterrupt"
    assert "SIGTERM" in found[8].reason


def test_what_hangs_is_stopped_at_the_time_limit_and_fails_alone(store: Store) -> None:
    groups = [[spec(0), spec(1, "sleep", seconds=60), spec(2)]]
    tally = run(store, groups, WORKERS, limit=1.0)
    assert (tally.done, tally.failed) == (2, 1)
    hung = outcomes(store)[1]
    assert "time limit of 1 s" in hung.reason
    assert hung.timings["seconds"] >= 1.0
    assert hung.error is not None and "in _act" in hung.error  # where it hung


@pytest.mark.parametrize("limits", [{"time_limit": 5.0}, {"memory_limit": 10**9}])
def test_limits_need_worker_processes(store: Store, limits: dict[str, Any]) -> None:
    (name,) = limits
    with pytest.raises(UserError, match=f"{name}=.* is not accepted with jobs=0"):
        execute([[spec(0)]], store, jobs=HERE, train=trainers.train, **limits)
    assert outcomes(store) == {}


def test_a_run_that_trains_alone_has_a_checkpoint_until_its_record_is_saved(store: Store) -> None:
    groups = [
        [spec(0, "checkpoint")],
        [spec(1, "checkpoint", then="die")],
        [spec(2, "checkpoint"), spec(3, "checkpoint")],
    ]
    tally = run(store, groups, WORKERS)
    assert (tally.done, tally.failed) == (3, 1)
    assert list((store.root / "checkpoints").iterdir()) == []


def test_a_run_that_was_too_slow_goes_on_from_its_checkpoint_when_tried_again(store: Store) -> None:
    slow = spec(0, "checkpoint", then="hang")
    assert run(store, [[slow]], WORKERS, limit=1.5).failed == 1
    assert store.checkpoint(slow.id).exists()
    assert store.pending([slow]) == []
    assert run(store, [store.pending([slow], retry_failed=True)], WORKERS, limit=30.0).done == 1
    assert outcomes(store)[0].metrics["resumed"] == 1.0
    assert not store.checkpoint(slow.id).exists()


def test_a_worker_that_is_killed_from_outside_goes_on_from_its_checkpoint(store: Store) -> None:
    events: list[Event] = []
    killed = spec(0, "checkpoint", then="killed")
    tally = execute([[killed]], store, jobs=WORKERS, train=trainers.train, on_event=events.append)
    assert (tally.done, tally.failed) == (1, 0) and outcomes(store)[0].metrics["resumed"] == 1.0
    assert [event.again for event in events if isinstance(event, Split)] == [True]


def test_a_retry_that_crashes_is_not_taken_for_finished(store: Store) -> None:
    dying = spec(0, "exit", code=7)
    for _ in range(2):
        assert run(store, [store.pending([dying, spec(1)], retry_failed=True)], WORKERS).failed == 1
    assert "exit code 7" in outcomes(store)[0].reason
    assert outcomes(store)[1].status == "done"


def test_the_heaviest_group_begins_first(store: Store, tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    groups = [[spec(seed, "count", log=log)] for seed in range(4)]
    execute(groups, store, jobs=HERE, weights=[1.0, 3.0, 2.0, 3.0], train=trainers.train)
    assert (tmp_path / "log").read_text().split() == ["1", "3", "2", "0"]


def test_short_groups_of_shipped_methods_share_a_job_and_foreign_code_does_not() -> None:
    foreign = replace(spec(9), sources={"actor": "0" * 64})
    groups = [[spec(0)], [spec(1), spec(2)], [foreign], [spec(3)], [spec(4)]]
    weights = [0.2, 10.0, 0.4, 0.3, 2.6]
    numbers = [[[run.seed for run in group] for group in job] for job in divide(groups, weights, workers=1)]
    assert numbers == [[[1, 2]], [[4], [3]], [[9]], [[0]]]
    assert [len(job) for job in divide(groups, weights, workers=100)] == [1] * 5
    assert divide([[spec(0)]], [0.0], workers=2) == [[[spec(0)]]]


def test_a_lost_job_is_tried_group_by_group_and_then_run_by_run(store: Store) -> None:
    events: list[Event] = []
    groups = [[spec(0)], [spec(1), spec(2, "exit", code=7), spec(3)], [spec(4)], [spec(5)]]
    weights = [0.4, 0.3, 0.2, 0.1]
    groups, weights = [*groups, [spec(9)]], [*weights, 100.0]  # beside it the others are short
    tally = execute(groups, store, jobs=1, weights=weights, train=trainers.train, on_event=events.append)
    assert (tally.done, tally.failed, tally.planned) == (6, 1, 7)
    assert "exit code 7" in outcomes(store)[2].reason
    begun = [event.runs for event in events if isinstance(event, Started)]
    assert begun == [1, 6, 3, 1, 1, 1, 1, 1], "the long one, the job, its unfinished groups, the runs of the lost one"
    assert [event.runs for event in events if isinstance(event, Split)] == [5, 3]


def test_events_tell_the_whole_story(store: Store) -> None:
    events: list[Event] = []
    groups = [[spec(0), spec(1, "raise")], [spec(2)]]
    execute(groups, store, jobs=HERE, on_event=events.append, weights=[4.0, 1.0], train=trainers.train)
    running = 0
    for event in events:
        running += event.runs if isinstance(event, Started) else 0
        running -= event.runs if isinstance(event, Split) else 0
        running -= len(event.runs) if isinstance(event, Finished) else 0
        assert running >= 0
    assert running == 0
    finished = [run for event in events if isinstance(event, Finished) for run in event.runs]
    assert sorted((run.label, run.status, run.work) for run in finished) == [
        ("actor@1 on toy@1, seed 0", "done", 2.0),
        ("actor@1 on toy@1, seed 1", "failed", 2.0),
        ("actor@1 on toy@1, seed 2", "done", 1.0),
    ]


@pytest.mark.parametrize("jobs", [HERE, WORKERS])
def test_an_error_of_the_listener_is_not_swallowed(store: Store, jobs: int) -> None:
    def listen(event: Event) -> None:
        raise LookupError("the listener broke")

    with pytest.raises(LookupError, match="the listener broke"):
        execute([[spec(0)]], store, jobs=jobs, on_event=listen, train=trainers.train)


def wrong_count(group: Sequence[RunSpec], checkpoint: Path | None) -> list[Outcome]:
    return []


@pytest.mark.parametrize("jobs", [HERE, WORKERS])
def test_an_error_of_the_engine_stops_everything_and_blames_no_run(store: Store, jobs: int) -> None:
    with pytest.raises((ValueError, RuntimeError), match="zip"):
        execute([[spec(0)], [spec(1)]], store, jobs=jobs, train=wrong_count)
    assert outcomes(store) == {}


def test_a_plugin_is_loaded_where_its_own_runs_train_and_nowhere_else(store: Store, tmp_path: Path) -> None:
    plugin = tmp_path / "waved_through.py"
    plugin.write_text("")
    foreign = replace(spec(1), sources={"method": file_digest(plugin)})
    groups = [[foreign], [spec(0)], [replace(foreign, seed=2)], [spec(3)], [spec(4)]]
    execute(groups, store, jobs=1, plugins=[str(plugin)], train=report_plugin)
    loaded = {seed: found.metrics["loaded"] for seed, found in outcomes(store).items()}
    assert loaded == {0: 0.0, 1: 1.0, 2: 1.0, 3: 0.0, 4: 0.0}
    shared = {record.spec.seed: record.shared for record in store.records()}
    assert shared[1] == shared[2] == SharedProcess(sources=(file_digest(plugin),))
    assert shared[0] == shared[3] == SharedProcess() and shared[4] == SharedProcess(before=("actor@1",))


def report_plugin(group: Sequence[RunSpec], checkpoint: Path | None) -> list[Outcome]:
    loaded = any(name.startswith("mobench_plugin_waved_through") for name in sys.modules)
    return [trainers.outcome(run, loaded=float(loaded)) for run in group]


def report_variable(group: Sequence[RunSpec], checkpoint: Path | None) -> list[Outcome]:
    return [trainers.outcome(run, variable=float(os.environ["MOBENCH_TEST"])) for run in group]


def test_workers_have_the_variables_of_this_moment(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(2):
        monkeypatch.setenv("MOBENCH_TEST", str(seed))
        execute([[spec(seed)]], store, jobs=1, train=report_variable)
    assert [outcomes(store)[seed].metrics["variable"] for seed in range(2)] == [0.0, 1.0]


def die_at_once(*arguments: object) -> None:
    os._exit(3)


def test_workers_that_cannot_start_are_an_error_and_blame_no_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "serve", die_at_once)
    with pytest.raises(worker_process.WorkerStartError, match="die before they begin"):
        execute([[spec(0)]], store, jobs=1, train=trainers.train)
    assert outcomes(store) == {}


def test_nothing_to_do_is_done_at_once(store: Store) -> None:
    tally = execute([], store, jobs=4, time_limit=0.0)
    assert (tally.planned, tally.done, tally.failed, tally.interrupted) == (0, 0, 0, False)


def test_bad_arguments_are_refused(store: Store) -> None:
    with pytest.raises(UserError, match="jobs=-1"):
        run(store, [[spec(0)]], -1)
    with pytest.raises(UserError, match="time_limit=0"):
        run(store, [[spec(0)]], 0, limit=0.0)
    with pytest.raises(ValueError, match="weights"):
        execute([[spec(0)]], store, jobs=0, weights=[1.0, 2.0], train=trainers.train)
    with pytest.raises(ValueError, match="one group"):
        run(store, [[spec(0)], [spec(0)]], 0)
