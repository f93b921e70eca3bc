"""Which runs a suite asks of a method: every problem instance, every seed, the whole sweep."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from mobench.core.spec import RunSpec
from mobench.errors import UserError
from mobench.planning.plan import make_plan
from mobench.planning.suite import Suite, load_suite, suite_files
from mobench.submissions.accepted import Settings, spell
from mobench.submissions.bundle import Bundle, DeclaredSuite, SubmittedMethod

DEFINING = ("problems", "seeds", "training", "metrics")
"""What of a suite determines its runs; the rest is presentation."""


@dataclass(frozen=True)
class Requirements:
    """What a suite of this mobench asks of any method."""

    suite: Suite
    cells: Mapping[bytes, RunSpec]
    """A spec for each problem instance, training and seed, by `cell_of`; its method does not matter."""
    published: Mapping[str, tuple[Settings, ...]]
    """Method name@version → the configurations that the suite lists."""

    def sweep_of(self, method: SubmittedMethod) -> tuple[Settings, ...] | None:
        """Return the configurations that the suite lists for a shipped method, None where it lists none."""
        points = self.published.get(method.label) if method.source is None else None
        return None if points is None else sorted_sweep(points)

    def runs_of(self, method: SubmittedMethod, sweep: Sequence[Settings]) -> dict[str, RunSpec]:
        """Return the runs of a method with the given configurations, by id. The method's class is not needed."""
        specs = (
            replace(cell, method=method.label, method_settings=point, sources=method.sources)
            for cell in self.cells.values()
            for point in sweep
        )
        return {spec.id: spec for spec in specs}

    @cached_property
    def planned(self) -> dict[str, RunSpec]:
        """Every run of the suite with the methods that it lists, by id."""
        planned: dict[str, RunSpec] = {}
        for label in self.published:
            method = SubmittedMethod.shipped(label)
            planned |= self.runs_of(method, self.sweep_of(method) or ())
        return planned


@cache
def requirements(suite: str, profile: str) -> Requirements:
    """Return what this mobench's own suite asks for under a profile."""
    if suite not in suite_files():
        raise UserError(f"{suite} is not one of the suites that ship with mobench: {', '.join(suite_files())}")
    loaded = load_suite(suite, profile)
    cells: dict[bytes, RunSpec] = {}
    sweeps: dict[str, dict[bytes, Settings]] = {}
    for spec in make_plan(loaded, {}).specs:
        cells.setdefault(cell_of(spec), spec)
        sweeps.setdefault(spec.method, {}).setdefault(spell(spec.method_settings), spec.method_settings)
    published = {method: tuple(points.values()) for method, points in sweeps.items()}
    return Requirements(loaded, cells, published)


def expected_runs(bundle: Bundle, part: DeclaredSuite) -> dict[str, RunSpec]:
    """Return all runs that one of the bundle's suites asks for, by id."""
    wanted = requirements(part.suite, part.profile)
    expected: dict[str, RunSpec] = {}
    for method in bundle.methods:
        expected |= wanted.runs_of(method, part.sweeps.get(method.name, ()))
    return expected


def cell_of(spec: RunSpec) -> bytes:
    """Return what two methods' runs have in common when they may be compared: problem, training and seed."""
    return spell([spec.problem, spec.problem_settings, spec.training, spec.seed])


def definition(suite: Suite) -> dict[str, Any]:
    """Return the part of a suite that determines its runs, as JSON."""
    found: dict[str, Any] = json.loads(spell({key: getattr(suite, key) for key in DEFINING}))
    return found


def sorted_sweep(points: Iterable[Settings]) -> tuple[Settings, ...]:
    """Return each configuration once, in one order."""
    return tuple(point for _, point in sorted({spell(point): point for point in points}.items()))
