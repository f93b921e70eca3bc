"""A problem by itself as a suite, for runs that no suite file describes."""

from __future__ import annotations

from mobench.core.registry import find_problem, methods
from mobench.planning.suite import Suite
from mobench.planning.suite_parts import STANDARD

SEEDS = (0, 1, 2)
SHOWN = 3
"""How many of the metrics that a problem declares its table shows."""


def suite_of_problem(name: str) -> Suite:
    """Return a suite of the problem and all methods at their defaults, with three seeds and the problem's training."""
    kind = find_problem(name)
    problem = kind()
    directed = [metric.name for metric in problem.metrics() if metric.better]
    own = [metric for metric in directed if not metric.startswith("loss/")]
    return Suite(
        name=f"problem-{kind.label()}",
        profile=STANDARD,
        title=kind.title or kind.label(),
        about=f"The problem {kind.id} by itself.",
        problems={kind.id: {}},
        methods={
            name: {}
            for name, method in methods().items()
            if (kind.has_proximal_maps or not method.takes_proximal_steps)
            and (kind.has_second_batch or not (method.overrides("needs_second_batch") and method().needs_second_batch))
        },
        training=dict(kind.training),
        metrics=tuple((own + directed)[:SHOWN]),
        plots=("pareto", "curves", "conflict"),
        seeds=SEEDS,
    )
