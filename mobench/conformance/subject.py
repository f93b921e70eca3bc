"""A method under test, and the numbers of objectives it can be tested with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mobench.conformance.finding import FAILURES
from mobench.conformance.scenes import Precision, Scene, random_scenes, start, trajectory
from mobench.core.method import Method
from mobench.errors import UserError

USUAL = (1, 2, 3, 5)
"""The numbers of objectives that are tried, unless a method's settings fix the number."""

LARGEST = 12


@dataclass(frozen=True)
class Subject:
    """Fresh instances of one method with one choice of settings."""

    make: Callable[[], Method]
    counts: tuple[int, ...]
    """Numbers of objectives to test with."""
    precision: Precision = np.float64
    """The precision of the scenes that it is shown."""

    @property
    def several(self) -> tuple[int, ...]:
        """The numbers of objectives above one."""
        return tuple(k for k in self.counts if k > 1)

    @property
    def typical(self) -> int:
        """Three objectives where the settings allow it."""
        return 3 if 3 in self.counts else self.several[0]

    def started(self, k: int, seed: int = 0) -> Method:
        """Return a fresh instance, reset for a run with `k` objectives."""
        return start(self.make(), k, seed)

    def scenes(self, k: int, n: int, count: int) -> list[Scene]:
        """Return random scenes with `k` objectives in Rⁿ."""
        return random_scenes(k, n, count, precision=self.precision)

    @property
    def is_random(self) -> bool:
        """Whether the method draws random numbers when it meets the typical number of objectives."""
        rng = np.random.default_rng(0)
        before = rng.bit_generator.state
        method = self.make()
        method.reset(self.typical, rng)
        trajectory(method, random_scenes(self.typical, 4 * self.typical, 3))
        return bool(rng.bit_generator.state != before)


def subject(method: type[Method], settings: Mapping[str, Any]) -> Subject:
    """Prepare `method` with `settings`; a list with one value per objective fixes their number."""
    accepted, refusal = [], ""
    for k in range(1, LARGEST + 1):
        try:
            start(method(**settings), k)
        except UserError as error:
            refusal = str(error)
            continue
        except FAILURES:
            pass  # a fault, not a refusal: the checks meet it again and report it
        accepted.append(k)
    if not any(k > 1 for k in accepted):
        raise UserError(f"{method.name} accepts no number of objectives from 2 to {LARGEST}: {refusal}")
    usual = [k for k in USUAL if k in accepted]
    return Subject(lambda: method(**settings), tuple(usual if len(usual) > 1 else accepted))
