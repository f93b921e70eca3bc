"""Results of pruned networks made by hand: PCD's sweep, the weighted sum, and MGDA, which failed."""

from __future__ import annotations

from mobench.core.registry import find_problem
from tests.reporting.frames import results, run, table

TARGETS = (80, 90)


def pruned(method, seed, accuracies, tau=None, status="done"):
    """A run with accuracies (dense, 80 %, 90 %) on test data; validation is one point lower."""
    columns = {"problem.scale": 1.0}
    for mark, accuracy in zip(("", "@80", "@90"), accuracies, strict=True):
        columns |= {f"accuracy{mark}": accuracy + seed, f"selection_accuracy{mark}": accuracy - 1.0}
        removed = float(mark[1:] or 0) / 100
        columns |= {f"flops{mark}": 1e6 * (1 - removed), f"bytes{mark}": 1e5, f"latency_ms{mark}": 1.0}
        if mark:
            columns[f"reduction{mark}"] = removed + 0.001
    columns |= {"parameter_sparsity": accuracies[0] / 100, "effective_rank": 5.0}
    settings = {} if tau is None else {"tau": tau}
    return run(
        method, seed, settings=settings, status=status, **(columns if status == "done" else {"problem.scale": 1.0})
    )


RUNS = table(
    [pruned("pcd", seed, values, tau) for seed in (0, 1) for tau, values in ((0.1, (95, 90, 40)), (0.3, (85, 84, 80)))],
    [pruned("ws", seed, (90, 60, 50)) for seed in (0, 1)],
    [pruned("mgda", seed, (0, 0, 0), status="failed") for seed in (0, 1)],
)
RESULTS = results(RUNS, find_problem("compression")())
