"""How far a results folder is, as text that fits a terminal and as JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from mobench.running.folder_status import FolderStatus
from mobench.running.progress import spell_seconds
from mobench.store.driver_status import DriverStatus, RunningJob, State

SHOWN = 10
"""So many running jobs and failures are shown; all of them are in the JSON."""


def status_lines(status: FolderStatus, root: Path, width: int) -> Iterator[Text | Table]:
    """Yield what a terminal shows, each line within `width`."""
    yield _cut(_summary(status), width)
    if len(status.suites) > 1:
        yield _suites(status)
    if status.running:
        yield _jobs([(driver, job) for driver in status.at_work for job in driver.jobs])
    for driver, state in status.drivers:
        yield _cut(_driver(driver, state), width)
    for failure in status.failures[:SHOWN]:
        yield _cut(f"failed {failure.id[:12]} {failure.label}: {failure.reason}", width)
    if len(status.failures) > SHOWN:
        yield Text(f"and {len(status.failures) - SHOWN} more: mobench results results={root} --failed")
    if status.damaged:
        yield Text(f"{status.damaged} files are no whole records: mobench results verify results={root}")


def status_json(status: FolderStatus, root: Path) -> dict[str, Any]:
    """Return everything as JSON values; times are ISO 8601 in UTC."""
    end = status.expected_end
    return {
        "results": str(root),
        "planned": status.planned,
        "done": status.done,
        "failed": status.failed,
        "running": status.running,
        "waiting": status.waiting,
        "seconds_left": None if end is None else max(0.0, end - time.time()),
        "expected_end": None if end is None else _iso(end),
        "suites": [asdict(suite) for suite in status.suites],
        "jobs": [
            {**asdict(job), "started": _iso(job.started), "driver": driver.owner.owner}
            for driver in status.at_work
            for job in driver.jobs
        ],
        "drivers": [
            {
                "driver": driver.owner.owner,
                "user": driver.owner.user,
                "host": driver.owner.host,
                "pid": driver.owner.pid,
                "state": state,
                "begun": _iso(driver.begun),
                "updated": _iso(driver.updated),
                "planned": driver.planned,
                "done": driver.done,
                "failed": driver.failed,
                "running": sum(job.runs for job in driver.jobs),
                "seconds_left": driver.seconds_left,
            }
            for driver, state in status.drivers
        ],
        "failures": [asdict(failure) for failure in status.failures],
        "damaged": status.damaged,
    }


def _summary(status: FolderStatus) -> str:
    if not status.planned:
        return "nothing is stored here, and nobody is at work"
    parts = [f"{status.done:,} of {status.planned:,} runs done"]
    parts += [f"{status.failed:,} failed"] if status.failed else []
    parts += [f"{status.running:,} running"] if status.running else []
    parts += [f"{status.waiting:,} waiting"] if status.waiting else []
    end = status.expected_end
    if end is not None:
        left = max(0.0, end - time.time())
        day = "%H:%M" if left < 20 * 3600 else "%d %b %H:%M"
        parts.append(f"{spell_seconds(left)} left, until {datetime.fromtimestamp(end).strftime(day)}")
    elif status.waiting and not status.at_work:
        parts.append("nobody is at work: the same `mobench run` goes on")
    return ", ".join(parts)


def _suites(status: FolderStatus) -> Table:
    table = _table("suite", "profile", "done", "failed", "planned")
    for suite in status.suites:
        counts = (suite.done, suite.failed, suite.planned)
        table.add_row(Text(suite.suite), Text(suite.profile), *(f"{count:,}" for count in counts))
    return table


def _jobs(jobs: Sequence[tuple[DriverStatus, RunningJob]]) -> Table:
    table = _table("what", "where", "step", "steps/s", "for")
    for driver, job in jobs[:SHOWN]:
        step = f"{job.step:,}/{job.total:,}" if job.total else "–"
        rate = f"{job.steps_per_second:,.3g}" if job.steps_per_second < 1000 else f"{job.steps_per_second:,.0f}"
        since = spell_seconds(max(0.0, driver.updated - job.started))
        table.add_row(Text(job.label), Text(job.host or driver.owner.host), step, rate if job.total else "–", since)
    if len(jobs) > SHOWN:
        table.add_row(f"and {len(jobs) - SHOWN} more", "", "", "", "")
    return table


def _table(*names: str) -> Table:
    """Return a table whose first two columns give way where the terminal is narrow."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, name in enumerate(names):
        if number < 2:
            table.add_column(name, overflow="ellipsis", no_wrap=True, min_width=6)
        else:
            table.add_column(name, justify="right", no_wrap=True)
    return table


def _driver(driver: DriverStatus, state: State) -> str:
    owner, runs = driver.owner, sum(job.runs for job in driver.jobs)
    who = f"driver {owner.user}@{owner.host}, process {owner.pid}"
    silence = spell_seconds(max(0.0, time.time() - driver.updated))
    if state == "died":
        return f"{who}: died {silence} ago with {runs} runs under way"
    if state == "silent":
        return f"{who}: silent for {silence} with {runs} runs under way"
    return f"{who}: {runs} running, last heard of {silence} ago"


def _cut(text: str, width: int) -> Text:
    line = Text(text)
    line.truncate(width, overflow="ellipsis")
    return line


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
