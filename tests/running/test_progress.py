from __future__ import annotations

import io

import pytest
from rich.console import Console

from mobench.core.outcome import Status
from mobench.running.events import Finished, FinishedRun, Split, Started
from mobench.running.progress import Progress, spell_seconds


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def finished(status: Status = "done", reason: str = "", work: float = 1.0, count: int = 1) -> Finished:
    run = FinishedRun("0123456789abcdef" * 4, "pcd@1 on double-well@1, seed 3", status, reason, work)
    return Finished((run,) * count)


def log_console() -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    return Console(file=text, width=80, force_terminal=False), text


def test_a_log_gets_a_line_per_tenth_and_one_at_the_end() -> None:
    console, text = log_console()
    clock = Clock()
    with Progress(console, 200, clock=clock) as progress:
        progress.update(Started(200))
        for _ in range(200):
            clock.now += 0.01
            progress.update(finished())
    lines = text.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == "20/200 runs, 180 running, 0 failed, 2 s left"
    assert lines[-1] == "200/200 runs, 0 failed, took 2 s"


def test_a_group_that_finishes_at_once_gets_one_line() -> None:
    console, text = log_console()
    clock = Clock()
    with Progress(console, 200, clock=clock) as progress:
        progress.update(Started(100))
        clock.now += 30.0
        progress.update(finished(count=100))
        assert text.getvalue() == "100/200 runs, 0 running, 0 failed, 30 s left\n"


def test_a_slow_log_gets_a_line_per_ten_seconds() -> None:
    console, text = log_console()
    clock = Clock()
    with Progress(console, 1000, clock=clock) as progress:
        for _ in range(30):
            clock.now += 1.0
            progress.update(finished())
    assert len(text.getvalue().splitlines()) == 3 + 1


def test_every_failure_has_its_line_within_the_width() -> None:
    console, text = log_console()
    with Progress(console, 3, clock=Clock()) as progress:
        progress.update(finished("failed", "ValueError: [bold]no[/bold] " + "x" * 100))
        progress.update(finished("failed", "KeyError: 'a'"))
    failures = [line for line in text.getvalue().splitlines() if line.startswith("failed")]
    assert len(failures) == 2
    assert "ValueError: [bold]no" in failures[0]
    assert max(map(len, text.getvalue().splitlines())) <= 80


def test_the_time_left_follows_the_finished_work() -> None:
    console, _ = log_console()
    clock = Clock()
    progress = Progress(console, 4, work=10.0, clock=clock)
    assert progress.course.seconds_left() is None
    clock.now += 6.0
    progress.update(Started(2))
    progress.update(finished(work=4.0))
    assert progress.course.seconds_left() == pytest.approx(9.0)
    assert progress.counts() == "1/4 runs, 1 running, 0 failed, 9 s left"


def test_a_split_group_no_longer_runs_and_says_why() -> None:
    console, text = log_console()
    with Progress(console, 50, clock=Clock()) as progress:
        progress.update(Started(48))
        progress.update(Split(48, "killed by SIGKILL"))
        assert "0 running" in progress.counts()
    assert "48 runs go on in smaller groups: killed by SIGKILL" in text.getvalue()


def test_quiet_says_nothing() -> None:
    console, text = log_console()
    with Progress(console, 2, quiet=True, clock=Clock()) as progress:
        progress.update(Started(2))
        progress.update(finished("failed", "ValueError"))
        progress.update(finished())
    assert text.getvalue() == ""


def test_a_terminal_shows_one_line_of_counts() -> None:
    text = io.StringIO()
    console = Console(file=text, width=80, force_terminal=True, color_system=None)
    with Progress(console, 5) as progress:
        progress.update(Started(5))
        for _ in range(4):
            progress.update(finished())
        progress.update(finished("failed", "ValueError: no"))
    shown = text.getvalue()
    assert "5/5 runs, 0 running, 1 failed" in shown
    assert shown.count("failed 0123456789ab pcd@1 on double-well@1, seed 3: ValueError: no") == 1


def test_exceptions_pass_through() -> None:
    console, _ = log_console()
    with pytest.raises(RuntimeError, match="inside"), Progress(console, 2):
        raise RuntimeError("inside")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (59.4, "59 s"),
        (59.6, "1:00 min"),
        (187, "3:07 min"),
        (8100, "2:15 h"),
        (305_955 * 3600, "35 years"),
    ],
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert spell_seconds(seconds) == text
