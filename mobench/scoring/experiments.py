"""The experiments of a manifest: which of its runs are compared with which, and what tells them from the profile."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from mobench.core.spec import RunSpec, hash_of
from mobench.planning.experiment import Experiment, difference
from mobench.planning.suite import Suite
from mobench.store.columns import RunColumns
from mobench.store.suite_manifest import SuiteManifest


@dataclass(frozen=True)
class ExperimentRuns:
    """The planned runs of one experiment."""

    differs: str
    """What differs from the profile, empty for the profile's own experiment."""
    runs: tuple[str, ...]
    """Run ids in sorted order."""


def experiments_of(suite: Suite, manifest: SuiteManifest, stored: Callable[..., RunColumns]) -> list[ExperimentRuns]:
    """Return the experiments of a manifest as they relate to `suite`, the profile's own first.

    They are compared with the suite as it is now: what was planned before its file was edited differs from it too.
    Runs of which no experiment is known are told apart by their records, which `stored` reads by id without a
    word about damaged ones; those without one count to the profile.
    """
    profile = Experiment.of(suite)
    found: dict[str, tuple[str, dict[str, None]]] = {}
    known = [(planned.experiment, planned.runs) for planned in manifest.experiments]
    for experiment, runs in (*known, *_by_record(manifest.unsorted, profile, stored)):
        differs = difference(experiment, profile)
        found.setdefault(hash_of(differs.parts), (differs.words, {}))[1].update(dict.fromkeys(runs))
    names: dict[str, int] = {}
    listed = []
    for words, ids in found.values():
        names[words] = names.get(words, 0) + 1
        listed.append(ExperimentRuns(f"{words} ({names[words]})" if names[words] > 1 else words, tuple(sorted(ids))))
    return sorted(listed, key=lambda each: bool(each.differs))


def _by_record(
    ids: Iterable[str], profile: Experiment, stored: Callable[..., RunColumns]
) -> list[tuple[Experiment, list[str]]]:
    """Divide runs by the kinds of things in which each differs from the profile, and by their training."""
    without = set(ids)
    if not without:
        return []
    groups: dict[str, list[tuple[str, RunSpec]]] = {}
    kinds: dict[tuple[int, bool], str] = {}
    runs = stored(without, on_damage=lambda damage: None)
    specs, numbers = runs.specs
    for id_, number, seed in zip(runs.ids, numbers.tolist(), runs.table["seed"].to_pylist(), strict=True):
        spec = replace(specs[number], seed=seed)
        key = number, seed in profile.seeds
        if key not in kinds:
            parts = difference(Experiment.of_runs([spec]), profile).parts
            kinds[key] = hash_of([sorted(parts), {k: v for k, v in parts.items() if k.startswith("training.")}])
        groups.setdefault(kinds[key], []).append((id_, spec))
    without.difference_update(runs.ids)
    rest = [(profile, list(without))] if without else []
    known = [(Experiment.of_runs([spec for _, spec in group]), [id_ for id_, _ in group]) for group in groups.values()]
    return [*known, *rest]
