"""Where submitit puts pilots: the queue of a Slurm cluster, or processes of this machine that behave like one."""

from __future__ import annotations

import shutil
import signal
import subprocess
import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from mobench.errors import UserError
from mobench.running.executors.slurm import asks_for_gpus
from mobench.running.pilot import Pilot

COMMAND_SECONDS = 60.0
"""How long a command of Slurm may take; a busy controller answers late."""
ARRAY_SIZE = 500
"""At most this many jobs are submitted at once; Slurm's own limit is 1000 unless it is configured."""
REQUEUES = 1_000_000
"""How often submitit queues a job again: always."""


class BatchQueue(ABC):
    """A queue of jobs with ids."""

    @abstractmethod
    def submit(self, pilots: Sequence[Pilot], folder: Path, uses_gpu: bool) -> list[str]:
        """Queue pilots, as arrays where there are several, and return their ids; logs go to `folder`."""

    @abstractmethod
    def alive(self, ids: Collection[str]) -> set[str] | None:
        """Return which of the jobs wait or run; None if nobody knows at the moment."""

    @abstractmethod
    def cancel(self, ids: Collection[str]) -> None:
        """End jobs, whatever they do; those that are over already are passed over."""

    def cause_of_death(self, id_: str) -> str:
        """Return in a word how a job ended, empty where that is not known."""
        return ""


class SlurmQueue(BatchQueue):
    """The queue of a Slurm cluster."""

    def __init__(self, minutes: int, options: Mapping[str, str], setup: str | None) -> None:
        self._minutes = minutes
        self._options = dict(options)
        self._setup = setup

    def check(self) -> None:
        """Refuse now what sbatch would refuse; nothing is submitted."""
        if shutil.which("sbatch") is None:
            raise UserError(
                "executor=slurm needs the commands of Slurm, and there is no sbatch here; "
                "slurm.cluster=local tries everything out without a cluster"
            )
        flags = [f"--{name}={value}" if value else f"--{name}" for name, value in self._options.items()]
        answer = _command("sbatch", "--test-only", f"--time={self._minutes}", *flags, "--wrap=true")
        if answer.returncode:
            raise refusal(answer.stderr)

    def submit(self, pilots: Sequence[Pilot], folder: Path, uses_gpu: bool) -> list[str]:
        ids: list[str] = []
        for start in range(0, len(pilots), ARRAY_SIZE):
            options = {key: value for key, value in self._options.items() if uses_gpu or not asks_for_gpus(key, value)}
            more = {name: value or True for name, value in options.items()}
            setup = {} if self._setup is None else {"slurm_setup": [self._setup]}
            own = {"slurm_additional_parameters": {"requeue": True, **more}, "slurm_wckey": None, **setup}
            ids += _submitted("slurm", pilots[start : start + ARRAY_SIZE], folder, self._minutes, own)
        return ids

    def alive(self, ids: Collection[str]) -> set[str] | None:
        jobs = ",".join(sorted({id_.partition("_")[0] for id_ in ids}))
        answer = _command("squeue", "--noheader", "--array", "--jobs", jobs, "--format=%i")
        if answer.returncode and "Invalid job id" not in answer.stderr:
            return None
        return set(ids) & set(answer.stdout.split())

    def cancel(self, ids: Collection[str]) -> None:
        if ids:
            _command("scancel", "--quiet", *sorted(ids))

    def cause_of_death(self, id_: str) -> str:
        words = _command("scontrol", "--oneliner", "show", "job", id_).stdout.split()
        return next((word.partition("=")[2] for word in words if word.startswith("JobState=")), "")


class LocalQueue(BatchQueue):
    """Processes of this machine."""

    def __init__(self, minutes: int) -> None:
        self._minutes = minutes

    def submit(self, pilots: Sequence[Pilot], folder: Path, uses_gpu: bool) -> list[str]:
        # Ctrl-C is the driver's business; processes started meanwhile inherit that it is blocked.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return _submitted("local", pilots, folder, self._minutes, {})
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def alive(self, ids: Collection[str]) -> set[str]:
        return {id_ for id_ in ids if _controller(id_) is not None}

    def cancel(self, ids: Collection[str]) -> None:
        for id_ in ids:
            if (controller := _controller(id_)) is not None:
                for process in (controller, *controller.children()):
                    with suppress(psutil.NoSuchProcess):
                        process.kill()


def refusal(said: str) -> UserError:
    """Build the error for a request that Slurm refuses, from what it said."""
    lines = [line.strip().removeprefix("sbatch: ").removeprefix("error: ") for line in said.splitlines()]
    told = [line for line in lines if line and not line.startswith(("subprocess", "Traceback"))]
    return UserError(f"Slurm refuses the jobs: {'; '.join(dict.fromkeys(told[-2:])) or 'it does not say why'}")


def _submitted(cluster: str, pilots: Sequence[Pilot], folder: Path, minutes: int, own: Mapping[str, Any]) -> list[str]:
    import submitit

    executor = submitit.AutoExecutor(folder=folder, cluster=cluster, **{f"{cluster}_max_num_timeout": REQUEUES})
    executor.update_parameters(name="mobench", timeout_min=minutes, **own)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with executor.batch():
                jobs = [executor.submit(pilot) for pilot in pilots]
    except submitit.core.utils.FailedJobError as error:
        raise refusal(str(error)) from error
    return [str(job.job_id) for job in jobs]


def _controller(id_: str) -> psutil.Process | None:
    """Return the process in which submitit watches over a local job, None where it is over."""
    try:
        process = psutil.Process(int(id_))
        return process if any("submitit" in word for word in process.cmdline()) else None  # zombies have no words
    except psutil.Error:
        return None


def _command(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=COMMAND_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 1, "", str(error))
