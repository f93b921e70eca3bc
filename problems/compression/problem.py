"""Compression as a multi-objective problem: classify well, with few filters or low rank."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from mobench.core.about import Formula
from mobench.core.metric import NON_NEGATIVE, Metric
from mobench.core.operating_points import Bounds, Hypervolume
from mobench.core.problem import Task, TaskProblem
from mobench.core.registry import register
from mobench.core.resources import resources
from mobench.core.settings import Setting, choice, flag, integer, real
from mobench.core.speed import speed_of
from mobench.core.streams import Streams
from mobench.errors import UserError

from .. import PAPER
from .data import CLASSES, MADE_UP_BATCHES, NAMES, SIZES
from .metrics import declared, native_metrics, pruned_metrics, quantised_metrics, sparse_metrics, trained_metrics
from .networks import build, input_shape, names, penalised, steps_together
from .volumes import loss_volume, pruned_volumes, quantised_volumes, sparse_volumes

if TYPE_CHECKING:
    import torch

    from mobench.core.task_stack import StackedParameters, TaskStack

    from .data.images import Splits
    from .task import CompressionTask

COMPILING = Metric(
    "compile_seconds",
    "time to compile",
    "s",
    "min",
    NON_NEGATIVE,
    "seconds that torch.compile took before the first step",
)
PENALTIES = {
    "group-lasso": ("group-lasso",),
    "l1-nuclear": ("l1", "nuclear"),
    "quantisation": ("quantisation",),
    "distillation": ("distillation", "group-lasso"),
}
"""The sets of secondary objectives."""
STACKED = ("group-lasso", "l1-nuclear", "quantisation")
"""Those of them that have a form for several networks at once."""
BELONGS = {
    "bits": "quantisation",
    "temperature": "distillation",
    "teacher_epochs": "distillation",
    "teacher_lr": "distillation",
}
"""Settings that only one set of secondaries reads."""
RANDOM_BATCHES = 32
"""An epoch of random images: more steps than are timed, so that none of these ends with an evaluation."""


@register
class Compression(TaskProblem):
    """Train a network whose weights can be removed afterwards.

    The primary objective is the cross-entropy of an image classifier. The secondary objectives are
    penalties on the convolution weights: one pushes whole filters to zero, two others push single
    weights to zero and weight matrices to low rank. After training, the filters of smallest norm are
    physically removed until 80, 85, 90, 95 and 99 % of the parameters are gone. The smaller network is
    evaluated as it is, without fine-tuning, on validation images for selection and on test images to
    be reported. So is the network without the filters that training itself left with a norm below 1e-4.

    Methods are ranked by the hypervolume of test error and share of parameters kept, the latter on a
    logarithmic scale, over all these operating points and all configurations. A classifier at chance level
    adds nothing, and neither does a network of full size. With the second set of penalties, parameters are
    kept that are not zero, as trained and with the smallest weights set to zero.

    The sets of secondaries, each multiplied by `scale`, are

        group-lasso:  Σ_g ‖θ_g‖₂, one group per output filter                              (K = 2),
        l1-nuclear:   Σ_i |θ_i|  and  Σ_ℓ ‖W_ℓ‖_*, W_ℓ a weight as C_out × (C_in·k·k)      (K = 3),
        quantisation: Σ_ℓ ‖W_ℓ − Q(W_ℓ)‖² / ‖W_ℓ‖², Q rounding to `bits` bits              (K = 2),
        distillation: T² KL(p_teacher ‖ p_student) at temperature T, and the group lasso   (K = 3).

    A network that is trained to be rounded is ranked by test error and size with 8 to 2 bits for each penalised weight.
    The teacher is the same network, trained plainly at the same seed; with it, pruned networks are ranked as with the
    group lasso alone.
    """

    id = "compression@2"
    has_second_batch = True
    training: ClassVar = {"optimizer": "adam", "lr": 0.02, "schedule": "cosine", "epochs": 30}
    title = "Network compression"
    formulas = (
        Formula(
            r"L_1(\theta) = -\frac{1}{B} \sum_{b=1}^{B} \log\,p_\theta(y_b \mid x_b)",
            "Primary, over a batch of B images",
        ),
        Formula(
            r"L_2(\theta) = q \sum_g {\lVert \theta_g \rVert}_2",
            "Group lasso, one group for every output filter (K = 2)",
        ),
        Formula(
            r"L_2(\theta) = q \sum_i \lvert \theta_i \rvert, \quad "
            r"L_3(\theta) = q \sum_\ell {\lVert W_\ell \rVert}_{*}",
            "Absolute values and nuclear norms (K = 3)",
        ),
        Formula(
            r"L_2(\theta) = q \sum_\ell {\lVert W_\ell - Q(W_\ell) \rVert}^2 / {\lVert W_\ell \rVert}^2",
            "Relative quantisation error (K = 2)",
        ),
        Formula(
            r"L_2(\theta) = q\, T^2\, \text{KL}\left(p^{1/T}_\text{teacher} \,\Vert\, p^{1/T}_\theta\right)",
            "Distillation, beside the group lasso (K = 3)",
        ),
    )
    reference = PAPER.at("sections “Structured Pruning” and “Unstructured Sparsity”")
    has_proximal_maps = True
    export_options: ClassVar[dict[str, Setting]] = {
        "target": real(
            None,
            low=0.0,
            high=1.0,
            low_open=True,
            high_open=True,
            meaning="fraction of the parameters to remove; left out: none",
        )
    }

    dataset: str = choice("digits", NAMES, meaning="images to classify")
    network: str = choice("digits-cnn", names(), meaning="architecture to compress")
    penalty: str = choice("group-lasso", tuple(PENALTIES), meaning="secondary objectives")
    batch_size: int = integer(32, low=1, meaning="images per step")
    scale: float = real(1.0, low=0.0, low_open=True, meaning="factor on every secondary objective")
    prox: float = real(0.0, low=0.0, meaning="λ of a proximal step with threshold λ·lr after each update; 0: none")
    holdout: bool = flag(True, meaning="split validation images off the training set")
    fold: bool = flag(False, meaning="fold the constant output of removed filters into the next layer")
    precision: str = choice("float32", ("float32", "bf16"), meaning="bf16: forward pass in mixed precision")
    bits: int = integer(
        4, low=2, high=16, meaning="bits to which penalty=quantisation draws the weights", implicit=True
    )
    temperature: float = real(
        4.0, low=0.0, low_open=True, meaning="T of penalty=distillation, on both networks' logits", implicit=True
    )
    teacher_epochs: int = integer(20, low=1, meaning="epochs that the teacher is trained for", implicit=True)
    teacher_lr: float = real(
        0.1, low=0.0, low_open=True, meaning="the teacher's learning rate, with Adam and cosine decay", implicit=True
    )
    compile: bool = flag(False, meaning="let torch.compile make the forward and backward pass", implicit=True)
    _random_data = False

    def __init__(self, **values: object) -> None:
        super().__init__(**values)
        for name, penalty in BELONGS.items():
            if self.penalty != penalty and getattr(self, name) != self.settings[name].default:
                raise UserError(
                    f"{self.label()}.{name}={getattr(self, name)} is not accepted with penalty={self.penalty}; "
                    f"it belongs to penalty={penalty}"
                )
        if self.prox and not self.takes_proximal_steps():
            raise UserError(
                f"{self.label()}.prox={self.prox} is not accepted with penalty={self.penalty}, "
                "whose objectives do not all have a proximal map"
            )

    def takes_proximal_steps(self) -> bool:
        return self.penalty in ("group-lasso", "l1-nuclear")

    def objectives(self) -> tuple[str, ...]:
        return ("cross-entropy", *PENALTIES[self.penalty])

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0,) * len(self.objectives())

    def hypervolumes(self) -> tuple[Hypervolume, ...]:
        """Return the volumes of error and cost, the one of size or sparsity first, and that of the losses."""
        others = {"l1-nuclear": sparse_volumes, "quantisation": quantised_volumes}
        practical = others.get(self.penalty, pruned_volumes)
        return (
            *practical(self.dataset, self.holdout),
            loss_volume(self.dataset, self.objectives(), self.holdout),
        )

    def hypervolume_metrics(self) -> tuple[str, ...]:
        return self.hypervolumes()[-1].points[0].values

    def hypervolume_bounds(self) -> Bounds:
        return self.hypervolumes()[-1].bounds

    def metrics(self) -> tuple[Metric, ...]:
        sparse = sparse_metrics(self.holdout) if self.penalty == "l1-nuclear" else ()
        rounded = quantised_metrics(self.holdout) if self.penalty == "quantisation" else ()
        compiling = (COMPILING,) if self.compile else ()
        return (
            *trained_metrics(self.objectives(), self.holdout),
            *declared([*pruned_metrics(self.holdout), *native_metrics(self.holdout), *sparse, *rounded]),
            *compiling,
        )

    def prepare(self) -> None:
        from .preparation import check_data

        check_data(self)

    def on_random_data(self) -> Compression:
        same = Compression(**self.configuration())
        same._random_data = self.dataset != "digits"
        return same

    def export(
        self, tensors: Mapping[str, torch.Tensor], metrics: Mapping[str, float], out: Path, options: Mapping[str, Any]
    ) -> str:
        from .export_run import export_network

        return export_network(self, tensors, metrics, out, options["target"])

    def steps_per_epoch(self) -> int:
        if resources().rehearsal:
            return MADE_UP_BATCHES
        train, held_out = SIZES[self.dataset]
        return (train if self.holdout else train + held_out) // self.batch_size

    def seconds_per_step(self, device: str) -> float | None:
        """Estimate from the network's FLOPs and the layers of its nuclear norm; digits can be tried.

        A backward pass costs two forward passes. A nuclear norm costs, for each layer of sides s ≤ l, a product with
        2 s² l FLOPs, an eigen-decomposition of s rows, and as much as the first product for the subgradient.
        """
        if self.dataset == "digits":
            return None
        speed = speed_of(device)
        passes = 3 * self.batch_size * _flops(self.network, CLASSES[self.dataset]) / speed.convolution
        if "nuclear" not in self.objectives():
            return passes
        sides = _sides(self.network, CLASSES[self.dataset])
        return passes + sum(4 * s * s * longer / speed.product + speed.seconds_of_eigen(s) for s, longer in sides)

    def start(self, streams: Streams) -> Task:
        from .task import CompressionTask

        return CompressionTask(self, streams, self._random_splits() if self._random_data else None)

    def _random_splits(self) -> Splits:
        from .data.images import random_splits

        splits = random_splits(input_shape(self.network), RANDOM_BATCHES * self.batch_size, CLASSES[self.dataset])
        return (splits if self.holdout else replace(splits, val=None)).to(resources().torch_device)

    def stack(self, tasks: Sequence[Task], parameters: StackedParameters) -> TaskStack:
        from .stack import CompressionStack

        return CompressionStack(cast("Sequence[CompressionTask]", tasks), parameters)

    def batch_key(self) -> Hashable | None:
        """Return the settings of a network that says it gains, where it is trained on a CPU in the usual way."""
        machine = resources()
        usual = machine.channels_last and self.precision == "float32" and not self.compile
        gains = usual and self.penalty in STACKED and steps_together(self.network) and machine.torch_device == "cpu"
        return super().batch_key() if gains else None


@cache
def _sides(network: str, classes: int) -> list[tuple[int, int]]:
    """Return the shorter and the longer side of every penalised weight as a matrix."""
    import torch

    weights = [weight for _, weight in penalised(build(network, classes, torch.Generator()))]
    shapes = [(len(weight), weight[0].numel()) for weight in weights]
    return [(min(shape), max(shape)) for shape in shapes]


@cache
def _flops(network: str, classes: int) -> int:
    import torch

    from .networks.cost import flops

    return flops(build(network, classes, torch.Generator()), input_shape(network))
