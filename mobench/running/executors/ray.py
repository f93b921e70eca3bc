"""Jobs on a Ray cluster: an agent per seat, to which jobs travel with all they need and from which all results come."""

from __future__ import annotations

import logging
import os
import platform
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from mobench.core.settings import optional, real, size, text
from mobench.errors import UserError
from mobench.running.executors.base import (
    Executor,
    Limits,
    Setup,
    Share,
    needs_package,
    place_in_cluster,
    refuse_positions,
)
from mobench.running.executors.local import free_seat

if TYPE_CHECKING:
    from mobench.running.job import Job, Result, Steps
    from mobench.running.machine import Place
    from mobench.running.parcel import Delivery, Parcel

CALL_SECONDS = 1.0
"""For how long a call waits at an agent for news; for longer where there are more than a hundred agents."""
LOOK_SECONDS = 5.0
"""How often the nodes of the cluster are counted."""
CONNECT_SECONDS = 5.0
LEAVE_SECONDS = 3.0
"""How long agents may take to clean up."""
IDLE_SECONDS = 30.0
"""An agent without a job for so long leaves its place to others, who may be other drivers that ours waits for."""
START_SECONDS = 120.0
"""For how long agents may die again and again before they begin a job, as they do on a node that is about to die."""


class Ray(Executor):
    """A Ray cluster."""

    name = "ray"
    meaning = "a Ray cluster"
    elsewhere = True
    address: str = text(
        "auto",
        meaning="head of the cluster; auto: the one that this machine belongs to, local: one for this command",
        shown="auto|local|HOST:PORT",
    )
    cpus: float = real(1.0, low=0.0, meaning="cores that each job asks for")
    gpus: float | None = optional(
        real(None, low=0.0, meaning="GPUs that each job asks for (default: 1/jobs_per_gpu where nodes have any)")
    )
    memory: int | None = size(None, meaning="memory that each job asks for")

    def places(self, share: Share, uses_device: bool) -> list[Place]:
        from mobench.running.machine import CPU

        refuse_positions(Ray, share)
        if self.gpus is not None and (share.jobs_per_gpu != 1 or share.gpus == "none"):
            other = f"jobs_per_gpu={share.jobs_per_gpu}" if share.gpus != "none" else "gpus=none"
            raise UserError(f"ray.gpus={self.gpus:g} and {other} both say what part of a GPU a job gets; leave one out")
        self._connect()
        place = place_in_cluster(share, self.gpus != 0 and any("GPU" in node for node in _nodes()))
        place = place if uses_device else CPU
        request = self._requested(share, place)
        room = _room(request)
        if share.jobs is None and not room:
            asked = ", ".join(f"{amount:g} {name}" for name, amount in request.items())
            raise UserError(f"no node of the Ray cluster has room for a job, which asks for {asked}: {_offered()}")
        return [place] * (room if share.jobs is None else share.jobs)

    def jobs_per_gpu(self, share: Share) -> float:
        return max(1.0, 1.0 / self.gpus) if self.gpus else share.jobs_per_gpu

    def open(self, setup: Setup) -> None:
        self._places = {kind: self.places(setup.share, kind)[0] for kind in setup.kinds}
        self._requests = {place: self._requested(setup.share, place) for place in self._places.values()}
        self._jobs = setup.share.jobs
        self._count()
        self._closed: list[str] = []
        self._setup = setup
        self._agents: list[_Seat] = []
        self._halted: list[tuple[Job, Result]] = []
        self._stopping = False
        self._dying_since: float | None = None
        """When the first agent died before it began, of those after which none began."""

    def has_room(self, uses_device: bool, alone: bool = False) -> bool:
        kind = self._places[uses_device]
        return self._free_seat(kind, alone) is not None or self._may_grow(kind, alone)

    def why_closed(self) -> str:
        if not self._closed or self._limit_of(self._places[True]) > 0:
            return ""
        return "; ".join(dict.fromkeys(self._closed))

    def submit(self, job: Job) -> None:
        kind = self._places[job.uses_device]
        seat = self._free_seat(kind, job.alone)
        if seat is None:
            seat = _Seat(kind, self._requests[kind], self._setup)
            self._agents.append(seat)
        seat.begin(job)

    def _free_seat(self, kind: Place, alone: bool) -> _Seat | None:
        return free_seat([seat for seat in self._agents if seat.kind == kind], alone)

    def poll(self, seconds: float) -> list[tuple[Job, Result]]:
        import ray

        from mobench.running.job import Halted, Lost

        found, self._halted = self._halted, []
        self._use_idle_agents()
        calls = {seat.call: seat for seat in self._agents if seat.job is not None}
        if not calls:
            return found
        wait = CALL_SECONDS * max(1.0, len(calls) / 100)
        some, _ = ray.wait(list(calls), num_returns=1, timeout=0 if found else seconds)
        ready, _ = ray.wait(list(calls), num_returns=len(calls), timeout=0) if some else ([], [])
        for call in ready:
            seat = calls[call]
            job, result = seat.job, seat.answer(wait)
            if seat.lost:
                self._agents.remove(seat)
            if job is not None and result is not None:
                found.append((job, result))
                if isinstance(result, Lost) and result.closed:
                    self._closed.append(result.reason)
                    seat.kill()
                    self._agents.remove(seat)
            elif job is not None and seat.lost and self._stopping:
                found.append((job, Halted()))
            elif job is not None and seat.lost:
                self._check_starts(seat)
                self.submit(job)
            if seat.begun:
                self._dying_since = None
        return found

    def ask_to_stop(self) -> None:
        from mobench.running.job import Halted

        self._stopping = True
        for seat in [seat for seat in self._agents if seat.job is not None]:
            if seat.place is None:  # it waits for a place in the cluster
                assert seat.job is not None
                self._halted.append((seat.job, Halted()))
                seat.kill()
                self._agents.remove(seat)
            else:
                seat.handle.ask_to_stop.remote()

    def close(self) -> None:
        import ray

        if not getattr(self, "_ours", False):
            return
        seats = getattr(self, "_agents", [])
        leaving = [seat.handle.close.remote() for seat in seats if seat.place is not None]
        if leaving:
            ray.wait(leaving, num_returns=len(leaving), timeout=LEAVE_SECONDS)
        for seat in seats:
            seat.kill()
        self._agents = []
        ray.shutdown()
        self._ours = False

    def _check_starts(self, seat: _Seat) -> None:
        """Give up where agents do nothing but die before they begin."""
        self._dying_since = self._dying_since or time.monotonic()
        if time.monotonic() - self._dying_since > START_SECONDS:
            raise UserError(f"executor=ray: agents die before they begin: {seat.last_words}")

    def _use_idle_agents(self) -> None:
        """Give idle agents what waits for a place in the cluster, perhaps for theirs; let go those idle for long."""
        for waiting in [seat for seat in self._agents if seat.job is not None and seat.place is None]:
            assert waiting.job is not None
            others = [seat for seat in self._agents if seat is not waiting and seat.kind == waiting.kind]
            idle = free_seat(others, waiting.job.alone)
            if idle is not None:
                waiting.kill()
                self._agents.remove(waiting)
                idle.begin(waiting.job)
        for seat in [seat for seat in self._agents if seat.idle_seconds() > IDLE_SECONDS]:
            seat.handle.close.remote()  # Ray ends the agent after that, since nobody can call it any more
            self._agents.remove(seat)

    def _connect(self) -> None:
        """Join the cluster, unless that is done."""
        ray = _ray()
        if getattr(self, "_ours", False) and ray.is_initialized():
            return
        address = None if self.address == "auto" else self.address
        if address not in (None, "local"):
            _knock(address)
        elif address is None and not (address := os.environ.get("RAY_ADDRESS")):
            address = "auto"
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "1")  # a job without a GPU sees none
        options: dict[str, Any] = {}
        if address == "local":
            from mobench.running.machine import usable_cores

            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            options = {"num_cpus": usable_cores(), "include_dashboard": False}
        try:
            with _own_signals():
                ray.init(
                    address=address, namespace="mobench", log_to_driver=False, logging_level=logging.ERROR, **options
                )
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise UserError(
                f"ray.address={self.address}: no Ray cluster can be reached: {reason}; `ray start --head` starts one, "
                "ray.address=local makes one for this command"
            ) from error
        self._ours = True

    def _requested(self, share: Share, place: Place) -> dict[str, float]:
        """Return what a job asks for, in Ray's words."""
        gpus = 1.0 / share.jobs_per_gpu if self.gpus is None else self.gpus
        memory = {} if self.memory is None else {"memory": float(self.memory)}
        return {"CPU": self.cpus, **({"GPU": gpus} if place.device != "cpu" and gpus else {}), **memory}

    def _count(self) -> None:
        """Count how many jobs of each kind the nodes carry now."""
        self._looked = time.monotonic()
        self._limits = {kind: self._jobs or _room(request) for kind, request in self._requests.items()}

    def _limit_of(self, kind: Place) -> int:
        return self._limits[kind] - (0 if kind.device == "cpu" else len(self._closed))

    def _may_grow(self, kind: Place, alone: bool) -> bool:
        busy = [seat.job for seat in self._agents if seat.job is not None]
        if (alone and busy) or any(job.alone for job in busy):
            return False
        if self._jobs is None and time.monotonic() - self._looked > LOOK_SECONDS:
            self._count()  # nodes come and go
        agents = [seat for seat in self._agents if self._jobs is not None or seat.kind == kind]
        return len(agents) < self._limit_of(kind)


def _room(request: Mapping[str, float]) -> int:
    """Return how many jobs with such a request the cluster's nodes carry."""
    return sum(
        min((int(node.get(name, 0.0) / amount + 1e-9) for name, amount in request.items() if amount), default=1)
        for node in _nodes()
    )


class _Seat:
    """An agent in the cluster as the scheduling process sees it."""

    def __init__(self, kind: Place, request: Mapping[str, float], setup: Setup) -> None:
        import ray

        self.kind = kind
        ours = {name: value for name, value in os.environ.items() if name.startswith("MOBENCH_")}
        variables = {**ours, **kind.variables}
        options = {"num_cpus": request["CPU"], "num_gpus": request.get("GPU", 0.0), "max_restarts": 0}
        if "memory" in request:
            options["memory"] = request["memory"]
        self.handle: Any = ray.remote(RayAgent).options(**options).remote(setup.limits, variables)
        self._on_steps = setup.on_steps
        self._told: Steps | None = None
        self.place: tuple[str, str] | None = None
        """Its node and device; None while it waits for one."""
        self.job: Job | None = None
        self.lost = False
        self.call: Any = None
        """The call that will bring news."""
        self.begun = False
        """Whether the agent said that it has the job."""
        self.last_words = ""
        """What Ray says of its death."""
        self._idle_since = time.monotonic()

    def begin(self, job: Job) -> None:
        """Send a job; it begins when the cluster has a place for it."""
        from mobench.running.parcel import Parcel

        self.job, self.begun = job, False
        self.call = self.handle.begin.remote(Parcel.of(job))

    def idle_seconds(self) -> float:
        """Return for how long the agent has had nothing to do."""
        return 0.0 if self.job is not None else time.monotonic() - self._idle_since

    def answer(self, wait: float) -> Result | None:
        """Take in the news, and return what came of the job, None while it goes on or if it has to begin elsewhere."""
        import ray

        from mobench.running.job import Broken
        from mobench.running.parcel import receive

        assert self.job is not None
        try:
            news = ray.get(self.call)
        except ray.exceptions.RayTaskError as error:
            raise RuntimeError(f"a Ray agent failed outside of training:\n{error}") from error
        except ray.exceptions.RayError as error:
            return self._autopsy(error)
        if isinstance(news, Arrival):
            _check_version(news)
            self.begun = True
            self.place, self.call = news.place, self.handle.poll.remote(wait)
            return None
        if news.steps is not None and news.steps != self._told:
            self._told = news.steps
            self._on_steps(self.job, news.steps)
        result = receive(self.job, news)
        if result is None:
            self.call = self.handle.poll.remote(wait)
            return None
        if isinstance(result, Broken) and isinstance(news.result, Broken):
            result = Broken(f"Ray node {self.place[0] if self.place else '?'}: {result.reason}")
        self.job = self.call = None
        self._idle_since = time.monotonic()
        return result

    def kill(self) -> None:
        """End the agent whatever it does; all that it started ends with it."""
        import ray

        with suppress(ray.exceptions.RayError):
            ray.kill(self.handle)

    def _autopsy(self, error: Exception) -> Result | None:
        """Return the loss of a job whose agent is gone; None if the agent was gone before the job could begin."""
        import ray

        from mobench.running.job import Lost

        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        if self.place is None and "creation task" in str(error):
            raise UserError(f"executor=ray: a node cannot start mobench; is it installed there? {lines[-1]}") from error
        self.kill()
        self.lost, self.last_words = True, lines[0] if lines else type(error).__name__
        if not self.begun:
            return None
        node = f"node {self.place[0] if self.place else '?'}"
        if isinstance(error, ray.exceptions.OutOfMemoryError):
            return Lost(f"out of memory: Ray killed the job on {node}", cause="memory")
        return Lost(f"the job's process on Ray {node} is gone: {self.last_words}", cause="killed")


class Arrival:
    """An agent's first word."""

    def __init__(self, place: tuple[str, str]) -> None:
        from mobench.running.environment import environment

        self.place = place
        self.version = environment().versions["mobench"]


class RayAgent:
    """What runs on a node: an agent whose results folder is sent home."""

    def __init__(self, limits: Limits, variables: Mapping[str, str]) -> None:
        from mobench.running.agent import Agent
        from mobench.running.parcel import Outpost

        self._agent = Agent(limits, variables)
        self._outpost = Outpost(self._agent.scratch.folder / "results")

    def begin(self, parcel: Parcel) -> Arrival:
        """Begin a job, and say where."""
        self._agent.begin(self._outpost.unpack(parcel), parcel.plugins)
        return Arrival((platform.node(), os.environ.get("CUDA_VISIBLE_DEVICES", "")))

    def poll(self, seconds: float) -> Delivery:
        """Wait for at most `seconds` for the end of the job, and return what is new."""
        return self._outpost.deliver(self._agent.poll(seconds), self._agent.steps)

    def ask_to_stop(self) -> None:
        """Ask the job to save its state and to stop."""
        self._agent.ask_to_stop()

    def close(self) -> None:
        """Stop at once and leave nothing behind."""
        self._agent.close()


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise needs_package("ray", "ray", error) from error
    return ray


def _nodes() -> list[dict[str, float]]:
    """Return what each living node offers."""
    return [node["Resources"] for node in _ray().nodes() if node["Alive"]]


def _offered() -> str:
    names = {"CPU": "CPU", "GPU": "GPU", "memory": "memory"}
    nodes = [", ".join(f"{node[key]:g} {word}" for key, word in names.items() if key in node) for node in _nodes()]
    return "; ".join(f"a node has {node or 'nothing'}" for node in sorted(set(nodes))[:5])


def _knock(address: str) -> None:
    """Refuse an address that nobody listens at: Ray would try for a minute."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or not 0 < int(port) < 65536 or "/" in host:
        raise UserError(
            f"ray.address={address} is not accepted; ray.address takes auto, local, or HOST:PORT of the head"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        raise UserError(f"ray.address={address}: no Ray cluster can be reached: {error.strerror or error}") from error


def _check_version(arrival: Arrival) -> None:
    from mobench.running.environment import environment

    ours = environment().versions["mobench"]
    if arrival.version != ours:
        raise UserError(
            f"executor=ray: node {arrival.place[0]} has mobench {arrival.version}, this machine has {ours}; "
            "install the same version on all"
        )


@contextmanager
def _own_signals() -> Iterator[None]:
    """Put back the handlers of signals, which Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
