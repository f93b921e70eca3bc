"""Which runs a suite asks of a method: every problem instance, every seed, the whole sweep."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

from mobench.core.spec import RunSpec
from mobench.errors import UserError
from mobench.planning.plan import make_plan
from mobench.planning.suite import Suite, load_suite, suite_files
from mobench.submissions.form import Settings, SubmittedMethod
from mobench.submissions.text import spell

DEFINING = ("problems", "seeds", "training", "metrics")
"""What of a suite determines its runs; the rest is presentation."""


@dataclass(frozen=True)
class Frame:
    """A suite of this mobench under a profile, without its methods."""

    suite: Suite
    places: Mapping[bytes, RunSpec]
    """A spec for each problem instance, training and seed, by `place_of`; its method does not matter."""
    published: Mapping[str, tuple[Settings, ...]]
    """Method name@version → the configurations that the suite lists."""


@cache
def frame(suite: str, profile: str) -> Frame:
    """Return what this mobench's own suite asks for."""
    if suite not in suite_files():
        raise UserError(f"{suite} is not one of the suites that ship with mobench: {', '.join(suite_files())}")
    loaded = load_suite(suite, profile)
    places: dict[bytes, RunSpec] = {}
    sweeps: dict[str, dict[bytes, Settings]] = {}
    for spec in make_plan(loaded, {}).specs:
        places.setdefault(place_of(spec), spec)
        sweeps.setdefault(spec.method, {}).setdefault(spell(spec.method_settings), spec.method_settings)
    published = {method: tuple(points.values()) for method, points in sweeps.items()}
    return Frame(loaded, places, published)


def place_of(spec: RunSpec) -> bytes:
    """Return what two methods' runs have in common when they may be compared: problem, training and seed."""
    return spell([spec.problem, spec.problem_settings, spec.training, spec.seed])


def definition(suite: Suite) -> dict[str, Any]:
    """Return the part of a suite that determines its runs, as JSON."""
    whole = asdict(suite)
    found: dict[str, Any] = json.loads(json.dumps({key: whole[key] for key in DEFINING}))
    return found


def expected_runs(wanted: Frame, method: SubmittedMethod, sweep: Sequence[Settings]) -> dict[str, RunSpec]:
    """Return the runs of a method with the given configurations, by id. The method's class is not needed."""
    sources = {} if method.source is None else {"method": method.source}
    specs = (
        replace(place, method=method.label, method_settings=point, sources=sources)
        for place in wanted.places.values()
        for point in sweep
    )
    return {spec.id: spec for spec in specs}


def sorted_sweep(points: Iterable[Settings]) -> tuple[Settings, ...]:
    """Return each configuration once, in one order."""
    return tuple(point for _, point in sorted({spell(point): point for point in points}.items()))


def published_sweep(wanted: Frame, method: SubmittedMethod) -> tuple[Settings, ...] | None:
    """Return the configurations that the suite lists for a shipped method, None where it lists none."""
    points = wanted.published.get(method.label) if method.source is None else None
    return None if points is None else sorted_sweep(points)
