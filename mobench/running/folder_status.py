"""How far a results folder is: what is stored, what drivers say, and when it will be finished."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mobench.store.columns import RunColumns
from mobench.store.driver_status import DriverStatus, State, published
from mobench.store.folder import DamagedRecordError, Store


@dataclass(frozen=True)
class SuiteCounts:
    """The runs of one suite and profile."""

    suite: str
    profile: str
    planned: int
    done: int
    failed: int


@dataclass(frozen=True)
class Failure:
    """A run that failed."""

    id: str
    label: str
    reason: str
    """The last line of its error."""
    finished: str


@dataclass(frozen=True)
class FolderStatus:
    """A results folder at one moment."""

    planned: int
    """Runs of all suites together, each once; without suites what drivers plan or what is stored."""
    done: int
    failed: int
    suites: Sequence[SuiteCounts]
    failures: Sequence[Failure]
    """The latest first."""
    drivers: Sequence[tuple[DriverStatus, State]]
    damaged: int
    """Files that are no whole records."""

    @property
    def at_work(self) -> list[DriverStatus]:
        """The drivers that live."""
        return [driver for driver, state in self.drivers if state == "alive"]

    @property
    def running(self) -> int:
        """Runs that train now."""
        return sum(job.runs for driver in self.at_work for job in driver.jobs)

    @property
    def waiting(self) -> int:
        """Runs that have neither a record nor anybody who does them now."""
        return max(0, self.planned - self.done - self.failed - self.running)

    @property
    def expected_end(self) -> float | None:
        """When the last driver expects to be finished, in seconds since 1970; None while nobody can say."""
        ends = [driver.updated + driver.seconds_left for driver in self.at_work if driver.seconds_left is not None]
        return max(ends, default=None)


def folder_status(root: Path) -> FolderStatus:
    """Read a results folder, also while it is written."""
    drivers = list(published(root))
    store = Store(root)
    damages: list[DamagedRecordError] = []
    manifests = store.manifests()
    suites, parts = [], []
    for manifest in manifests:
        runs = store.columns(manifest.runs, f"{manifest.suite}.{manifest.profile}", damages.append)
        status = runs.strings("status")
        failed = status.count("failed")
        counts = SuiteCounts(manifest.suite, manifest.profile, len(manifest.runs), len(status) - failed, failed)
        suites.append(counts)
        parts.append(runs)
    if not manifests:
        parts.append(store.columns(None, "all", damages.append))
    by_id = {id_: status for runs in parts for id_, status in zip(runs.ids, runs.strings("status"), strict=True)}
    planned = {id_ for manifest in manifests for id_ in manifest.runs}
    failed = sum(status == "failed" for status in by_id.values())
    return FolderStatus(
        planned=len(planned) if manifests else max([len(by_id), *(driver.planned for driver, _ in drivers)]),
        done=len(by_id) - failed,
        failed=failed,
        suites=suites,
        failures=_failures(parts),
        drivers=drivers,
        damaged=len({str(damage.path) for damage in damages}),
    )


def _failures(parts: Iterable[RunColumns]) -> list[Failure]:
    found: dict[str, Failure] = {}
    for runs in parts:
        failed = [row for row, status in enumerate(runs.strings("status")) if status == "failed"]
        if not failed:
            continue
        chosen = RunColumns(runs.table.take(failed))
        specs, numbers = chosen.specs
        columns = [chosen.table[name].to_pylist() for name in ("id", "seed", "error", "finished")]
        for number, id_, seed, error, finished in zip(numbers.tolist(), *columns, strict=True):
            spec = specs[number]
            label = f"{spec.method} on {spec.problem}, seed {seed}"
            found[id_] = Failure(id_, label, (error or "").strip().rpartition("\n")[2], finished)
    return sorted(found.values(), key=lambda failure: failure.finished, reverse=True)
