"""Progress of the step that is really taken: what the optimizer makes of a method's direction."""

from __future__ import annotations

from typing import ClassVar

from mobench.core.metric import NON_NEGATIVE, SHARE, Metric
from mobench.core.problem import Task, TaskProblem
from mobench.core.registry import register
from mobench.core.settings import choice
from mobench.core.streams import Streams

from .problem import PENALTIES, Compression

MEASURED = ("group-lasso", "l1-nuclear")
"""The sets of secondaries that are penalties alone, whose gradient is known before and after every step."""


@register
class StepProgress(TaskProblem):
    """Train the digits network of `compression`, and measure what every step does to the penalties.

    A method's guarantee is about its direction d. The optimizer takes another step: Adam divides each coordinate by a
    length of its own and adds what it remembers. With Δ = θ_t − θ_{t+1}, what was really subtracted, two counts are
    taken: of steps with g_j·Δ > 0 for every penalty j (progress to first order), and of steps after which every penalty
    is smaller.
    """

    id = "step-progress@1"
    training: ClassVar = {"optimizer": "adam", "lr": 0.1, "schedule": "cosine", "epochs": 20}
    title = "Progress of the step that is taken"
    formulas = Compression.formulas[:3]
    reference = Compression.reference

    penalty: str = choice("group-lasso", MEASURED, meaning="secondary objectives, those of `compression`")

    def network(self) -> Compression:
        """Return the problem whose network is trained."""
        return Compression(penalty=self.penalty)

    def objectives(self) -> tuple[str, ...]:
        return ("cross-entropy", *PENALTIES[self.penalty])

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0,) * len(self.objectives())

    def metrics(self) -> tuple[Metric, ...]:
        return (
            *(
                Metric(f"loss/{name}", f"{name} loss", "", "min", NON_NEGATIVE, f"the objective '{name}' at the end")
                for name in self.objectives()
            ),
            Metric(
                "accuracy", "test accuracy", "%", "max", (0.0, 100.0), "share of test images classified right", "test"
            ),
            Metric(
                "progress_share",
                "steps with progress",
                "",
                "max",
                SHARE,
                "share of steps with g_j·Δ > 0 for every penalty",
            ),
            Metric(
                "descent_share",
                "steps with descent",
                "",
                "max",
                SHARE,
                "share of steps after which every penalty is smaller",
            ),
            Metric(
                "step_cosine",
                "worst cosine with the step",
                "",
                "max",
                (-1.0, 1.0),
                "smallest cos(g_j, Δ) over the penalties, on their weights, mean over all steps",
            ),
        )

    def prepare(self) -> None:
        self.network().prepare()

    def steps_per_epoch(self) -> int:
        return self.network().steps_per_epoch()

    def start(self, streams: Streams) -> Task:
        from .step_progress_task import StepProgressTask

        return StepProgressTask(self.network(), streams)
