"""What this machine offers to worker processes: cores that may be used, and CUDA devices."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

from mobench.core.cuda import cuda_device_count, why_unusable
from mobench.core.resources import resources
from mobench.errors import UserError
from mobench.running.executors.base import Share


@dataclass(frozen=True)
class Place:
    """Where a worker computes."""

    device: str
    """The torch device of its runs."""
    visible: str | None
    """The CUDA devices that it sees, as in `CUDA_VISIBLE_DEVICES`; None: those that are visible anyway."""

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a worker at this place."""
        seen = {} if self.visible is None else {"CUDA_VISIBLE_DEVICES": self.visible}
        return {**seen, **resources().on(self.device).variables}


CPU = Place("cpu", "")
"""A core, where no GPU is seen."""
SHARED_GPU = 1.5
"""A GPU does at most so many times more when jobs share it: assumed, not measured."""


def speedup(found: Sequence[Place], jobs_per_gpu: float) -> float:
    """Return how many times sooner jobs end at all these places than one after the other."""
    gpus = {place.visible for place in found}
    count = len(gpus) if None not in gpus else math.ceil(len(found) / jobs_per_gpu)
    return len(found) if found[0].device == "cpu" else min(len(found), SHARED_GPU * count)


def usable_cores() -> int:
    """Return how many cores this process may use: what affinity and the limits of a container leave."""
    import joblib  # type: ignore[import-untyped]

    cores: int = joblib.cpu_count()
    return cores


def places(share: Share, uses_device: bool) -> list[Place]:
    """Return a place for each worker that takes runs of problems which use a device, or of those which do not.

    With CUDA devices the number of the first is devices times `jobs_per_gpu`, all others get a core each; `jobs` asks
    for fewer, and on the CPU for more.
    """
    device, chosen = resources().device, chosen_devices(share)
    if not uses_device or not chosen:
        elsewhere = uses_device and device != "auto" and not device.startswith(("cpu", "cuda"))
        place = Place(device, None) if elsewhere else CPU
        return [place] * (usable_cores() if share.jobs is None else share.jobs)
    if reason := why_unusable("cuda"):
        raise UserError(
            f"this machine has {len(chosen)} CUDA device{'s' * (len(chosen) > 1)} that torch cannot use: {reason}; "
            "device=cpu trains on the CPU"
        )
    carried = len(chosen) * share.jobs_per_gpu
    if share.jobs is not None and share.jobs > carried:
        raise UserError(
            f"jobs={share.jobs} is more than the {len(chosen)} GPUs take with jobs_per_gpu={share.jobs_per_gpu}; "
            f"at most {carried}, or a larger jobs_per_gpu"
        )
    count = carried if share.jobs is None else share.jobs
    return [Place("cuda", chosen[index % len(chosen)]) for index in range(count)]


def visible_devices() -> list[str]:
    """Return the names of the CUDA devices that the driver counts and this process may see."""
    count = cuda_device_count()
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    return [str(position) for position in range(count)] if listed is None else listed.split(",")[:count]


def chosen_devices(share: Share) -> list[str]:
    """Return the names of the CUDA devices that runs may use; none if they are to stay on the CPU."""
    device, gpus = resources().device, share.gpus
    refuse_contradiction(device, gpus)
    if gpus == "none" or not (device == "auto" or device.startswith("cuda")):
        return []
    names = visible_devices()
    if device.startswith("cuda:"):
        position = int(device.removeprefix("cuda:"))
        if position >= len(names):
            raise UserError(f"device={device} is not accepted; there are {len(names)} CUDA devices here")
        return [names[position]]
    if device == "cuda" and not names:
        raise UserError(f"device=cuda cannot be used here: {why_unusable(device)}; device=cpu always can")
    return names if gpus == "auto" else _at(gpus, names)


def refuse_contradiction(device: str, gpus: str) -> None:
    """Refuse a device and a choice of GPUs of which one would have no effect."""
    by_position = gpus not in ("auto", "none")
    if (gpus == "none" and device not in ("auto", "cpu")) or (by_position and device not in ("auto", "cuda")):
        raise UserError(f"device={device} and gpus={gpus} do not go together; leave one of them out")


def _at(gpus: str, names: list[str]) -> list[str]:
    chosen = []
    for word in gpus.split(","):
        if not word.strip().isdigit() or int(word) >= len(names):
            there = f"positions from 0 to {len(names) - 1}" if names else "none: there is no CUDA device here"
            raise UserError(f"gpus={gpus} is not accepted; gpus takes auto, none, or positions of devices ({there})")
        chosen.append(names[int(word)])
    if len(set(chosen)) < len(chosen):
        raise UserError(f"gpus={gpus} names a device twice; jobs_per_gpu says how many jobs share one")
    return chosen
