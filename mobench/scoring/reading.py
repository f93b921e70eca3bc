"""The results of every suite and profile that a store holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from typing import Any

from mobench.planning.suite import Suite, load_suite, profiles_of, suite_files
from mobench.scoring.suite_results import SuiteResults
from mobench.store.folder import OnDamage, Store
from mobench.store.manifest import Manifest


def stored_results(
    store: Store,
    manifests: Iterable[Manifest],
    files: Mapping[str, str] | None = None,
    *,
    selection: str = "validation",
    on_damage: OnDamage | None = None,
) -> Iterator[SuiteResults]:
    """Yield the results of the given manifests, one after the other; some may hold no run yet.

    `files` are the suite files that the user named, by suite: tables and plots are then theirs.
    """
    named = files or {}
    for manifest in manifests:
        file = named.get(manifest.suite)
        suite = suite_of(manifest) if file is None else load_suite(file, manifest.profile)
        records = partial(store.records, manifest.runs, on_damage=on_damage)
        yield SuiteResults.read(suite, records, planned=len(manifest.runs), selection=selection)


def suite_of(manifest: Manifest) -> Suite:
    """Return the suite of a manifest: as it ships with mobench, or else as it was when its runs were planned."""
    if manifest.suite in suite_files() and manifest.profile in profiles_of(manifest.suite):
        return load_suite(manifest.suite, manifest.profile)
    known = {field.name for field in fields(Suite)}
    parts: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in manifest.definition.items()
        if key in known
    }
    return Suite(**parts)
