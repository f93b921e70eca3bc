"""Whether a GPU is still good for anything: faults in a row after which nothing more is begun on it."""

from __future__ import annotations

import os
import platform
from collections import Counter
from dataclasses import replace

from mobench.running.job import Job, Lost, Result
from mobench.running.machine import Place

FRESH_TIMES = 3
"""How often what a device failed is tried again in a fresh process without having come further."""


class DeviceFaults:
    """The faults of each device since something came further on it.

    A fault does not count against a device that works for others while it never did for this method.
    """

    def __init__(self) -> None:
        self.closed: dict[Place, str] = {}
        """Why nothing is begun on a device any more."""
        self._in_a_row: Counter[Place] = Counter()
        self._works: set[Place] = set()
        self._proven: set[str] = set()
        """The methods that came further on any device."""

    def note(self, place: Place, job: Job, result: Result) -> Result:
        """Take in what came of a job, and return it with the name of the device if that is closed now."""
        methods = {spec.method for spec in job.specs}
        if not place.device.startswith("cuda") or place in self.closed:
            return result
        if isinstance(result, list) or (isinstance(result, Lost) and result.further):
            self._works.add(place)
            self._proven |= methods
            self._in_a_row[place] = 0
        if not isinstance(result, Lost) or not result.of_device:
            return result
        if place not in self._works or methods & self._proven or result.cause == "no device":
            self._in_a_row[place] += 1
        if self._in_a_row[place] <= FRESH_TIMES:
            return result
        self.closed[place] = result.reason
        number = place.visible or os.environ.get("CUDA_VISIBLE_DEVICES") or "0"
        return replace(result, closed=f"GPU {number} of {platform.node()}")
