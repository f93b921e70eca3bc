"""A teacher: the same network trained plainly at the same seed, whose answers a student may follow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from mobench.core.streams import Streams

from . import networks
from .data.images import Images, Splits
from .data.stream import TrainStream

if TYPE_CHECKING:
    from .problem import Compression

EVALUATION_BATCH = 256
MOST = 8
"""So many teachers are kept in a process: runs that differ in the method alone share theirs."""
_KEPT: dict[tuple[object, ...], nn.Module] = {}


def distillation_loss(student: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """Return T² KL(p_teacher ‖ p_student), mean over images, with p = softmax(logits / T).

    T² keeps the size of its gradient about the same for every T (Hinton, Vinyals and Dean, 2015).
    """
    wanted = torch.log_softmax(teacher / temperature, 1)
    found = torch.log_softmax(student / temperature, 1)
    divergence = nn.functional.kl_div(found, wanted, reduction="batchmean", log_target=True)
    return temperature**2 * divergence


@torch.no_grad()
def mean_distillation(student: nn.Module, teacher: nn.Module, images: Images, temperature: float) -> float:
    """Return the mean loss over images, both networks in evaluation mode; the student is put back into its own."""
    training, total = student.training, 0.0
    student.eval()
    for batch, _ in images.batches(EVALUATION_BATCH):
        total += len(batch) * float(distillation_loss(student(batch).float(), teacher(batch).float(), temperature))
    student.train(training)
    return total / len(images)


def teacher_of(problem: Compression, streams: Streams, splits: Splits, device: torch.device) -> nn.Module:
    """Return the teacher of a run, in evaluation mode.

    It has draws of its own, `teacher` and `teacher-data`, of the run's seed: every method at one seed has the same one.
    Its training is no part of a step and of no method's cost.
    """
    settings = (problem.dataset, problem.network, problem.batch_size, problem.holdout)
    recipe = (problem.teacher_epochs, problem.teacher_lr)
    key = (*settings, *recipe, streams.seed, str(device), len(splits.train))
    if key not in _KEPT:
        if len(_KEPT) >= MOST:
            del _KEPT[next(iter(_KEPT))]
        _KEPT[key] = _trained(problem, streams, splits, device)
    return _KEPT[key]


def _trained(problem: Compression, streams: Streams, splits: Splits, device: torch.device) -> nn.Module:
    model = networks.build(problem.network, splits.classes, streams.torch("teacher")).to(device)
    stream = TrainStream(splits.train, problem.batch_size, splits.augment, streams.torch("teacher-data"))
    steps = problem.teacher_epochs * stream.batches_per_epoch
    optimizer = torch.optim.Adam(model.parameters(), lr=problem.teacher_lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    model.train()
    for images, labels in _first(stream, steps):
        optimizer.zero_grad()
        torch.autograd.backward(nn.functional.cross_entropy(model(images), labels))
        optimizer.step()
        schedule.step()
    return model.eval().requires_grad_(False)


def _first(stream: TrainStream, count: int) -> Iterator[tuple[Tensor, Tensor]]:
    for _ in range(count):
        yield stream.next_batch()
