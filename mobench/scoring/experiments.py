"""The experiments of a manifest: which of its runs are compared with which, and what tells them from the profile."""

from __future__ import annotations

from dataclasses import dataclass

from mobench.core.spec import hash_of
from mobench.planning.experiment import Experiment, difference
from mobench.planning.suite import Suite
from mobench.store.suite_manifest import SuiteManifest


@dataclass(frozen=True)
class ExperimentRuns:
    """The planned runs of one experiment."""

    differs: str
    """What differs from the profile, empty for the profile's own experiment."""
    runs: tuple[str, ...]
    """Run ids in sorted order."""


def experiments_of(suite: Suite, manifest: SuiteManifest) -> list[ExperimentRuns]:
    """Return the experiments of a manifest as they relate to `suite`, the profile's own first.

    They are compared with the suite as it is now: what was planned before its file was edited differs from it too.
    """
    profile = Experiment.of(suite)
    found: dict[str, tuple[str, dict[str, None]]] = {}
    for planned in manifest.experiments:
        differs = difference(planned.experiment, profile)
        found.setdefault(hash_of(differs.parts), (differs.words, {}))[1].update(dict.fromkeys(planned.runs))
    names: dict[str, int] = {}
    listed = []
    for words, ids in found.values():
        names[words] = names.get(words, 0) + 1
        listed.append(ExperimentRuns(f"{words} ({names[words]})" if names[words] > 1 else words, tuple(sorted(ids))))
    return sorted(listed, key=lambda each: bool(each.differs))
