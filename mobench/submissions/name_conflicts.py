"""Who may use which name: a name is one method, no plugin passes for a shipped one, and a run is submitted once.

Suites may ask for the same run, so that reference results may hold it several times.
"""

from __future__ import annotations

from collections.abc import Iterable

from mobench.core.outcome import Outcome
from mobench.core.registry import methods, problems, source_digest
from mobench.store.record import RunRecord
from mobench.store.validation import shown
from mobench.submissions.accepted import RefusedError
from mobench.submissions.bundle import Bundle, SubmittedMethod


def check_names(place: str, submitted: Iterable[SubmittedMethod]) -> None:
    """Refuse a name that belongs to a shipped method unless it is that method, in that version."""
    shipped = {name: kind.version for name, kind in methods().items() if source_digest(kind) is None}
    alike = {_bare(name): name for name in shipped}
    for method in submitted:
        here = f"{place}, method {method.label}"
        if method.source is not None:
            if _bare(method.name) in alike:
                name = alike[_bare(method.name)]
                raise RefusedError(here, f"a plugin may not be called like the shipped method {name}")
        elif method.name not in shipped:
            raise RefusedError(here, "it does not ship with mobench and states no hash of its source")
        elif method.version != shipped[method.name]:
            raise RefusedError(here, f"this mobench ships version {shipped[method.name]}")


def check_shipped(place: str, submitted: Iterable[SubmittedMethod]) -> None:
    """Refuse a plugin in a reference bundle; whether this mobench still ships the methods is asked later."""
    for method in submitted:
        if method.source is not None:
            raise RefusedError(f"{place}, method {method.label}", "a reference bundle holds shipped methods only")


def check_run(place: str, record: RunRecord, submitted: Iterable[SubmittedMethod], reference: bool = False) -> None:
    """Refuse a run of a method that the header does not list, or of a problem that is not shipped.

    A reference may be older than the problems: what is no longer asked for is left out of it later.
    """
    spec = record.spec
    sources = {method.label: method.sources for method in submitted}
    if spec.method not in sources:
        raise RefusedError(place, f"its method {shown(spec.method)} is not in the header")
    if spec.sources != sources[spec.method]:
        raise RefusedError(place, f"its sources are not those that the header gives for {spec.method}")
    kind = problems().get(spec.problem)
    if reference:
        return
    if kind is None or source_digest(kind) is not None:
        raise RefusedError(place, f"its problem {shown(spec.problem)} does not ship with mobench")


class TakenNames:
    """Methods and runs of the bundles seen so far."""

    def __init__(self) -> None:
        self._sources: dict[str, tuple[str | None, str]] = {}
        self._runs: dict[str, str] = {}
        self._references: dict[str, Outcome] = {}
        """What came of the runs that reference bundles hold."""

    def conflicts(self, bundle: Bundle) -> list[str]:
        """Return in what a bundle collides with those before it; one that does not is remembered.

        To be asked for bundles without findings only, so that a refused one takes no name.
        """
        found = []
        for method in bundle.methods:
            source, name = self._sources.get(method.name, (method.source, bundle.name))
            if source != method.source:
                found.append(f"{method.name} is the name of another source in {shown(name)}; choose another name")
        again = [record for record in bundle.records if record.id in self._runs]
        if bundle.is_reference:
            again = [record for record in again if not _same(record.outcome, self._references.get(record.id))]
        taken = sorted({self._runs[record.id] for record in again})
        found += [f"some of its runs are already in {shown(name)}" for name in taken]
        if not found:
            self._sources |= {method.name: (method.source, bundle.name) for method in bundle.methods}
            self._runs |= {record.id: bundle.name for record in bundle.records}
            if bundle.is_reference:
                self._references |= {record.id: record.outcome for record in bundle.records}
        return found


def _same(one: Outcome, other: Outcome | None) -> bool:
    """Say whether two bundles hold the same run, of which each keeps the curves that its suite draws."""
    return other is not None and (one.status, one.metrics) == (other.status, other.metrics)


def _bare(name: str) -> str:
    return name.replace("-", "").replace("_", "")
