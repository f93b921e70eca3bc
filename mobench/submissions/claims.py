"""Who may use which name: a bundle cannot pass a method of its own for one that ships with mobench."""

from __future__ import annotations

from collections.abc import Iterable

from mobench.core.registry import methods, problems, source_digest
from mobench.store.record import RunRecord
from mobench.submissions.form import SubmittedMethod
from mobench.submissions.text import RefusedError


def check_claims(submitted: Iterable[SubmittedMethod]) -> None:
    """Refuse a name that belongs to a shipped method unless it is that method, in that version."""
    shipped = {name: kind.version for name, kind in methods().items() if source_digest(kind) is None}
    plain = {_bare(name): name for name in shipped}
    for method in submitted:
        place = f"method {method.label}"
        if method.source is None and method.name not in shipped:
            raise RefusedError(place, "it does not ship with mobench and states no hash of its source")
        if method.source is not None and _bare(method.name) in plain:
            raise RefusedError(place, f"a plugin may not be called like the shipped method {plain[_bare(method.name)]}")
        if method.source is None and method.version != shipped[method.name]:
            raise RefusedError(place, f"this mobench ships version {shipped[method.name]}")


def check_run(place: str, record: RunRecord, submitted: Iterable[SubmittedMethod]) -> None:
    """Refuse a run of a method that the manifest does not list, or of a problem that is not shipped."""
    spec = record.spec
    sources = {method.label: method.source for method in submitted}
    if spec.method not in sources:
        raise RefusedError(place, f"its method {spec.method} is not in the manifest")
    if spec.sources.get("method") != sources[spec.method]:
        raise RefusedError(place, f"its source is not the one that the manifest gives for {spec.method}")
    kind = problems().get(spec.problem)
    if kind is None or source_digest(kind) is not None:
        raise RefusedError(place, f"its problem {spec.problem} does not ship with mobench")


def _bare(name: str) -> str:
    return name.replace("-", "").replace("_", "")
