"""Reference bundles: the project's own runs of whole suites, with the methods that the suites list.

They stand for a results folder: what they hold counts as if it had been run here. So they hold shipped methods alone,
and only those who maintain the leaderboard add them. Code moves on after they were written: runs of an earlier version
of a method, and runs that a suite no longer asks for, are left out, and said so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from mobench.core.registry import methods, source_digest
from mobench.core.spec import RunSpec
from mobench.errors import UserError
from mobench.planning.suite import included, load_suite, suite_files
from mobench.store.folder import Store
from mobench.submissions import limits
from mobench.submissions.bundle import Bundle, SubmittedMethod, SubmittedSuite
from mobench.submissions.collecting import Request, thinned
from mobench.submissions.completeness import incomplete
from mobench.submissions.curves import KeptCurve, drawn_curves
from mobench.submissions.expected_runs import definition, requirements, sorted_sweep
from mobench.submissions.plausibility import implausible

PREFIX = "reference-"
"""How the files of reference bundles are called, so that a reviewer sees what a pull request touches."""


@dataclass(frozen=True)
class Checked:
    """A bundle without what is out of date, and what is wrong with the rest."""

    bundle: Bundle
    left_out: tuple[str, ...] = ()
    """What was left out, and why."""
    findings: tuple[str, ...] = ()
    """Why it is refused; empty if all is in order."""


def reference_parts(request: Request) -> list[tuple[str, str]]:
    """Return the suites that are asked for, each with its profile; a suite that includes others means them."""
    if not request.suites:
        raise UserError("reference=yes takes suite=NAME: a reference bundle holds whole suites")
    if request.methods is not None:
        raise UserError("reference=yes takes no methods=…: a reference bundle has all methods that the suite lists")
    names = [part for name in request.suites for part in included(name, request.profile)]
    for name in names:
        if name not in suite_files():
            raise UserError(f"suite={name}: only suites that ship with mobench have reference results")
    return [(name, load_suite(name, request.profile).profile) for name in dict.fromkeys(names)]


def split_by_suite(request: Request, folder: Path) -> dict[Path, Request]:
    """Return what to write into a folder: a bundle for each suite, named after it and a profile that is asked for."""
    found = {}
    for suite, profile in reference_parts(request):
        words = [suite] if request.profile is None else [suite, profile]
        file = folder / f"{PREFIX}{'-'.join(words)}{limits.SUFFIX}"
        found[file] = replace(request, suites=[suite], profile=profile)
    return found


def collect_reference(store: Store, request: Request) -> Bundle:
    """Gather every stored run of the suites as they ship; what is missing is for `incomplete` to find.

    Pictures are large, and drawn of the first seed: of other seeds none are kept.
    """
    parts = reference_parts(request)
    wanted = {part: requirements(*part) for part in parts}
    curves: dict[str, KeptCurve] = {}
    for one in wanted.values():
        for name, kept in drawn_curves(one.suite).items():
            curves[name] = curves[name].joined(kept) if name in curves else kept
    listed = {label: SubmittedMethod.shipped(label) for one in wanted.values() for label in one.published}
    planned = {part: one.planned for part, one in wanted.items()}
    first_seed = min(seed for one in wanted.values() for seed in one.suite.seeds)
    without = {name: kept for name, kept in curves.items() if kept.take != "last"}
    found = {
        record.id: thinned(record, curves if record.spec.seed == first_seed else without)
        for record in store.records({id_ for specs in planned.values() for id_ in specs})
    }
    if not found:
        names = ", ".join(f"{name} ({profile})" for name, profile in parts)
        raise UserError(f"results={store.root}: there are no runs of {names}")
    suites = []
    for (name, profile), one in wanted.items():
        sweeps = {listed[label].name: one.sweep_of(listed[label]) or () for label in one.published}
        ids = tuple(sorted(id_ for id_ in planned[name, profile] if id_ in found))
        suites.append(SubmittedSuite(name, profile, definition(one.suite), sweeps, ids))
    return Bundle(
        kind="mobench-reference",
        name="",
        mobench=version("mobench"),
        by=request.by,
        contact=request.contact,
        notes=request.notes,
        methods=tuple(sorted(listed.values(), key=lambda method: method.name)),
        suites=tuple(suites),
        sources={},
        curves=curves,
        records=[record for _, record in sorted(found.items())],
    )


def checked(bundle: Bundle) -> Checked:
    """Return a bundle as far as it can be shown here, without running anything."""
    if not bundle.is_reference:
        return Checked(bundle, findings=(*incomplete(bundle), *implausible(bundle)))
    if not bundle.name.startswith(PREFIX):
        return Checked(bundle, findings=(f"the name of a reference bundle starts with {PREFIX}",))
    left_out: list[str] = []
    stale = _stale(bundle, left_out)
    specs = {record.id: record.spec for record in bundle.records if record.spec.method not in stale}
    parts, whole = [], []
    for part in bundle.suites:
        kept, unchanged = _current(part, bundle, specs, left_out)
        if kept is not None:
            parts.append(kept)
            whole += [kept] if unchanged else []
    ids = {id_ for part in parts for id_ in part.runs}
    if not ids:
        return Checked(bundle, tuple(left_out), ("no run in it is one that this mobench asks for",))
    records = [record for record in bundle.records if record.id in ids]
    kept_methods = tuple(method for method in bundle.methods if any(method.name in part.sweeps for part in parts))
    now = replace(bundle, suites=tuple(parts), records=records, methods=kept_methods)
    complete = replace(now, suites=tuple(whole), methods=_used(now.methods, whole))
    return Checked(now, tuple(left_out), (*incomplete(complete), *implausible(now)))


def _used(listed: Sequence[SubmittedMethod], parts: Sequence[SubmittedSuite]) -> tuple[SubmittedMethod, ...]:
    return tuple(method for method in listed if any(method.name in part.sweeps for part in parts))


def _stale(bundle: Bundle, left_out: list[str]) -> set[str]:
    """Return the methods of which this mobench ships another version, or none."""
    shipped = {name: kind.version for name, kind in methods().items() if source_digest(kind) is None}
    stale = [method for method in bundle.methods if shipped.get(method.name) != method.version]
    for method in stale:
        count = sum(record.spec.method == method.label for record in bundle.records)
        now = f"version {shipped[method.name]}" if method.name in shipped else "no such method"
        left_out.append(f"{count} runs of {method.label} are stale: this mobench ships {now}")
    return {method.label for method in stale}


def _current(
    part: SubmittedSuite, bundle: Bundle, specs: Mapping[str, RunSpec], left_out: list[str]
) -> tuple[SubmittedSuite | None, bool]:
    """Return the runs of a suite that it still asks for, and whether it asks the same of their methods as then."""
    try:
        wanted = requirements(part.suite, part.profile)
    except UserError as error:
        left_out.append(f"{len(part.runs)} runs of {part.label}: {error}")
        return None, False
    mine = [id_ for id_ in part.runs if id_ in specs]
    planned = wanted.planned
    kept = tuple(id_ for id_ in mine if id_ in planned)
    present = {planned[id_].method for id_ in kept}
    known = [method for method in bundle.methods if method.label in present]
    sweeps = {method.name: wanted.sweep_of(method) or () for method in known}
    changed = definition(wanted.suite) != part.definition or any(
        sorted_sweep(part.sweeps.get(name, ())) != sweep for name, sweep in sweeps.items()
    )
    if len(kept) < len(mine):
        left_out.append(f"{len(mine) - len(kept)} runs that {part.label} no longer asks for, since it was changed")
    missing = sum(spec.method in present for spec in planned.values()) - len(kept)
    if changed and missing:
        left_out.append(f"{part.label} was changed and asks for {missing} runs more; `make results` makes them")
    now = SubmittedSuite(part.suite, part.profile, definition(wanted.suite), sweeps, kept)
    return (now if kept else None), not changed
