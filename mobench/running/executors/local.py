"""Jobs in worker processes of this machine, each at its place: a core, or a share of a GPU."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mobench.running.death import Death
from mobench.running.executors.base import Executor, Setup, Share

if TYPE_CHECKING:
    from mobench.running.job import Job, Result, Steps
    from mobench.running.machine import Place
    from mobench.running.worker_process import WorkerProcess

WATCH_SECONDS = 0.1
"""How often the memory of workers is looked at."""


class Local(Executor):
    """Worker processes of this machine."""

    name = "local"
    meaning = "worker processes of this machine"
    _slots: Sequence[Slot] = ()

    def open(self, setup: Setup) -> None:
        found = {uses_device: self.places(setup.share, uses_device) for uses_device in setup.kinds}
        on_device, on_cpu = found.get(True, []), found.get(False, [])
        if on_cpu == on_device:
            on_cpu = []
        elif on_device and on_cpu and setup.share.jobs is None:  # what trains on a GPU needs a core too
            on_cpu = on_cpu[: max(1, len(on_cpu) - len(on_device))]
        self._slots = [Slot(place, setup) for place in (*on_device, *on_cpu)]
        self._places = {uses_device: set(places) for uses_device, places in found.items()}
        self._at_once = setup.share.jobs or len(self._slots)
        self._closed = setup.faults.closed
        self._slots[0].prepare()  # waits until torch is loaded

    def places(self, share: Share, uses_device: bool) -> list[Place]:
        from mobench.running.machine import places

        return places(share, uses_device)

    def has_room(self, uses_device: bool, alone: bool = False) -> bool:
        under_way = sum(slot.job is not None for slot in self._slots)
        return under_way < self._at_once and self._free_slot(uses_device, alone) is not None

    def why_closed(self) -> str:
        closed = self._places.get(True, set()) <= self._closed.keys()
        return "; ".join(dict.fromkeys(self._closed.values())) if closed else ""

    def submit(self, job: Job) -> None:
        slot = self._free_slot(job.uses_device, job.alone)
        assert slot is not None
        if job.alone:  # idle workers hold memory too: of the device what torch keeps for later
            for other in self._slots:
                if other.place == slot.place:
                    other.stop()
        slot.begin(job)

    def poll(self, seconds: float) -> list[tuple[Job, Result]]:
        return poll_slots(self._slots, seconds)

    def ask_to_stop(self) -> None:
        for slot in self._slots:
            slot.ask_to_stop()

    def close(self) -> None:
        for slot in self._slots:
            slot.stop()

    def _free_slot(self, uses_device: bool, alone: bool) -> Slot | None:
        places = self._places[uses_device] - self._closed.keys()
        return free_seat([slot for slot in self._slots if slot.place in places], alone)


class Seat(Protocol):
    """Whatever takes one job at a time."""

    @property
    def place(self) -> Any:
        """Where it is; seats at one place share a device."""

    @property
    def job(self) -> Job | None:
        """What it does."""


SeatT = TypeVar("SeatT", bound=Seat)


def free_seat(seats: Sequence[SeatT], alone: bool) -> SeatT | None:
    """Return where a job can begin; next to a job that is to be alone on its device it cannot."""
    for seat in seats:
        beside = [other.job for other in seats if other.place == seat.place and other.job is not None]
        if seat.job is None and not (alone and beside) and not any(job.alone for job in beside):
            return seat
    return None


def poll_slots(slots: Sequence[Slot], seconds: float) -> list[tuple[Job, Result]]:
    """Wait for at most `seconds` for results of jobs in these slots, and enforce their limits meanwhile."""
    from multiprocessing import connection

    deadline = time.monotonic() + seconds
    while True:
        busy = [slot for slot in slots if slot.job is not None]
        found = [(job, result) for slot in busy if (job := slot.job) and (result := slot.result()) is not None]
        left = deadline - time.monotonic()
        if found or left <= 0 or not busy:
            return found
        connection.wait([item for slot in busy for item in slot.waitables], min(left, WATCH_SECONDS))


class Slot:
    """A place, the worker process there, and its job."""

    def __init__(self, place: Place, setup: Setup) -> None:
        self.place = place
        self.job: Job | None = None
        self._faults = setup.faults
        self._limits = setup.limits
        self._on_steps = setup.on_steps
        self._told: Steps | None = None
        self._worker: WorkerProcess | None = None
        self._unbegun = False
        """Whether it was asked to stop before its job reached the worker."""
        self._looked = 0.0

    @property
    def waitables(self) -> list[Any]:
        """What becomes ready when there may be a result."""
        return [] if self._worker is None else self._worker.waitables

    def prepare(self) -> WorkerProcess:
        """Start the worker process unless there is one."""
        from mobench.running.worker_process import WorkerProcess

        if self._worker is None:
            self._worker = WorkerProcess(self.place.variables)
        return self._worker

    def begin(self, job: Job) -> None:
        """Begin a job, foreign code always in a process of its own."""
        if job.foreign and self.prepare().used:
            self.stop()
        worker = self.prepare()
        self.job = job
        worker.submit(job)

    def result(self) -> Result | None:
        """Return what came of the job, None while it goes on."""
        from mobench.running.job import Halted, Lost
        from mobench.running.worker_main import Raised

        assert self._worker is not None and self.job is not None
        if self._unbegun:
            self.stop()
            return Halted()
        answer: Result | Death | Raised | None = self._worker.poll()
        if self._worker.steps is not self._told:
            self._told = self._worker.steps
            if self._told is not None:
                self._on_steps(self.job, self._told)
        if isinstance(answer, Raised) and self.job.foreign:  # it changed what stores its result
            answer = Lost(answer.sentence, answer.trace)
        if isinstance(answer, Raised):
            raise RuntimeError(f"a worker process failed outside of training:\n{answer.trace}")
        if isinstance(answer, Death):
            answer = self._autopsy(answer)
        elif answer is None:
            answer = self._exceeded()
        elif not self.job.foreign and not (isinstance(answer, Lost) and answer.of_device):
            job, self.job = self.job, None
            return self._faults.note(self.place, job, answer)
        if answer is not None:
            answer = self._faults.note(self.place, self.job, answer)
            self.stop()
        return answer

    def ask_to_stop(self) -> None:
        """Ask the worker to save its state and to stop; one that is still starting has nothing to save."""
        if self._worker is not None and self.job is not None:
            self._unbegun = not self._worker.ask_to_stop()

    def stop(self) -> None:
        """Kill the worker and, after foreign code, whatever that left behind."""
        if self._worker is not None:
            self._worker.kill(everything=self.job is not None and self.job.foreign)
        self._worker = self.job = None

    def _exceeded(self) -> Result | None:
        """Return the loss of a job that takes too long or too much memory."""
        from mobench.running.job import Lost

        assert self._worker is not None
        limits, worker = self._limits, self._worker
        if limits.seconds is not None and worker.seconds() > limits.seconds:
            reason = f"the run took longer than its time limit of {limits.seconds:g} s and was stopped"
            return Lost(reason, worker.stack(ask=True), resumable=True)
        if limits.memory_bytes is not None and time.monotonic() - self._looked > WATCH_SECONDS:
            self._looked = time.monotonic()
            if worker.memory() > limits.memory_bytes:
                return Lost(
                    f"the run used more memory than its limit of {limits.memory_bytes:,} bytes and was stopped",
                    worker.stack(ask=True),
                )
        return None

    def _autopsy(self, death: Death) -> Result:
        """Return the loss of a job whose process died."""
        from mobench.running.job import Lost

        assert self._worker is not None
        if death.memory and death.from_outside:
            return Lost("out of memory: the system killed the worker process", self._worker.stack(), cause="memory")
        return Lost(str(death), self._worker.stack(), cause="killed" if death.from_outside else "fault")
