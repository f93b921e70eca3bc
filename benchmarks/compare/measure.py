"""Interleaved rounds of two revisions, with asv's discovery, processes, timing and medians.

asv can interleave the rounds of environments that it builds itself, not of existing ones, and it
then alternates after a whole suite. Here both revisions' fork servers are open at the same time, and
every benchmark of one is followed at once by the same benchmark of the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from asv.benchmarks import Benchmarks  # type: ignore[import-untyped]
from asv.commands.compare import unroll_result  # type: ignore[import-untyped]
from asv.config import Config  # type: ignore[import-untyped]
from asv.environment import ExistingEnvironment  # type: ignore[import-untyped]
from asv.repo import NoRepository  # type: ignore[import-untyped]
from asv.runner import get_spawner, run_benchmark  # type: ignore[import-untyped]
from asv_runner.statistics import compute_stats  # type: ignore[import-untyped]

from benchmarks.compare.revisions import Revision
from benchmarks.compare.statistics import Rounds
from mobench.errors import UserError

COMPARED = ("time", "peakmemory")
"""The kinds of benchmarks that have a better side; what `track_` returns may be good either way."""
SHORT = {"rounds": 1, "repeat": (3, 5, 0.1), "warmup_time": 0.03}
"""asv's settings for one round, of 3 to 5 samples: rounds are many, so each is short."""
SAMPLE_SECONDS = 0.01
LONG_SECONDS = 0.5
"""A call that takes longer is a sample of its own, the only one of its round after one to warm up."""


@dataclass(frozen=True)
class Case:
    """One benchmark with one combination of its parameters."""

    name: str
    unit: str
    benchmark: dict[str, Any]
    index: int
    number: int = 0
    """Calls in one sample; 0 leaves the choice to asv."""
    long: bool = False
    """Whether one call is a sample of its own."""


class Pair:
    """A base and a head, and the benchmarks of the head that both run."""

    def __init__(self, base: Revision, head: Revision) -> None:
        folder = head.files / "benchmarks"
        if not (folder / "asv.conf.json").exists():
            raise UserError(f"{head.name} has no benchmarks/asv.conf.json; the head needs the benchmarks")
        self.config = Config.load(folder / "asv.conf.json")
        self.config.benchmark_dir = str(folder / self.config.benchmark_dir)
        self.environments = [self._environment(revision.python) for revision in (base, head)]

    def _environment(self, python: Path) -> Any:
        return ExistingEnvironment(self.config, str(python), {}, {})

    def cases(self, pattern: str | None) -> list[Case]:
        """Return the compared benchmarks whose name with parameters matches a regular expression."""
        found = Benchmarks.discover(self.config, NoRepository(), self.environments[1:], [None], regex=pattern)
        cases = []
        for key, benchmark in sorted(found.items()):
            if benchmark["type"] not in COMPARED:
                continue
            if benchmark.get("timeout") is None:
                benchmark["timeout"] = self.config.default_benchmark_timeout
            names = [name for name, _ in unroll_result(key, benchmark["params"], None)]
            chosen = found.benchmark_selection[key]
            cases += [Case(names[i], benchmark["unit"], benchmark, i) for i in (chosen or [0])]
        if not cases:
            raise UserError(f"bench={pattern} matches none of the benchmarks in {self.config.benchmark_dir}")
        return cases

    def calibrated(self, cases: Sequence[Case]) -> list[Case]:
        """Return the cases with a fixed number of calls in a sample, the same for both sides and all rounds.

        asv chooses it by the clock on the wall at each run, which on a busy machine gives one call for
        a benchmark of microseconds. A first round, which is not counted, says how long a call takes.
        """
        (measured,) = self.rounds(cases, 1)
        fixed = []
        for case in cases:
            seen = measured[case.name]
            if case.benchmark["type"] == "time" and seen.failure is None:
                shortest = min(value for value in (*seen.base, *seen.head) if value is not None)
                number = max(1, round(SAMPLE_SECONDS / shortest))
                fixed.append(replace(case, number=number, long=shortest > LONG_SECONDS))
            else:
                fixed.append(case)
        return fixed

    def rounds(self, cases: Sequence[Case], count: int, passes: int = 1) -> Iterator[Mapping[str, Rounds]]:
        """Measure round after round, and yield everything so far after each; what fails is not repeated.

        In a round every benchmark runs `passes` times on both sides, in changing order; the round's
        value is asv's median of all its samples.
        """
        values: dict[str, tuple[list[float | None], list[float | None]]] = {case.name: ([], []) for case in cases}
        for number in range(count):
            going = [case for case in cases if all(None not in side for side in values[case.name])]
            samples: dict[str, tuple[list[float], list[float]]] = {case.name: ([], []) for case in going}
            with self._servers() as servers:
                for run, (position, case) in itertools.product(range(passes), enumerate(going)):
                    for side in (0, 1) if (number + run + position) % 2 else (1, 0):
                        samples[case.name][side].extend(_samples(case, servers[side]))
            for name, pooled in samples.items():
                for side in (0, 1):
                    values[name][side].append(compute_stats(pooled[side], 1)[0])
            yield {name: Rounds(tuple(base), tuple(head)) for name, (base, head) in values.items()}

    @contextmanager
    def _servers(self) -> Iterator[list[Any]]:
        """Open new processes that have loaded the benchmarks, one for each revision; both load at the same time."""
        servers: list[Any] = []
        try:
            for environment in self.environments:
                servers.append(get_spawner(environment, self.config.benchmark_dir, launch_method="forkserver"))
            with ThreadPoolExecutor(len(servers)) as threads:
                list(threads.map(lambda server: server.preimport(), servers))
            yield servers
        finally:
            for server in servers:
                server.close()


def _samples(case: Case, server: Any) -> list[float]:
    """Return the samples of a short run, or the one value that the benchmark returns; nothing if it fails."""
    settings = {**SHORT, "number": case.number} if case.number else dict(SHORT)
    if case.long:
        settings["repeat"] = 1
    answer = run_benchmark(case.benchmark, server, profile=False, selected_idx={case.index}, extra_params=settings)
    samples, result = answer.samples[case.index], answer.result[case.index]
    return [float(value) for value in ([result] if samples is None else samples) if value is not None]
