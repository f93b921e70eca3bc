"""What population algorithms of pymoo reach on the same problems with so many evaluations, as points of reference.

    python -m mobench.problems.fronts.references

runs NSGA-II, NSGA-III and MOEA/D with their default operators on every problem of this folder, and writes the
hypervolumes of their populations in the problems' frozen bounds, after each number of evaluations of `BUDGETS`, to
`references.json`. They see the same formulas in the same box, and no gradients.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from .box import BoxProblem

FILE = Path(__file__).with_name("references.json")
BUDGETS = (500, 1000, 2000, 4000)
"""Numbers of evaluations after which the hypervolume is noted."""
SEEDS = (1, 2, 3)
POPULATION = 100
PARTITIONS = {2: 99, 3: 12, 4: 7, 5: 5, 6: 4, 7: 3, 8: 3}
"""By the number of objectives, what makes about as many directions as the population has members."""
ALGORITHMS = ("NSGA-II", "NSGA-III", "MOEA/D")


def stored_volumes(problem: BoxProblem, evaluations: int) -> dict[str, float]:
    """Return the mean hypervolumes at the largest stored budget that is not above `evaluations`, by algorithm."""
    affordable = [budget for budget in BUDGETS if budget <= evaluations]
    entry = _stored().get(key(problem))
    if not affordable or entry is None:
        return {}
    place = BUDGETS.index(affordable[-1])
    return {
        f"{name}, {affordable[-1]:,} evaluations": float(np.mean([volumes[place] for volumes in entry[name]]))
        for name in ALGORITHMS
    }


def key(problem: BoxProblem) -> str:
    """Return what identifies a problem with its settings."""
    settings = ", ".join(f"{name}={value}" for name, value in problem.configuration().items())
    return f"{problem.id} ({settings})"


@cache
def _stored() -> dict[str, Any]:
    return dict(json.loads(FILE.read_text())) if FILE.exists() else {}


def volumes_of(problem: BoxProblem, algorithm: str, seed: int, budgets: tuple[int, ...] = BUDGETS) -> list[float]:
    """Run one algorithm and return the hypervolume of its population after each number of evaluations."""
    import torch
    from pymoo.algorithms.moo.moead import MOEAD
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.algorithms.moo.nsga3 import NSGA3
    from pymoo.core.problem import Problem as Searched
    from pymoo.util.ref_dirs import get_reference_directions

    k, (low, high) = len(problem.objectives()), problem.box()

    class Formulas(Searched):  # type: ignore[misc]
        def _evaluate(self, x: npt.NDArray[np.float64], out: Any, *args: Any, **kwargs: Any) -> None:
            out["F"] = problem.evaluate(torch.from_numpy(np.ascontiguousarray(x)), k).numpy()

    directions = get_reference_directions("das-dennis", k, n_partitions=PARTITIONS[k])
    makers: Mapping[str, Any] = {
        "NSGA-II": lambda: NSGA2(pop_size=POPULATION),
        "NSGA-III": lambda: NSGA3(ref_dirs=directions),
        "MOEA/D": lambda: MOEAD(ref_dirs=directions),
    }
    running = makers[algorithm]()
    running.setup(
        Formulas(n_var=len(low), n_obj=k, xl=low, xu=high),
        termination=("n_eval", budgets[-1]),
        seed=seed,
        verbose=False,
    )
    found: list[float] = []
    best = 0.0
    while len(found) < len(budgets):
        running.next()
        while len(found) < len(budgets) and running.evaluator.n_eval > budgets[len(found)]:
            found.append(best)
        best = _volume(problem, running.pop.get("F"))
        while len(found) < len(budgets) and running.evaluator.n_eval == budgets[len(found)]:
            found.append(best)
        if not running.has_next():
            found += [best] * (len(budgets) - len(found))
    return found


def _volume(problem: BoxProblem, points: npt.NDArray[np.float64]) -> float:
    """Return the share of the problem's frozen box that the points dominate."""
    from pymoo.indicators.hv import HV

    bounds = problem.hypervolume_bounds()
    assert bounds is not None, f"{problem.id} has no bounds"
    ideal, reference = np.array(bounds.ideal), np.array(bounds.reference)
    shares = np.maximum((points - ideal) / (reference - ideal), 0.0)
    inside = shares[(shares < 1.0).all(1)]
    return float(HV(ref_point=np.ones(len(ideal)))(inside)) if len(inside) else 0.0


def main() -> None:
    """Run all algorithms on all problems, and write the file."""
    from mobench.core.registry import problems

    from .box import BoxProblem

    kinds = [kind for kind in problems().values() if issubclass(kind, BoxProblem)]
    found = {}
    for problem in (kind() for kind in kinds):
        found[key(problem)] = {
            name: [[round(volume, 6) for volume in volumes_of(problem, name, seed)] for seed in SEEDS]
            for name in ALGORITHMS
        }
        FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
