"""Which code and machines made the results, and when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mobench.store.columns import RunColumns
from mobench.store.record import Environment

LIBRARIES = ("python", "torch", "numpy", "scipy", "cuda", "cudnn", "driver")


@dataclass
class Provenance:
    """What the environments of many runs have in common, and how many runs each has."""

    versions: dict[str, int] = field(default_factory=dict)
    """Runs by version of mobench."""
    commits: dict[str, int] = field(default_factory=dict)
    """Runs by commit, `+` after it where the sources differed from it."""
    libraries: dict[str, int] = field(default_factory=dict)
    machines: dict[str, int] = field(default_factory=dict)
    first: str = ""
    last: str = ""

    @classmethod
    def of(cls, runs: RunColumns) -> Provenance:
        """Take note of where runs come from."""
        found = cls()
        environments, number = runs.environments
        for environment, count in zip(environments, np.bincount(number).tolist(), strict=True):
            found._note(environment, count)
        found.first, found.last = runs.bounds()
        return found

    def _note(self, environment: Environment, runs: int) -> None:
        versions, hardware, code = environment.versions, environment.hardware, environment.code
        _count(self.versions, str(versions.get("mobench")), runs)
        if code:
            _count(self.commits, f"{str(code.get('commit'))[:12]}{'+' if code.get('dirty') else ''}", runs)
        named = [name for name in LIBRARIES if versions.get(name)]
        _count(self.libraries, ", ".join(f"{name} {versions[name]}" for name in named), runs)
        parts = [str(hardware.get("cpu")), f"{hardware.get('cores')} cores", *_arithmetic(hardware)]
        _count(self.machines, f"{hardware.get('device')}: {', '.join(parts)}", runs)

    @classmethod
    def together(cls, parts: Iterable[Provenance]) -> Provenance:
        """Return what several suites have in common."""
        total = cls()
        for part in parts:
            for name in ("versions", "commits", "libraries", "machines"):
                for key, count in getattr(part, name).items():
                    _count(getattr(total, name), key, count)
            total.first = min(filter(None, (total.first, part.first)), default="")
            total.last = max(total.last, part.last)
        return total


def _arithmetic(hardware: Mapping[str, Any]) -> list[str]:
    """Return in words what a record says of how its GPU computed."""
    told = [f"capability {hardware['capability']}"] if hardware.get("capability") else []
    rounded = {"tf32_convolutions": "convolutions", "tf32_products": "products"}
    allowed = [word for name, word in rounded.items() if hardware.get(name)]
    if any(name in hardware for name in rounded):
        told.append(f"TF32 in {' and '.join(allowed)}" if allowed else "no TF32")
    shared = hardware.get("jobs_per_gpu", 1)
    return told if shared == 1 else [*told, f"{shared} jobs a GPU"]


def _count(counts: dict[str, int], key: str, by: int) -> None:
    counts[key] = counts.get(key, 0) + by


@dataclass(frozen=True)
class SentIn:
    """The submitted runs of one method in one suite."""

    by: str
    verdict: str
    """What came of repeating them, in words, with the share that was repeated."""
    ranked: bool
    """Whether that is enough to rank them."""
    runs: int
    repeated: frozenset[str]
    """The ids of the repeated runs, whose records are the repeated ones. The cost of all others is a claim."""

    @property
    def claimed(self) -> bool:
        """Whether what the runs cost is, at least in part, the submitter's word."""
        return len(self.repeated) < self.runs
