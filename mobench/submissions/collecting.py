"""From a results folder to a bundle: all runs that the suites ask of the submitted methods.

Of a record a bundle keeps what the leaderboard shows. Metrics, diagnostics and costs are kept to the last
bit. Curves are most of a record's size: `mobench.submissions.curves` says what stays of them. Of a traceback stays its
last line: the rest names the submitter's folders.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from mobench.core.registry import plugin_paths
from mobench.errors import UserError, unknown
from mobench.planning.suite import included, suite_files
from mobench.store.folder import Store
from mobench.store.record import RunRecord
from mobench.store.suite_manifest import SuiteManifest
from mobench.submissions import limits
from mobench.submissions.accepted import Settings, is_plain, spell
from mobench.submissions.bundle import Bundle, SubmittedMethod, SubmittedSuite
from mobench.submissions.curves import CURVES, KeptCurve, thinned_history
from mobench.submissions.expected_runs import cell_of, definition, requirements, sorted_sweep


@dataclass(frozen=True)
class Collected:
    """A bundle, and what was found in the results but left out of it."""

    bundle: Bundle
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Request:
    """What the user asks to submit; None means all that is there."""

    by: str
    contact: str = ""
    notes: str = ""
    suites: Sequence[str] | None = None
    profile: str | None = None
    methods: Sequence[str] | None = None


def collect(store: Store, request: Request, files: Mapping[str, Path], with_source: bool) -> Collected:
    """Gather the bundle. `files` are the user's plugin files by sha256; they decide between versions of a method."""
    planned = _planned(store, request)
    ids = {id_ for entry in planned for id_ in entry.runs}
    records = {record.id: thinned(record) for record in store.records(ids)}
    methods = _methods(records.values(), request.methods, files)
    chosen = {method.label: method.sources for method in methods}
    left_out: list[str] = []
    suites: list[SubmittedSuite] = []
    kept: dict[str, RunRecord] = {}
    for entry in planned:
        runs = [
            records[id_]
            for id_ in entry.runs
            if id_ in records and records[id_].spec.sources == chosen.get(records[id_].spec.method)
        ]
        part, inside = _suite(entry, runs, methods)
        if len(inside) < len(runs):
            left_out.append(
                f"{part.label}: {len(runs) - len(inside)} runs with other problems, seeds, training or sweeps than "
                "the suite's"
            )
        if inside:
            suites.append(part)
            kept |= inside
    if not kept:
        raise UserError(f"results={store.root}: no stored run of {', '.join(chosen)} belongs to the suites as shipped")
    ordered = [record for _, record in sorted(kept.items())]
    used = {record.spec.method for record in ordered}
    submitted = tuple(method for method in methods if method.label in used)
    bundle = Bundle(
        name="",
        mobench=version("mobench"),
        by=request.by,
        contact=request.contact,
        notes=request.notes,
        methods=submitted,
        suites=tuple(suites),
        sources=_sources(submitted, files) if with_source else {},
        curves=CURVES,
        records=ordered,
    )
    return Collected(bundle, tuple(left_out))


def plugin_files(paths: Iterable[str]) -> dict[str, Path]:
    """Return the Python files among the given files and folders, by their sha256. None is imported."""
    return {hashlib.sha256(file.read_bytes()).hexdigest(): file for file in plugin_paths(paths)}


def _planned(store: Store, request: Request) -> list[SuiteManifest]:
    """Return the manifests of the asked suites; a suite that includes others means them."""
    found = [entry for entry in store.manifests() if entry.suite in suite_files()]
    if request.suites is not None:
        names = [part for name in request.suites for part in included(name)]
        for name in names:
            if name not in suite_files():
                raise UserError(f"suite={name}: only suites that ship with mobench take submissions")
            store.find_manifests([name], request.profile)
        found = [entry for entry in found if entry.suite in names]
    if request.profile is not None:
        profiles = {entry.profile for entry in found}
        found = [entry for entry in found if entry.profile == request.profile]
        if not found:
            raise unknown(f"profile in {store.root}:", request.profile, profiles)
    if not found:
        raise UserError(f"results={store.root}: there are no runs of a suite that ships with mobench")
    return found


def _methods(
    records: Iterable[RunRecord], names: Sequence[str] | None, files: Mapping[str, Path]
) -> tuple[SubmittedMethod, ...]:
    """Return the methods to submit; by default all plugins' with results."""
    found: dict[str, set[SubmittedMethod]] = {}
    for record in records:
        name, _, number = record.spec.method.partition("@")
        if "problem" not in record.spec.sources:
            found.setdefault(name, set()).add(SubmittedMethod(name, int(number), record.spec.sources.get("method")))
    if names is None:
        names = sorted(name for name, kinds in found.items() if any(kind.source for kind in kinds))
        if not names:
            raise UserError(
                "the results hold no method of your own; run one with plugins=FILE methods=+NAME, "
                "or say methods=NAME to submit runs of a method that ships with mobench"
            )
    return tuple(_one(name, found, files) for name in sorted(set(names)))


def _one(name: str, found: Mapping[str, set[SubmittedMethod]], files: Mapping[str, Path]) -> SubmittedMethod:
    if name not in found:
        raise unknown("method in these results:", name, found)
    kinds = found[name]
    current = [kind for kind in kinds if kind.source in files] if files else list(kinds)
    if len(current) == 1:
        return current[0]
    shipped = [kind for kind in kinds if kind.source is None]
    if len(shipped) == 1 and len(kinds) == 1:
        return shipped[0]
    if not current:
        raise UserError(f"plugins: no given file is the one that {name} was run with; run it again, or give that file")
    raise UserError(
        f"{name} was run in {len(current)} versions of its file; say plugins=FILE to submit the runs of that one"
    )


def _suite(
    entry: SuiteManifest, runs: Sequence[RunRecord], methods: Sequence[SubmittedMethod]
) -> tuple[SubmittedSuite, dict[str, RunRecord]]:
    """Keep the runs that the suite asks for.

    A method that the suite lists is submitted with the suite's sweep. Any other has the sweep that was
    run: every configuration with at least one run, so that none is forgotten in silence.
    """
    wanted = requirements(entry.suite, entry.profile)
    sweeps: dict[str, tuple[Settings, ...]] = {}
    inside: dict[str, RunRecord] = {}
    for method in methods:
        own = [run for run in runs if run.spec.method == method.label and cell_of(run.spec) in wanted.cells]
        sweep = wanted.sweep_of(method) or sorted_sweep(run.spec.method_settings for run in own)
        points = {spell(point) for point in sweep}
        fitting = {run.id: run for run in own if spell(run.spec.method_settings) in points}
        if fitting:
            sweeps[method.name] = sweep
            inside |= fitting
    part = SubmittedSuite(entry.suite, entry.profile, definition(wanted.suite), sweeps, tuple(sorted(inside)))
    return part, inside


def _sources(methods: Iterable[SubmittedMethod], files: Mapping[str, Path]) -> dict[str, str]:
    texts = {}
    for method in methods:
        if method.source is None:
            continue
        if method.source not in files:
            raise UserError(f"source=yes needs plugins=FILE with the file that {method.name} was run with")
        try:
            texts[method.source] = files[method.source].read_bytes().decode()
        except UnicodeDecodeError:
            raise UserError(f"source=yes: {files[method.source]} is not UTF-8 text") from None
    return dict(sorted(texts.items()))


def thinned(record: RunRecord, curves: Mapping[str, KeptCurve] = CURVES) -> RunRecord:
    """Return the record as a bundle keeps it; thinning twice changes nothing."""
    outcome = record.outcome
    error = None if outcome.error is None else _plain(outcome.reason, limits.TEXT // 2) or "no reason was given"
    history = thinned_history(outcome.history, curves)
    return replace(record, outcome=replace(outcome, history=history, error=error, artifact={}))


def _plain(text: str, length: int) -> str:
    """Return a text without unseen characters, cut to `length`."""
    clean = "".join(character if is_plain(character) else " " for character in text)
    return clean if len(clean) <= length else clean[: length - 1] + "…"
