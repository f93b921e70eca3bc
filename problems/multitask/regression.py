"""Several numbers to predict from one row, on tables that come with scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from mobench.core.about import Formula, Reference
from mobench.core.metric import NON_NEGATIVE, Metric
from mobench.core.problem import Bounds, Task, TaskProblem
from mobench.core.registry import register
from mobench.core.settings import choice, integer
from mobench.core.streams import Streams

from .task import Data, Rows, SharedTrunk

TARGETS = {
    "breast-cancer": ("radius", "texture", "smoothness", "symmetry"),
    "linnerud": ("weight", "waist", "pulse"),
}
"""By table, what is predicted. Of the breast cancer table, the worst values of these measures."""
ROWS = {"breast-cancer": 569, "linnerud": 20}
"""By table, how many rows it has: a plan needs no more of it, and reading it loads scikit-learn."""
SHARES = (0.6, 0.2, 0.2)
"""Rows to train on, to select on and to report on."""
DATA_SEED = 0
"""The split is the same for every seed of a run."""


@register
class MultiOutput(TaskProblem):
    """Predict several numbers from one row with one network, each number an objective.

    In the breast cancer table (569 rows) each of ten measures of cell nuclei is given as a mean, a standard error and a
    worst value over an image. From the means and errors of all ten, the worst radius, texture, smoothness and symmetry
    are predicted. In the Linnerud table (20 rows) weight, waist and pulse are predicted from three exercises. Inputs
    and targets have mean 0 and deviation 1 over the training rows. The trunk is a layer that all targets share, and
    each target has a linear head of its own.
    """

    id = "multi-output@1"
    has_second_batch = True
    title = "Multi-output regression"
    formulas = (
        Formula(
            r"L_i(\theta) = \frac{1}{B} \sum_{b=1}^{B} \left(f_{\theta, h_i}(x_b) - y_{b,i}\right)^2",
            "Mean squared error of target i over a batch of B rows",
        ),
    )
    reference = Reference(
        "F. Pedregosa et al.",
        "Scikit-learn: Machine Learning in Python",
        "Journal of Machine Learning Research 12",
        2011,
        "https://arxiv.org/abs/1201.0490",
    )

    dataset: str = choice("breast-cancer", tuple(TARGETS), meaning="the table")
    width: int = integer(32, low=1, meaning="units of the shared layer")
    batch_size: int = integer(64, low=1, meaning="rows per step; at most all that are trained on")

    def objectives(self) -> tuple[str, ...]:
        return TARGETS[self.dataset]

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0,) * len(self.objectives())

    def hypervolume_bounds(self) -> Bounds:
        """From no error to that of predicting the mean, and a half more for targets that differ on test rows."""
        count = len(self.objectives())
        return Bounds(ideal=(0.0,) * count, reference=(1.5,) * count)

    def metrics(self) -> tuple[Metric, ...]:
        return (
            *super().metrics(),
            Metric(
                "mean_loss", "mean test error", "", "min", NON_NEGATIVE,
                "mean over targets of the mean squared error on test rows",
            ),
            Metric(
                "selection_loss", "mean validation error", "", "min", NON_NEGATIVE,
                "mean over targets of the mean squared error on validation rows",
            ),
        )  # fmt: skip

    def steps_per_epoch(self) -> int:
        rows = _ends(ROWS[self.dataset])[0]
        return rows // min(self.batch_size, rows)

    def start(self, streams: Streams) -> Task:
        return Regression(self, streams)


class Regression(SharedTrunk):
    """A trunk with linear heads."""

    def __init__(self, problem: MultiOutput, streams: Streams) -> None:
        data = table(problem.dataset)
        self.tasks = problem.objectives()

        def build() -> tuple[nn.Module, list[nn.Module]]:
            trunk = nn.Sequential(nn.Linear(data.train.inputs.shape[1], problem.width), nn.Tanh())
            return trunk, [nn.Linear(problem.width, 1) for _ in self.tasks]

        super().__init__(build, data, squared_errors, problem.batch_size, streams)

    def metrics(self) -> Mapping[str, float]:
        test, validation = (self.mean(rows, squared_errors) for rows in (self.data.test, self.data.validation))
        return {
            **{f"loss/{task}": loss for task, loss in zip(self.tasks, test, strict=True)},
            "mean_loss": sum(test) / len(test),
            "selection_loss": sum(validation) / len(validation),
        }


def squared_errors(outputs: list[Tensor], targets: Tensor) -> list[Tensor]:
    """Return the mean squared error of each target."""
    return [nn.functional.mse_loss(found[:, 0], targets[:, task]) for task, found in enumerate(outputs)]


def _ends(rows: int) -> tuple[int, int]:
    """Return where the rows to train on end, and those to select on."""
    first, second = (round(share * rows) for share in np.cumsum(SHARES)[:2])
    return first, second


@cache
def table(name: str) -> Data:
    """Return the rows of a table, split once and for all."""
    inputs, targets = _columns(name)
    order = torch.randperm(len(inputs), generator=Streams(DATA_SEED).torch("split"))
    first, second = _ends(len(inputs))
    parts = order[:first], order[first:second], order[second:]
    scaled = []
    for columns in (inputs, targets):
        std, mean = torch.std_mean(columns[parts[0]], dim=0)
        scaled.append(((columns - mean) / std).float())
    return Data(*(Rows(scaled[0][part], scaled[1][part]) for part in parts))


def _columns(name: str) -> tuple[Tensor, Tensor]:
    """Return inputs and targets as they are in the table."""
    from sklearn import datasets

    if name == "linnerud":
        raw = datasets.load_linnerud()
        return torch.from_numpy(raw.data), torch.from_numpy(raw.target)
    raw = datasets.load_breast_cancer()
    names = [str(feature) for feature in raw.feature_names]
    given = [place for place, feature in enumerate(names) if not feature.startswith("worst ")]
    wanted = [names.index(f"worst {target}") for target in TARGETS[name]]
    values = torch.from_numpy(raw.data)
    return values[:, given], values[:, wanted]
