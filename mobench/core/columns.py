"""The columns that every results table has, whatever its problems and methods."""

from __future__ import annotations

from mobench.core.metric import NON_NEGATIVE, Metric

IDENTITY = {
    "suite": "the suite that the run belongs to",
    "profile": "the suite's profile; results of different profiles are never compared",
    "experiment": "what differs from the suite's profile; empty where nothing does",
    "id": "the run: the sha256 of its spec; `mobench show ID` prints it",
    "problem": "name and version of the problem",
    "method": "name of the method",
    "method_label": "the method with the settings that differ from their defaults",
    "problem_label": "the problem with the settings that differ from their defaults",
    "contender": "the row of the tables: a method, or one of its forms where a suite tells them apart",
    "instance_label": "the problem instance as the tables name it",
    "seed": "the seed; runs of equal seed share initial point and data order",
    "status": "done or failed",
    "configuration": "equal for runs that differ in the seed alone",
    "instance": "equal for runs of one problem and training, whatever the method",
    "submitted": "who sent the run in; empty for the project's own runs",
    "repeated": "of a submitted run, whether it was repeated; if so the row is the repeated run, if not a claim",
    "error": "the traceback of a failed run",
}
"""What says which run a row is, and what became of it."""

_SHARED = "wall-clock time of a step: the method's own, and an equal share of what its group did together"
_INSIDE = "the part of a step's time that is spent inside the method"
_WORST = "mean cosine of the update with the gradient of the worst served secondary"
_STOPPED = (
    "norm of the shortest convex combination of the gradients at the end; 0 where the point is Pareto stationary, "
    "as in a conflict equilibrium, whose largest gradient is not 0"
)
AT_THE_END = (
    Metric(
        "primary_gradient_norm", "‖∇L₁‖ at the end", "", "min", NON_NEGATIVE,
        "norm of the primary objective's gradient at the end",
    ),
    Metric(
        "cms_residual", "largest gradient norm at the end", "", "min", NON_NEGATIVE,
        "largest gradient norm of all objectives at the end; 0 where every objective is stationary",
    ),
    Metric("pareto_residual", "Pareto residual at the end", "", "min", NON_NEGATIVE, _STOPPED),
)  # fmt: skip
"""What the Gram matrix at the end of a run says; of a network, that of one batch which is not trained on."""
FALLBACK = "fallback_"
"""What the name of a diagnostic begins with that counts what a device could not do and the CPU did."""
MEASURED = (
    *AT_THE_END,
    Metric("secondary_progress", "secondary progress", "", "max", (-1.0, 1.0), _WORST),
    Metric("seconds", "time", "s", "min", NON_NEGATIVE, "wall-clock time of the run"),
    Metric("seconds_per_step", "time per step", "s", "min", NON_NEGATIVE, _SHARED),
    Metric("method_seconds_per_step", "method's own time per step", "s", "min", NON_NEGATIVE, _INSIDE),
    Metric("steps", "steps", "", None, NON_NEGATIVE, "steps taken"),
    Metric("runs_in_lockstep", "runs in lockstep", "", None, NON_NEGATIVE, "how many runs shared every step"),
    Metric("backward_passes", "backward passes", "", "min", NON_NEGATIVE, "backward passes of the run"),
    Metric("peak_memory", "peak memory", "B", "min", NON_NEGATIVE, "highest resident memory while the run trained"),
    Metric("failed_at_step", "failed at step", "", None, NON_NEGATIVE, "the step at which the run failed"),
)
"""What the engine measures of every run, whatever its problem."""

DELTA = Metric(
    "delta_m",
    "Δm",
    "%",
    "min",
    meaning="mean over metrics of the relative loss against the suite's baselines at the same seed; below 0: better",
)
"""What is derived of every run of a suite that states baselines."""

AMONG_METRICS = frozenset({"secondary_progress", *(metric.name for metric in AT_THE_END)})
"""Those of them that a record holds among the problem's own metrics; an earlier record may lack some."""
