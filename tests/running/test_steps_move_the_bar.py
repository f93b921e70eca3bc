"""Steps of real training loops arrive at the scheduler, from this process and from workers, and move the bar."""

from __future__ import annotations

import io
import platform
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from mobench.core.outcome import Outcome
from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.running.events import Event, Finished, Split, Started, Stepped
from mobench.running.executor import execute
from mobench.running.job import Steps
from mobench.running.progress import Progress
from mobench.store.folder import Store
from mobench.training import loop
from mobench.training.checkpoint import save_checkpoint
from mobench.training.optimizer import Training

STEPS = 60


def runs(count: int) -> list[RunSpec]:
    problem, training = find_problem("two-wells")(), Training(steps=STEPS, lr=0.01).configuration()
    return [RunSpec.of(problem, find_method("mgda")(), training, seed) for seed in range(count)]


def train_reporting_every_step(group: Sequence[RunSpec], checkpoint: Path | None = None) -> list[Outcome]:
    loop.REPORT_SECONDS = -1.0
    return loop.train(group, checkpoint)


@pytest.fixture
def every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "REPORT_SECONDS", loop.REPORT_SECONDS)  # put back what the trainer above sets here


@pytest.mark.parametrize("jobs", [0, 2])
@pytest.mark.usefixtures("every_step")
def test_groups_and_single_runs_tell_how_far_they_are(store: Store, jobs: int) -> None:
    events: list[Event] = []
    whole = runs(4)
    groups = [whole[:3], whole[3:]]
    tally = execute(groups, store, jobs=jobs, train=train_reporting_every_step, on_event=events.append)
    assert tally.done == 4
    for group in groups:
        name = group[0].id
        of_it = [event for event in events if getattr(event, "job", "") == name]
        assert isinstance(of_it[0], Started) and isinstance(of_it[-1], Finished)
        told = [event for event in of_it if isinstance(event, Stepped)]
        assert of_it[1:-1] == told and told
        steps = [event.steps.step for event in told]
        assert steps == sorted(set(steps)) and steps[-1] <= STEPS
        assert jobs or steps == list(range(1, STEPS + 1))
        assert {(event.runs, event.steps.total, event.steps.first) for event in told} == {(len(group), STEPS, 0)}
        assert told[-1].steps.host == platform.node() and told[-1].steps.rate > 0


@pytest.mark.usefixtures("every_step")
def test_a_resumed_run_says_where_it_began(store: Store) -> None:
    (run,) = runs(1)
    group = loop.Group([run])
    group.total = 20
    group.run(None, 1e9)
    store.checkpoint(run.id).parent.mkdir(parents=True)
    save_checkpoint(store.checkpoint(run.id), group.state_dict())
    events: list[Event] = []
    execute([[run]], store, jobs=1, train=train_reporting_every_step, on_event=events.append)
    told = [event.steps for event in events if isinstance(event, Stepped)]
    assert {steps.first for steps in told} == {20} and 20 < told[-1].step <= STEPS


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def stepped(job: str, step: int, *, runs: int, work: float, first: int = 0) -> Stepped:
    return Stepped(job, runs, work, Steps(step, 100, first, 1.0, "here"))


def test_steps_move_the_bar_and_the_time_left() -> None:
    clock = Clock()
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    with Progress(console, 10, work=100.0, clock=clock) as progress:
        progress.update(Started(8, "a"))
        assert progress.course.seconds_left() is None
        clock.now = 10.0
        progress.update(stepped("a", 25, runs=8, work=80.0))
        assert progress.course.completed() == 2.0
        assert progress.course.seconds_left() == pytest.approx(40.0)
        assert progress.counts() == "0/10 runs, 8 running, 0 failed, step 25 of 100, 40 s left"
        progress.update(Started(1, "b"))
        progress.update(stepped("b", 50, runs=1, work=10.0, first=50))  # a checkpoint's steps took no time here
        assert progress.course.completed() == 2.5
        assert progress.course.seconds_left() == pytest.approx(37.5)
        assert "step" not in progress.counts()
        progress.update(Split(8, "killed", job="a"))
        assert progress.course.completed() == 0.5 and progress.course.seconds_left() is None


def test_a_log_of_one_long_run_stays_short() -> None:
    clock, text = Clock(), io.StringIO()
    with Progress(Console(file=text, width=80, force_terminal=False), 1, clock=clock) as progress:
        progress.update(Started(1, "a"))
        for step in range(1, 7201):
            clock.now = 0.5 * step
            progress.update(Stepped("a", 1, 1.0, Steps(step, 7200, 0, 1.0, "here")))
    lines = text.getvalue().splitlines()
    assert lines[0] == "0/1 runs, 1 running, 0 failed, step 20 of 7,200, 59:50 min left"
    assert 20 < len(lines) < 150
