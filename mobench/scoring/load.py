"""Stored results, suite by suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

import pandas as pd

from mobench.core.spec import hash_of
from mobench.planning.experiment import Experiment, difference
from mobench.planning.suite import Suite, load_suite, profiles_of, suite_files
from mobench.scoring.results import SuiteResults
from mobench.store.folder import OnDamage, Store
from mobench.store.stored_runs import StoredRuns
from mobench.store.suite_manifest import SuiteManifest


def stored_suites(manifests: Iterable[SuiteManifest], files: Mapping[str, str]) -> list[Suite]:
    """Return the suite of every manifest: the file that the user named for it, or else as `suite_of` finds it."""
    return [
        load_suite(files[manifest.suite], manifest.profile) if manifest.suite in files else suite_of(manifest)
        for manifest in manifests
    ]


def read_stored(
    store: Store,
    suite: Suite,
    manifest: SuiteManifest,
    *,
    selection: str = "validation",
    on_damage: OnDamage | None = None,
) -> list[SuiteResults]:
    """Read the runs of a manifest, experiment by experiment; the first is the profile's own where it was run."""
    index = f"{manifest.suite}.{manifest.profile}"
    found = []
    for experiment in experiments_of(suite, manifest):
        records = StoredRuns(store, experiment.runs, on_damage, index)
        planned = len(experiment.runs)
        found.append(
            SuiteResults.read(suite, records, planned=planned, selection=selection, differs=experiment.differs)
        )
    return found


def memberships(store: Store, suites: Iterable[Suite], manifests: Iterable[SuiteManifest]) -> pd.DataFrame:
    """Return a row for every planned run and experiment it belongs to: `id`, `suite`, `profile`, `experiment`."""
    rows = [
        (id_, suite.name, suite.profile, experiment.differs)
        for suite, manifest in zip(suites, manifests, strict=True)
        for experiment in experiments_of(suite, manifest)
        for id_ in experiment.runs
    ]
    return pd.DataFrame(rows, columns=["id", "suite", "profile", "experiment"])


def suite_of(manifest: SuiteManifest) -> Suite:
    """Return the suite of a manifest: as it ships with mobench, or else as it was when its runs were planned."""
    if manifest.suite in suite_files() and manifest.profile in profiles_of(manifest.suite):
        return load_suite(manifest.suite, manifest.profile)
    known = {field.name for field in fields(Suite)}
    return Suite(**{key: value for key, value in manifest.definition.items() if key in known})


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
