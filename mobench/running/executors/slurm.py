"""Jobs on a Slurm cluster: pilots wait in its queue as arrays, and take jobs from this driver one after the other."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from mobench.core.settings import choice, integer, size, text
from mobench.errors import StorageError, UserError
from mobench.running.executors.base import Executor, Setup, Share, needs_package, place_in_cluster, refuse_positions
from mobench.running.executors.local import free_seat

if TYPE_CHECKING:
    from mobench.running.batch_queue import BatchQueue
    from mobench.running.job import Job, Result, Steps
    from mobench.running.machine import Place
    from mobench.running.mailbox import News
    from mobench.running.pilot import Pilot

JOBS = 32
"""How many Slurm jobs there are at once unless `jobs` says so."""
LOOK_SECONDS = 0.25
"""How often news are read; less often from more than fifty pilots."""
QUEUE_SECONDS = 10.0
"""How often Slurm is asked which jobs there are."""
FALSE_STARTS = 3
"""How many pilots in a row may end before they say a word."""
LEAVE_SECONDS = 10.0
"""How long pilots may take to leave when everything is done."""
_TIME = re.compile(r"(?:(?P<days>\d+)-)?(?P<parts>\d+(?::\d+){0,2})")
_OPTION = re.compile(r"[a-z][a-z0-9-]*(=.*)?")


class Slurm(Executor):
    """A Slurm cluster, through submitit."""

    name = "slurm"
    meaning = "a Slurm cluster; the results folder is on a file system that its nodes share"
    elsewhere = True
    cluster: str = choice("slurm", ("slurm", "local"), meaning="local: processes of this machine, to try it out")
    partition: str | None = text(None, meaning="partition of the cluster", shown="NAME")
    time: str = text(
        "1:00:00",
        meaning="time of each Slurm job; what is not done by then is queued again and goes on",
        shown="H:MM:SS",
    )
    cpus: int = integer(1, low=1, meaning="cores of each Slurm job")
    gpus: int = integer(0, low=0, meaning="GPUs of each Slurm job: 1, or 0 for the CPU")
    memory: int | None = size(None, meaning="memory of each Slurm job")
    options: str | None = text(None, meaning="further options of sbatch, divided by commas", shown="account=A,qos=Q")
    setup: str | None = text(
        None, meaning="a shell command before each Slurm job, e.g. module load cuda", shown="COMMAND"
    )

    def places(self, share: Share, uses_device: bool) -> list[Place]:
        from mobench.running.machine import CPU, usable_cores

        refuse_positions(Slurm, share)
        if share.jobs_per_gpu != 1:
            raise UserError(
                f"jobs_per_gpu={share.jobs_per_gpu} is not accepted with executor=slurm, which shares no GPU"
            )
        if self.gpus > 1:
            raise UserError(
                f"slurm.gpus={self.gpus} is not accepted: a job uses one GPU; slurm.gpus=1 jobs={self.gpus} asks for "
                f"{self.gpus} jobs with one each"
            )
        self._queue = self._chosen_queue()
        count = share.jobs or (JOBS if self.cluster == "slurm" else usable_cores())
        place = place_in_cluster(share, any(asks_for_gpus(*option) for option in self._options().items()))
        return [place if uses_device else CPU] * count

    def open(self, setup: Setup) -> None:
        self._places = {kind: self.places(setup.share, kind) for kind in setup.kinds}
        self._limit = max(map(len, self._places.values()))
        self._closed: list[str] = []
        self._setup = setup
        self._folder: Path | None = None
        self._waiting: list[Job] = []
        self._pilots: list[_Seat] = []
        self._stopping = False
        self._read = self._asked = time.monotonic()
        self._numbers = 0
        self._false_starts = 0

    def has_room(self, uses_device: bool, alone: bool = False) -> bool:
        under_way = [*self._waiting, *(seat.job for seat in self._pilots if seat.job is not None)]
        if (alone and under_way) or any(job.alone for job in under_way) or (uses_device and self.why_closed()):
            return False
        return len(under_way) < self._limit - len(self._closed)

    def why_closed(self) -> str:
        return "; ".join(dict.fromkeys(self._closed)) if len(self._closed) >= self._limit else ""

    def submit(self, job: Job) -> None:
        if self._folder is None:
            self._folder = self._move_in(job.root)
        self._waiting.append(job)

    def poll(self, seconds: float) -> list[tuple[Job, Result]]:
        from mobench.running.job import Halted, Lost

        if self._stopping:
            halted: list[tuple[Job, Result]] = [(job, Halted()) for job in self._waiting]
            self._waiting = []
            if halted:
                return halted
        self._grow()
        wait = max(0.0, self._read + LOOK_SECONDS * max(1.0, len(self._pilots) / 50) - time.monotonic())
        if wait > seconds:
            time.sleep(seconds)
            return []
        time.sleep(wait)
        self._read = time.monotonic()
        alive = self._alive()
        found = [result for seat in self._pilots if (result := seat.look(alive, self._stopping)) is not None]
        self._closed += [result.reason for _, result in found if isinstance(result, Lost) and result.closed]
        self._bury([seat for seat in self._pilots if seat.gone])
        self._assign()
        return found

    def ask_to_stop(self) -> None:
        self._stopping = True
        useless = {seat.id for seat in self._pilots if seat.job is None}
        self._pilots = [seat for seat in self._pilots if seat.job is not None]
        self._queue.cancel(useless)
        for seat in self._pilots:
            seat.ask_to_stop()

    def close(self) -> None:
        folder, interruption = (
            getattr(self, "_folder", None),
            self._setup.interruption if hasattr(self, "_setup") else None,
        )
        if folder is None:
            return
        ids = {seat.id for seat in self._pilots}
        with suppress(OSError):
            for seat in self._pilots:
                seat.mailbox.ask_to_leave()
        if interruption is None or not interruption.insisted:
            busy = {seat.id for seat in self._pilots if seat.job is not None}
            self._queue.cancel(busy)
            self._wait_for_end(ids)
        self._queue.cancel(ids)
        self._wait_for_end(ids)
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            folder.parent.rmdir()  # unless another driver has its folder there
        self._folder, self._pilots = None, []

    def _chosen_queue(self) -> BatchQueue:
        try:
            import submitit  # noqa: F401 - whether it is here
        except ImportError as error:
            raise needs_package("slurm", "submitit", error) from error
        from mobench.running.batch_queue import LocalQueue, SlurmQueue

        minutes = self._minutes()
        if self.cluster == "local":
            asked = {name: getattr(self, name) for name in ("partition", "cpus", "gpus", "memory", "options", "setup")}
            for name, value in asked.items():
                if value != self.settings[name].default:
                    raise UserError(f"slurm.{name}={value} has no effect with slurm.cluster=local; leave it out")
            return LocalQueue(minutes)
        queue = SlurmQueue(minutes, self._options(), self.setup)
        queue.check()
        return queue

    def _options(self) -> dict[str, str]:
        """Return the options of sbatch; one without a value has an empty one."""
        chosen = {"cpus-per-task": str(self.cpus)}
        if self.partition is not None:
            chosen["partition"] = self.partition
        if self.gpus:
            chosen["gpus-per-node"] = str(self.gpus)
        if self.memory is not None:
            chosen["mem"] = f"{math.ceil(self.memory / 2**20)}M"
        for option in (self.options or "").split(","):
            word = option.strip().removeprefix("--")
            if not word:
                continue
            if not _OPTION.fullmatch(word):
                raise UserError(f"slurm.options={self.options} is not accepted; it takes options like account=A,qos=Q")
            key, _, value = word.partition("=")
            count = value.rpartition(":")[2]
            if asks_for_gpus(key, value) and count.isdigit() and int(count) > 1:
                raise UserError(f"slurm.options={word} is not accepted; a job uses one GPU, and jobs=N asks for N jobs")
            chosen[key] = value
        return chosen

    def _minutes(self) -> int:
        """Return the time of a job, from one of the forms that Slurm takes: M, M:S, H:M:S, D-H, D-H:M or D-H:M:S."""
        match = _TIME.fullmatch(self.time)
        if match is None:
            raise UserError(f"slurm.time={self.time} is not accepted; slurm.time takes minutes, H:MM:SS or D-HH:MM:SS")
        parts = [int(part) for part in match["parts"].split(":")]
        if match["days"] is not None:
            hours, minutes, seconds = (*parts, 0, 0)[:3]
        else:
            hours, minutes, seconds = (0, *parts, 0)[:3] if len(parts) < 3 else parts
        return max(1, math.ceil(int(match["days"] or 0) * 1440 + hours * 60 + minutes + seconds / 60))

    def _move_in(self, root: Path) -> Path:
        """Make a folder for this driver's letters, and end what drivers left behind that are no more."""
        from mobench.store.lease import LEASE_SECONDS, Owner, read_owner

        above = root / "slurm"
        for folder in above.glob("*/"):
            owner = read_owner(folder / "driver")
            if owner is not None and owner.is_forgotten:
                with suppress(OSError):
                    self._queue.cancel((folder / "jobs").read_text().split())
                shutil.rmtree(folder, ignore_errors=True)
        me = Owner.here(LEASE_SECONDS)
        folder = above / me.owner
        try:
            folder.mkdir(parents=True)
            (folder / "driver").write_text(json.dumps(asdict(me)))
        except OSError as error:
            raise StorageError.of(root, error) from error
        return folder

    def _grow(self) -> None:
        """Put as many pilots into the queue as there are jobs that wait for one."""
        from mobench.running.pilot import Pilot

        ours = {name: value for name, value in os.environ.items() if name.startswith("MOBENCH_")}
        places = Counter(self._place_of(job) for job in self._waiting)
        for place, waiting in places.items():
            free = sum(seat.job is None and seat.kind == place for seat in self._pilots)
            missing = min(waiting - free, self._limit - len(self._closed) - len(self._pilots))
            if missing <= 0 or self._stopping or self._folder is None:
                continue
            variables = {**ours, **place.variables}
            numbers = range(self._numbers, self._numbers + missing)
            self._numbers += missing
            pilots = [Pilot(self._folder, number, self._setup.limits, variables) for number in numbers]
            ids = self._queue.submit(pilots, self._folder / "logs", place.device != "cpu")
            with (self._folder / "jobs").open("a") as jobs:
                jobs.writelines(f"{id_}\n" for id_ in ids)
            seats = zip(ids, pilots, strict=True)
            self._pilots += [_Seat(id_, pilot, self._queue, self._setup, place) for id_, pilot in seats]

    def _place_of(self, job: Job) -> Place:
        return self._places[job.uses_device][0]

    def _assign(self) -> None:
        """Give waiting jobs to pilots that have begun and are free."""
        ready = [seat for seat in self._pilots if seat.ready]
        for job in list(self._waiting):
            seat = free_seat([seat for seat in ready if seat.kind == self._place_of(job)], job.alone)
            if seat is not None and not self._stopping:
                self._waiting.remove(job)
                seat.begin(job)

    def _alive(self) -> set[str] | None:
        """Return which pilots live, None where that was not asked."""
        if self._folder is None or not self._pilots or time.monotonic() - self._asked < self._ask_seconds():
            return None
        self._asked = time.monotonic()
        with suppress(OSError):
            os.utime(self._folder / "driver")
        return self._queue.alive({seat.id for seat in self._pilots})

    def _ask_seconds(self) -> float:
        return QUEUE_SECONDS if self.cluster == "slurm" else 1.0

    def _bury(self, gone: Iterable[_Seat]) -> None:
        for seat in gone:
            self._pilots.remove(seat)
            self._false_starts = 0 if seat.spoke else self._false_starts + 1
            if self._false_starts >= FALSE_STARTS:
                raise UserError(f"Slurm jobs end before they begin: {seat.last_words()}")

    def _wait_for_end(self, ids: set[str]) -> None:
        deadline = time.monotonic() + LEAVE_SECONDS
        while ids and self._queue.alive(ids) and time.monotonic() < deadline:
            time.sleep(0.2)


def asks_for_gpus(option: str, value: str) -> bool:
    """Say whether an option of sbatch asks for GPUs: `gpus-per-node=1`, `gres=gpu:a100:1` and the like."""
    return option.startswith("gpus") or (option in ("gres", "tres-per-task") and "gpu" in value)


class _Seat:
    """A pilot as the driver sees it."""

    def __init__(self, id_: str, pilot: Pilot, queue: BatchQueue, setup: Setup, kind: Place) -> None:
        from mobench.running.mailbox import Mailbox

        self.id = id_
        self.kind = kind
        self._queue = queue
        self.mailbox = Mailbox(pilot.folder, pilot.number)
        self.job: Job | None = None
        self.ready = self.gone = self.spoke = False
        self.place: str | None = None
        self._on_steps = setup.on_steps
        self._told: Steps | None = None
        self._number = 0

    def begin(self, job: Job) -> None:
        """Order a job."""
        from mobench.running.mailbox import Order
        from mobench.running.parcel import pack_plugins

        self.job, self._number = job, self._number + 1
        self.mailbox.give(Order(self._number, job, pack_plugins(job)))

    def ask_to_stop(self) -> None:
        """Ask the pilot to save the state of its job and to stop."""
        self.mailbox.ask_to_stop(self._number)

    def look(self, alive: set[str] | None, stopping: bool) -> tuple[Job, Result] | None:
        """Read the pilot's news, and return its job with what came of it, None while that goes on."""
        from mobench.running.job import Halted, Lost

        news = self.mailbox.news()
        self.gone = alive is not None and self.id not in alive
        if news is not None:
            self._take_in(news)
        self.ready = news is not None and not self.gone
        job = self.job
        if job is None:
            return None
        result = news.result if news is not None and news.number == self._number else None
        if result is None and self.gone:
            result = self._autopsy()
        elif result is None and stopping and news is not None and news.state == "queued again":
            result = Halted()
        if result is None:
            return None
        if isinstance(result, Lost) and result.closed:
            self.mailbox.ask_to_leave()
            self.gone = True
        self.job = None
        return job, result

    def last_words(self) -> str:
        """Return the end of the pilot's log."""
        logs = self.mailbox.folder / "logs"
        lines: list[str] = []
        for file in sorted(logs.glob(f"{self.id}_*.err")):
            lines += [line.strip() for line in file.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1][:300] if lines else f"nothing is in their logs; does every node see {logs}?"

    def _take_in(self, news: News) -> None:
        from mobench.running.environment import environment

        self.spoke, self.place = True, news.host
        ours = environment().versions["mobench"]
        if news.version != ours:
            raise UserError(
                f"executor=slurm: node {news.host} has mobench {news.version}, this machine has {ours}; "
                "install the same version on all"
            )
        if self.job is not None and news.number == self._number and news.steps not in (None, self._told):
            self._told = news.steps
            self._on_steps(self.job, news.steps)

    def _autopsy(self) -> Result:
        from mobench.running.job import Lost

        state = self._queue.cause_of_death(self.id)
        if state == "OUT_OF_MEMORY":
            return Lost(f"out of memory: Slurm killed the job {self.id}; slurm.memory asks for more", cause="memory")
        return Lost(f"the Slurm job {self.id} is gone{f' ({state})' if state else ''}", cause="killed")
