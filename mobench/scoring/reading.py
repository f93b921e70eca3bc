"""Stored results, suite by suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields

from mobench.planning.suite import Suite, load_suite, profiles_of, suite_files
from mobench.scoring.suite_results import SuiteResults
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
) -> SuiteResults:
    """Read the runs of a manifest."""
    records = StoredRuns(store, manifest.runs, on_damage, f"{manifest.suite}.{manifest.profile}")
    return SuiteResults.read(suite, records, planned=len(manifest.runs), selection=selection)


def suite_of(manifest: SuiteManifest) -> Suite:
    """Return the suite of a manifest: as it ships with mobench, or else as it was when its runs were planned."""
    if manifest.suite in suite_files() and manifest.profile in profiles_of(manifest.suite):
        return load_suite(manifest.suite, manifest.profile)
    known = {field.name for field in fields(Suite)}
    return Suite(**{key: value for key, value in manifest.definition.items() if key in known})
