"""Accuracy against equal treatment of two groups, on a table that comes with scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import torch

from mobench.core.about import Formula, Reference
from mobench.core.metric import SHARE, Metric
from mobench.core.problem import Bounds, Task, TaskProblem
from mobench.core.registry import register
from mobench.core.settings import choice, integer
from mobench.core.streams import Streams

if TYPE_CHECKING:
    from torch import Tensor

SIZES = [222, 110, 110]
"""How many of the 442 patients are trained on, selected on and reported on."""
PERCENT = (0.0, 100.0)


@dataclass(frozen=True)
class Patients:
    """Inputs, whether the disease progresses fast, and to which of two groups a patient belongs."""

    inputs: Tensor
    fast: Tensor
    group: Tensor


@register
class Fairness(TaskProblem):
    """Predict a disease's progression, and treat two groups of patients alike.

    The diabetes table of scikit-learn has ten measurements of 442 patients. A small network predicts whether the
    disease progresses faster than in half of the patients that are trained on. The two groups are those of a protected
    attribute: the values of the column `sex`, or patients above and up to the median age of those that are trained on.
    The network sees both columns. The second objective is the squared difference of the mean predicted probability
    between the groups: of all patients (parity), or of those whose disease does progress fast (opportunity). Each seed
    splits the patients anew.

    The table has no other protected attributes than these two, and suites take both: none was picked by what it shows.
    Among the patients that are trained on at the seeds 0 to 4, fast progression is more frequent in the older ones, by
    9 to 21 points; by sex it differs by 5 points at most, so that these groups serve as a control.
    """

    id = "fairness@2"
    title = "Accuracy and fairness"
    formulas = (
        Formula(
            r"L_1(\theta) = -\frac{1}{N} \sum_{n=1}^{N} \left(y_n \log\,p_n + (1 - y_n) \log\,(1 - p_n)\right)",
            "Cross-entropy",
        ),
        Formula(
            r"L_2(\theta) = \left(\frac{1}{\lvert A \rvert} \sum_{n \in A} p_n "
            r"- \frac{1}{\lvert B \rvert} \sum_{n \in B} p_n\right)^2",
            "Disparity of the groups A and B",
        ),
    )
    reference = Reference(
        "B. Efron, T. Hastie, I. Johnstone and R. Tibshirani",
        "Least Angle Regression",
        "Annals of Statistics 32(2)",
        2004,
        "https://doi.org/10.1214/009053604000000067",
    )

    uses_device: ClassVar[bool] = False
    criterion: str = choice("parity", ("parity", "opportunity"), meaning="whose mean predictions shall be equal")
    group: str = choice("sex", ("sex", "age"), meaning="the protected attribute that makes the two groups")
    width: int = integer(16, low=1, meaning="units of the hidden layer")

    def objectives(self) -> tuple[str, ...]:
        return ("cross-entropy", "disparity")

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0, 0.0)

    def hypervolume_metrics(self) -> tuple[str, ...]:
        return ("loss/cross-entropy", "gap")

    def hypervolume_bounds(self) -> Bounds:
        """From a perfect prediction to one worse than chance, and from equal groups to half of the largest gap."""
        return Bounds(ideal=(0.0, 0.0), reference=(1.0, 0.5))

    def metrics(self) -> tuple[Metric, ...]:
        gap = "difference of the groups' mean predicted probabilities on"
        return (
            *super().metrics(),
            Metric("accuracy", "test accuracy", "%", "max", PERCENT, "right predictions on test patients"),
            Metric("gap", "gap between groups", "", "min", SHARE, f"{gap} test patients"),
            Metric("selection_accuracy", "validation accuracy", "%", "max", PERCENT, "right predictions in validation"),
            Metric("selection_gap", "gap in validation", "", "min", SHARE, f"{gap} validation patients"),
        )  # fmt: skip

    def start(self, streams: Streams) -> Task:
        return FairnessTask(self, streams)

    def patients(self, seed: int) -> tuple[Patients, Patients, Patients]:
        """Return a seed's patients to train on, to select on and to report on."""
        return patients(seed, self.group, cut_of_training=True)


@register
class FirstFairness(Fairness):
    """The first version: groups by age are cut at the median of the whole table, test patients included.

    Its default group was changed from sex to age after a look at the gap of test patients. It is kept so that stored
    records can be read; suites use the second version.
    """

    id = "fairness@1"
    title = "Accuracy and fairness, first version"
    formulas = Fairness.formulas
    reference = Fairness.reference

    group: str = choice("age", ("age", "sex"), meaning="what the two groups are told apart by")

    def patients(self, seed: int) -> tuple[Patients, Patients, Patients]:
        return patients(seed, self.group, cut_of_training=False)


class FairnessTask(Task):
    """A network with one hidden layer on all patients at once."""

    def __init__(self, problem: Fairness, streams: Streams) -> None:
        self.problem = problem
        self.train, self.validation, self.test = problem.patients(streams.seed)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(streams.torch("init").initial_seed())
            inputs = self.train.inputs.shape[1]
            nn = torch.nn
            self.network = nn.Sequential(nn.Linear(inputs, problem.width), nn.Tanh(), nn.Linear(problem.width, 1))
        self.parameters = list(self.network.parameters())
        self.parameter_names = [name for name, _ in self.network.named_parameters()]

    def losses(self, batch: None) -> Sequence[Tensor]:
        return self._losses(self.train)

    def held_out_batch(self) -> Patients:
        """Return the validation patients; configurations are selected on them too, and reported on test patients."""
        return self.validation

    def held_out_losses(self, batch: Patients) -> Sequence[Tensor]:
        return self._losses(batch)

    def _losses(self, rows: Patients) -> list[Tensor]:
        logits = self.network(rows.inputs)[:, 0]
        entropy = torch.nn.functional.binary_cross_entropy_with_logits(logits, rows.fast)
        return [entropy, self._gap(logits, rows) ** 2]

    def _gap(self, logits: Tensor, rows: Patients) -> Tensor:
        counted = torch.ones_like(rows.fast) if self.problem.criterion == "parity" else rows.fast
        chance = torch.sigmoid(logits)
        first, second = rows.group * counted, (1.0 - rows.group) * counted
        return (chance * first).sum() / first.sum() - (chance * second).sum() / second.sum()

    def _measured(self, rows: Patients) -> tuple[float, float]:
        """Return the percentage of right predictions, and the gap."""
        with torch.no_grad():
            logits = self.network(rows.inputs)[:, 0]
            right = (logits > 0.0) == (rows.fast > 0.5)
            return 100.0 * float(right.double().mean()), abs(float(self._gap(logits, rows)))

    def metrics(self) -> Mapping[str, float]:
        with torch.no_grad():
            entropy, disparity = (float(loss) for loss in self._losses(self.test))
        (accuracy, gap), (chosen, chosen_gap) = self._measured(self.test), self._measured(self.validation)
        return {
            "loss/cross-entropy": entropy,
            "loss/disparity": disparity,
            "accuracy": accuracy,
            "gap": gap,
            "selection_accuracy": chosen,
            "selection_gap": chosen_gap,
        }


@cache
def patients(seed: int, group: str, *, cut_of_training: bool) -> tuple[Patients, Patients, Patients]:
    """Return this seed's patients; groups are cut at the median of those that are trained on, or of the whole table."""
    from sklearn.datasets import load_diabetes

    raw = load_diabetes(scaled=False)
    values, progression = torch.from_numpy(raw.data), torch.from_numpy(raw.target)
    column = values[:, list(raw.feature_names).index(group)]
    order = torch.randperm(len(values), generator=Streams(seed).torch("problem"))
    parts = torch.split(order, SIZES)
    std, mean = torch.std_mean(values[parts[0]], dim=0)
    threshold = progression[parts[0]].median()
    cut = column[parts[0]].median() if cut_of_training else column.median()
    inputs, fast, first = (values - mean) / std, progression > threshold, column > cut
    train, validation, test = (
        Patients(inputs[part].float(), fast[part].float(), first[part].float()) for part in parts
    )
    return train, validation, test
