"""One seeded compression run: the network, its batches, its losses, and what it is worth when pruned."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from mobench.core.objective import KnownGradient
from mobench.core.problem import Task
from mobench.core.resources import resources
from mobench.core.streams import Streams

from . import data, networks
from .data.images import Batch, Images, Splits
from .data.stream import TrainStream
from .distillation import distillation_loss, mean_distillation, teacher_of
from .evaluation import Pruner, accuracy, latencies, pruned_forms, sparse_forms, worth_of_each
from .metrics import TARGETS, measured, native_metrics, pruned_metrics, quantised_metrics, sparse_metrics
from .nuclear import Nuclear
from .penalties import L1, GroupLasso, Penalty, proximal_step
from .quantisation import Quantisation, quantised_forms
from .sparsity import effective_rank, native_group_sparsity, parameter_sparsity

if TYPE_CHECKING:
    from .problem import Compression

KINDS: dict[str, type[Penalty]] = {"group-lasso": GroupLasso, "l1": L1, "nuclear": Nuclear}


class CompressionTask(Task):
    """A network on its training stream, with penalties that know their own gradients."""

    def __init__(self, problem: Compression, streams: Streams, splits: Splits | None = None) -> None:
        """Load the problem's data set, or train on the given images."""
        self.problem = problem
        self.machine = resources()
        self.device = torch.device(self.machine.torch_device)
        self.splits = splits or data.load(
            problem.dataset,
            self.machine.data_root,
            download=self.machine.may_download,
            device=self.device,
            holdout=problem.holdout,
        )
        self.memory_format = torch.channels_last if self.machine.channels_last else torch.contiguous_format
        self.model = networks.build(problem.network, self.splits.classes, streams.torch("init"))
        self.model.to(self.device).to(memory_format=self.memory_format)
        self.forward = torch.compile(self.model) if problem.compile else self.model
        self.parameters: Sequence[Tensor] = list(self.model.parameters())
        self.parameter_names = [name for name, _ in self.model.named_parameters()]
        self.stream = TrainStream(self.splits.train, problem.batch_size, self.splits.augment, streams.torch("data"))
        self.steps_per_epoch = self.stream.batches_per_epoch
        self.held_out_stream = self._stream_of_validation(streams)
        positions = {id(parameter): index for index, parameter in enumerate(self.parameters)}
        self.penalised = [weight for _, weight in networks.penalised(self.model)]
        indices = [positions[id(weight)] for weight in self.penalised]
        names = problem.objectives()[1:]
        self.penalties = [self._penalty(name, indices) for name in names if name != "distillation"]
        self.teacher: nn.Module | None = None
        if "distillation" in names:
            self.teacher = teacher_of(problem, streams, self.splits, self.device)
        self.start_values = self.secondary_values()
        self.start_rank = effective_rank(self.penalised) if "nuclear" in names else None
        self.proximal_weight = problem.prox / problem.scale
        self.compile_seconds = self._compile() if problem.compile else 0.0
        self._pruner: Pruner | None = None
        """The networks that `metrics` made, for `timings`."""

    def _penalty(self, name: str, indices: Sequence[int]) -> Penalty:
        if name == "quantisation":
            return Quantisation(self.parameters, indices, self.problem.scale, bits=self.problem.bits)
        return KINDS[name](self.parameters, indices, self.problem.scale)

    def secondary_values(self) -> list[float]:
        """Return the secondaries of the network as it is; distillation on the test images."""
        values = [penalty.evaluate() for penalty in self.penalties]
        if self.teacher is None:
            return values
        told = mean_distillation(self.model, self.teacher, self.splits.test, self.problem.temperature)
        return [self.problem.scale * told, *values]

    def batches(self) -> Iterator[Batch]:
        while True:
            yield self.stream.next_batch()

    def losses(self, batch: Batch) -> Sequence[Tensor | KnownGradient]:
        for penalty in self.penalties:
            penalty.update()
        self._train_mode()
        return [*self.batch_losses(batch), *self.penalties]

    def _train_mode(self) -> None:
        """Go back to training after an evaluation."""
        if not self.model.training:
            self.model.train()

    def task_loss(self, batch: Batch) -> Tensor:
        """Return the cross-entropy of a batch."""
        return self.batch_losses(batch)[0]

    def batch_losses(self, batch: Batch) -> list[Tensor]:
        """Return what depends on the images: the cross-entropy, and with a teacher how far its answers are."""
        images, labels = batch
        images = images.to(memory_format=self.memory_format)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.problem.precision == "bf16"):
            logits = self.forward(images)
        logits = logits.float()
        losses = [nn.functional.cross_entropy(logits, labels)]
        if self.teacher is not None:
            with torch.no_grad():
                answers = self.teacher(images).float()
            told = distillation_loss(logits, answers, self.problem.temperature)
            losses.append(self.problem.scale * told)
        return losses

    def losses_after(self, batch: Batch) -> Sequence[float]:
        self._train_mode()
        with torch.no_grad(), still_statistics(self.model):
            losses = [float(loss) for loss in self.batch_losses(batch)]
            return [*losses, *(penalty.evaluate() for penalty in self.penalties)]

    def _stream_of_validation(self, streams: Streams) -> TrainStream | None:
        images = self.splits.val
        if images is None:
            return None
        return TrainStream(images, min(self.problem.batch_size, len(images)), False, streams.torch("held-out"))

    def held_out_batch(self) -> Batch | None:
        """Return validation images; configurations are selected on them too, and reported on test images."""
        return None if self.held_out_stream is None else self.held_out_stream.next_batch()

    def held_out_losses(self, batch: Batch) -> Sequence[Tensor | KnownGradient]:
        with still_statistics(self.model):
            return self.losses(batch)

    def proximal_step(self, threshold: float) -> None:
        proximal_step(self.penalties, threshold * self.problem.scale)

    def epoch_metrics(self) -> Mapping[str, Any]:
        return {
            "validation_accuracy": accuracy(self.model, self.selection),
            "penalties": [penalty.evaluate() for penalty in self.penalties],
            "group_sparsity": native_group_sparsity(self.penalised),
        }

    @property
    def selection(self) -> Images:
        """The images on which configurations are selected: validation, or test where there is none."""
        return self.splits.test if self.splits.val is None else self.splits.val

    def metrics(self) -> Mapping[str, float]:
        values = self.secondary_values()
        self._pruner = pruner = self.pruner().keep(TARGETS)
        models = list(pruner.all_models(TARGETS).values())
        tested = worth_of_each(models, self.splits.test)
        selected = tested if self.selection is self.splits.test else worth_of_each(models, self.selection)
        loss = tested[0].loss
        relative = [value / start for value, start in zip(values, self.start_values, strict=True)]
        names = self.problem.objectives()
        losses = dict(zip(names, [loss, *values], strict=True))
        logs = dict(zip(names, [loss, *relative], strict=True))
        holdout = self.problem.holdout
        pruned = pruned_forms(pruner, TARGETS, selected, tested)
        found = {
            **{f"loss/{name}": value for name, value in losses.items()},
            **{f"log10/{name}": _log10(value) for name, value in logs.items()},
            f"selection_log10/{names[0]}": _log10(selected[0].loss),
            "group_sparsity": native_group_sparsity(self.penalised),
            "parameter_sparsity": parameter_sparsity(self.parameters),
            "penalised_sparsity": parameter_sparsity(self.penalised),
            "effective_rank": (rank := effective_rank(self.penalised)),
            **measured([*pruned_metrics(holdout), *native_metrics(holdout)], pruned),
        }
        if self.start_rank is not None:
            weights = [name for name, _ in networks.penalised(self.model)]
            sparse = sparse_forms(self.model, weights, TARGETS, self.selection, self.splits.test)
            found |= measured(sparse_metrics(holdout), sparse)
            found["rank_kept"] = rank / self.start_rank
        if self.problem.penalty == "quantisation":
            weights = [name for name, _ in networks.penalised(self.model)]
            rounded = quantised_forms(self.model, weights, self.selection, self.splits.test)
            found |= measured(quantised_metrics(holdout), rounded)
        return found

    def timings(self) -> Mapping[str, float]:
        compiling = {"compile_seconds": self.compile_seconds} if self.problem.compile else {}
        kept, self._pruner = self._pruner, None
        pruner = self.pruner() if kept is None or not kept.fits() else kept
        return {**latencies(pruner, TARGETS), **compiling}

    def _compile(self) -> float:
        """Compile both passes on an empty batch, so that no step pays for it; return the seconds it took."""
        buffers = {name: buffer.clone() for name, buffer in self.model.named_buffers()}
        started = time.perf_counter()
        self.model.train()
        size, shape = self.problem.batch_size, networks.input_shape(self.problem.network)
        images = torch.zeros(size, *shape, device=self.device)
        labels = torch.zeros(size, dtype=torch.int64, device=self.device)
        torch.autograd.grad(self.task_loss((images, labels)), list(self.model.parameters()))
        with torch.no_grad():
            for name, buffer in self.model.named_buffers():
                buffer.copy_(buffers[name])
        return time.perf_counter() - started

    def pruner(self) -> Pruner:
        """Return what removes filters of the network as it is now."""
        return Pruner(self.model, self.problem.network, self.problem.fold)

    def artifact(self) -> dict[str, Tensor]:
        """Return the trained weights."""
        return self.model.state_dict()

    def state_dict(self) -> dict[str, Any]:
        held_out = {} if self.held_out_stream is None else {"held_out": self.held_out_stream.state_dict()}
        return {
            "buffers": dict(self.model.named_buffers()),
            "stream": self.stream.state_dict(),
            "penalties": [penalty.state_dict() for penalty in self.penalties],
            **({} if self.teacher is None else {"teacher": self.teacher.state_dict()}),
            **held_out,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        with torch.no_grad():
            for name, buffer in self.model.named_buffers():
                buffer.copy_(state["buffers"][name])
        self.stream.load_state_dict(state["stream"])
        for penalty, stored in zip(self.penalties, state.get("penalties", ()), strict=False):
            penalty.load_state_dict(stored)
        if self.teacher is not None:
            self.teacher.load_state_dict(state["teacher"])
        if self.held_out_stream is not None and "held_out" in state:
            self.held_out_stream.load_state_dict(state["held_out"])


def _log10(value: float) -> float:
    return math.log10(max(value, 1e-12))


@contextmanager
def still_statistics(model: nn.Module) -> Iterator[None]:
    """Let BatchNorm use the batch's statistics without moving its running ones."""
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.track_running_stats = False
    try:
        yield
    finally:
        for norm in norms:
            norm.track_running_stats = True
