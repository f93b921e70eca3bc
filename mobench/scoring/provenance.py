"""Which code and machines made the results, and when: collected while the records are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mobench.store.record import RunRecord


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

    def watch(self, records: Iterable[RunRecord]) -> Iterator[RunRecord]:
        """Yield the records, and take note of where they come from."""
        for record in records:
            self._note(record)
            yield record

    def _note(self, record: RunRecord) -> None:
        versions, hardware, code = (
            record.environment.versions,
            record.environment.hardware,
            record.environment.code,
        )
        _count(self.versions, str(versions.get("mobench")))
        if code:
            _count(self.commits, f"{str(code.get('commit'))[:12]}{'+' if code.get('dirty') else ''}")
        named = [name for name in ("python", "torch", "numpy", "scipy") if versions.get(name)]
        _count(self.libraries, ", ".join(f"{name} {versions[name]}" for name in named))
        _count(self.machines, f"{hardware.get('device')}: {hardware.get('cpu')}, {hardware.get('cores')} cores")
        self.first = min(filter(None, (self.first, record.started)))
        self.last = max(self.last, record.finished)

    def facts(self) -> list[tuple[str, list[str]]]:
        """Return where results come from, as terms and descriptions."""

        def counted(counts: dict[str, int]) -> list[str]:
            return [f"{key} ({count} runs)" for key, count in sorted(counts.items(), key=lambda item: -item[1])]

        rows = [
            ("mobench", counted(self.versions)),
            ("commit", counted(self.commits)),
            ("libraries", counted(self.libraries)),
            ("machines", counted(self.machines)),
            ("ran", [f"{_minute(self.first)} to {_minute(self.last)}"] if self.first else []),
        ]
        notes = (
            ["A plus after a commit: the sources differed from it."] if any("+" in key for key in self.commits) else []
        )
        return [(term, entries) for term, entries in [*rows, ("", notes)] if entries]

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


def _count(counts: dict[str, int], key: str, by: int = 1) -> None:
    counts[key] = counts.get(key, 0) + by


def _minute(stamp: str) -> str:
    return f"{stamp[:10]} {stamp[11:16]} UTC"
