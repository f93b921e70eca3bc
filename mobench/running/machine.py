"""What this machine offers to worker processes: cores that may be used, and CUDA devices."""

from __future__ import annotations

import os
from dataclasses import dataclass

from mobench.core.cuda import cuda_device_count
from mobench.core.resources import resources
from mobench.errors import UserError
from mobench.running.executors.base import Share


@dataclass(frozen=True)
class Place:
    """Where a worker computes."""

    device: str | None
    """The CUDA device that it sees, as in `CUDA_VISIBLE_DEVICES`; None: the CPU."""

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a worker at this place."""
        if self.device is None:
            return {}
        return {"CUDA_VISIBLE_DEVICES": self.device, **resources().with_one_gpu().variables}


def usable_cores() -> int:
    """Return how many cores this process may use: what affinity and the limits of a container leave."""
    import joblib  # type: ignore[import-untyped]

    cores: int = joblib.cpu_count()
    return cores


def visible_devices(device: str, gpus: str) -> list[str]:
    """Return the names of the CUDA devices that runs may use; none if they are to stay on the CPU."""
    if device == "cpu" or gpus == "none":
        return []
    count = cuda_device_count()
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = [str(position) for position in range(count)] if listed is None else listed.split(",")[:count]
    if device.startswith("cuda:"):  # such a device is there: `Resources.check`
        return [names[int(device.removeprefix("cuda:"))]]
    return names


def places(share: Share, devices: list[str], cores: int) -> list[Place]:
    """Return a place for each worker.

    With CUDA devices their number is devices times `jobs_per_gpu`, without it is the number of cores; `jobs`
    asks for fewer, and without devices for more.
    """
    chosen = _chosen(share.gpus, devices)
    if not chosen:
        return [Place(None)] * (cores if share.jobs is None else share.jobs)
    carried = len(chosen) * share.jobs_per_gpu
    if share.jobs is not None and share.jobs > carried:
        raise UserError(
            f"jobs={share.jobs} is more than the {len(chosen)} GPUs take with jobs_per_gpu={share.jobs_per_gpu}; "
            f"at most {carried}, or a larger jobs_per_gpu"
        )
    return [Place(chosen[index % len(chosen)]) for index in range(carried if share.jobs is None else share.jobs)]


def _chosen(gpus: str, devices: list[str]) -> list[str]:
    if gpus in ("auto", "none"):
        return devices if gpus == "auto" else []
    chosen = []
    for word in gpus.split(","):
        if not word.strip().isdigit() or int(word) >= len(devices):
            there = f"positions from 0 to {len(devices) - 1}" if devices else "none: there is no CUDA device here"
            raise UserError(f"gpus={gpus} is not accepted; gpus takes auto, none, or positions of devices ({there})")
        chosen.append(devices[int(word)])
    if len(set(chosen)) < len(chosen):
        raise UserError(f"gpus={gpus} names a device twice; jobs_per_gpu says how many jobs share one")
    return chosen
