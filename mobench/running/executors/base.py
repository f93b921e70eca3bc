"""What an executor is: it takes jobs, tells what came of them, and stops when asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, ClassVar

from mobench.core.settings import Configurable
from mobench.errors import UserError

if TYPE_CHECKING:
    from mobench.running.device_faults import DeviceFaults
    from mobench.running.interruption import Interruption
    from mobench.running.job import Job, Result, Steps
    from mobench.running.machine import Place


@dataclass(frozen=True)
class Limits:
    """What a job may use."""

    seconds: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Share:
    """What part of the machines the jobs may use at once."""

    jobs: int | None = None
    """How many at once; None: as many as the devices carry."""
    gpus: str = "auto"
    """`auto`, `none`, or positions of CUDA devices, divided by commas."""
    jobs_per_gpu: int = 1


def _no_faults() -> DeviceFaults:
    from mobench.running.device_faults import DeviceFaults

    return DeviceFaults()


@dataclass(frozen=True)
class Setup:
    """What holds for all jobs of an execution."""

    limits: Limits = field(default_factory=Limits)
    share: Share = field(default_factory=Share)
    interruption: Interruption | None = None
    on_steps: Callable[[Job, Steps], None] = lambda job, steps: None
    """Told how far jobs are, whenever an executor knows, in the thread that polls or submits."""
    faults: DeviceFaults = field(default_factory=_no_faults)
    kinds: tuple[bool, ...] = (True,)
    """What `Job.uses_device` is of the jobs that will come."""


class Executor(Configurable, ABC):
    """A place for jobs. Its settings are written `NAME.SETTING=VALUE` on the command line."""

    name: ClassVar[str] = ""
    meaning: ClassVar[str] = ""
    in_this_process: ClassVar[bool] = False
    """Whether foreign code runs in the scheduling process, and no time limit holds."""
    elsewhere: ClassVar[bool] = False
    """Whether jobs run on machines whose devices this one does not know."""

    @classmethod
    def label(cls) -> str:
        return cls.name

    @abstractmethod
    def open(self, setup: Setup) -> None:
        """Prepare for jobs; raise `UserError` where that is not possible here."""

    @abstractmethod
    def places(self, share: Share, uses_device: bool) -> list[Place]:
        """Return the places of jobs that can be under way at once, of those which use a device or of the others.

        May be asked before `open`, and raises what that would.
        """

    def jobs_per_gpu(self, share: Share) -> float:
        """Return how many jobs share a GPU."""
        return share.jobs_per_gpu

    @abstractmethod
    def has_room(self, uses_device: bool, alone: bool = False) -> bool:
        """Say whether a job of that kind can begin now; `alone`: with nothing else on its device."""

    def why_closed(self) -> str:
        """Return why no job that uses a device will ever have room again; empty while one may."""
        return ""

    @abstractmethod
    def submit(self, job: Job) -> None:
        """Begin a job. To be called only where there is room."""

    @abstractmethod
    def poll(self, seconds: float) -> list[tuple[Job, Result]]:
        """Wait for at most `seconds` for results, and return those that have arrived."""

    @abstractmethod
    def ask_to_stop(self) -> None:
        """Ask all jobs under way to save their state and to stop; their results are still to be polled."""

    @abstractmethod
    def close(self) -> None:
        """Stop everything at once; records are atomic, so nothing can break."""


@cache
def executors() -> Mapping[str, type[Executor]]:
    """Return every executor by name: whatever a module of this package defines."""
    found = {}
    package = import_module("mobench.running.executors")
    for module in iter_modules(package.__path__):
        for value in vars(import_module(f"{package.__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Executor) and value.name:
                found[value.name] = value
    return dict(sorted(found.items()))


def place_in_cluster(share: Share, has_gpu: bool) -> Place:
    """Return the place of a job that uses a device on a cluster: with the GPU that it is promised, or the CPU."""
    from mobench.core.resources import resources
    from mobench.running.machine import CPU, Place, refuse_contradiction

    device = resources().device
    refuse_contradiction(device, share.gpus)
    if device not in ("auto", "cpu", "cuda"):
        raise UserError(
            f"device={device} is not accepted on a cluster, which chooses devices; device takes cpu or cuda"
        )
    cpu = device == "cpu" or share.gpus == "none" or not (has_gpu or device == "cuda")
    return CPU if cpu else Place("cuda", None)


def refuse_positions(executor: type[Executor], share: Share) -> None:
    """Refuse CUDA devices by position where a cluster chooses devices."""
    if share.gpus not in ("auto", "none"):
        raise UserError(
            f"gpus={share.gpus} is not accepted with executor={executor.name}, which chooses devices itself; "
            f"gpus takes auto or none, and {executor.name}.gpus says how many each job gets"
        )


def needs_package(executor: str, package: str, error: ImportError) -> UserError:
    """Build the error for an executor whose extra is not installed."""
    return UserError(
        f"executor={executor} needs the package {package}: pip install 'mobench[{executor}]' ({error.msg})"
    )
