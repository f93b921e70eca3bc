"""The results of every experiment, read once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from mobench.planning.suite import load_suite
from mobench.scoring.load import ExperimentRuns, experiments_of, suite_of
from mobench.scoring.results import SuiteResults
from mobench.store.folder import DamagedRecordError, Store
from mobench.store.stored_runs import Runs, StoredRuns

from .names import suite_stem
from .submissions import Reference, Submitted, WithReference, WithSubmissions


def read_results(
    store: Store,
    submissions: Mapping[tuple[str, str], list[Submitted]],
    references: Mapping[tuple[str, str], Reference],
    warn: Callable[[str], None],
) -> Iterator[SuiteResults]:
    """Yield the results of every experiment that has at least one run, stored, shipped with mobench or sent in.

    What was shipped or sent in is the suite's own experiment: anything else is refused before.
    """

    def on_damage(damage: DamagedRecordError) -> None:
        warn(f"warning: {damage}")

    stored = {(manifest.suite, manifest.profile): manifest for manifest in store.manifests()}
    for name, profile in sorted({*stored, *submissions, *references}):
        manifest = stored.get((name, profile))
        suite = load_suite(name, profile) if manifest is None else suite_of(manifest)
        index = f"{name}.{profile}"
        experiments = experiments_of(suite, manifest) if manifest else []
        if not experiments or experiments[0].differs:
            experiments.insert(0, ExperimentRuns("", ()))
        for experiment in experiments:
            parts = [] if experiment.differs else submissions.get((name, profile), [])
            reference = None if experiment.differs else references.get((name, profile))
            asked = experiment.runs if reference is None else {*experiment.runs, *reference.planned}
            own: Runs = StoredRuns(store, asked, on_damage, index)
            records = WithSubmissions(own if reference is None else WithReference(own, reference), parts)
            sent_in = records.sent_in
            planned = len(asked) + sum(len(part.records) for part in parts)
            found = SuiteResults.read(
                suite,
                records,
                planned=planned,
                differs=experiment.differs,
                plugins=() if manifest is None else manifest.plugins,
                submitted=sent_in,
            )
            theirs = [entry for part in parts for entry in part.sent_in.items()]
            for method in (method for method, one in theirs if sent_in.get(method) is not one):
                warn(f"left out: submitted runs of {method} in {name} ({profile}), which has runs of its own there")
            if len(found.table):
                yield found


def stem_of(results: SuiteResults) -> str:
    """Return the stem of an experiment's files."""
    return suite_stem(results.suite.name, results.suite.profile, results.differs)
