"""What a trained network is worth: as it is, and with 80 to 99 % of its parameters removed."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from mobench.core.quiet import QUIET

from . import networks
from .data.images import Images
from .latency import cpu_latency, ready_to_time
from .metrics import NATIVE, Form, mark
from .networks.cost import file_size, flops
from .pruning import Planner, PruningPlan, Structure, fold_constants, remove, trace
from .shared_start import SharedStart
from .sparsity import GROUP_THRESHOLD, parameter_sparsity, zero_smallest

EVALUATION_BATCH = 256


@torch.no_grad()
def accuracy(model: nn.Module, images: Images) -> float:
    """Return the percentage of correctly classified images, in evaluation mode."""
    correct: int = sum(hits(model, images).tolist())
    return 100.0 * correct / len(images)


@torch.no_grad()
def hits(model: nn.Module, images: Images) -> Tensor:
    """Return the number of correctly classified images of each batch, on the device: they are read in one go."""
    model.eval()
    return torch.stack([(model(batch).argmax(1) == labels).sum() for batch, labels in images.batches(EVALUATION_BATCH)])


class Worth(NamedTuple):
    """How well a network classifies."""

    accuracy: float
    """In percent."""
    loss: float
    """The mean cross-entropy."""


def worth_of_each(models: Sequence[nn.Module], images: Images) -> list[Worth]:
    """Return accuracy and loss of each model in evaluation mode, from one pass over the images."""
    correct, losses = (counted.tolist() for counted in hits_and_losses(models, images))
    count = len(images)
    return [Worth(100.0 * sum(hit) / count, sum(loss) / count) for hit, loss in zip(correct, losses, strict=True)]


@torch.no_grad()
def hits_and_losses(models: Sequence[nn.Module], images: Images) -> tuple[Tensor, Tensor]:
    """Return how many images each model classifies correctly and its summed cross-entropy, batch by batch.

    Both are models × batches, on the device.
    """
    answers = SharedStart(models)
    correct, losses = [], []
    for batch, labels in images.batches(EVALUATION_BATCH):
        found = answers(batch)
        correct.append(torch.stack([(logits.argmax(1) == labels).sum() for logits in found]))
        losses.append(torch.stack([cross_entropy(logits.float(), labels, reduction="sum") for logits in found]))
    return torch.stack(correct, 1), torch.stack(losses, 1)


@dataclass(frozen=True)
class Pruned:
    """A smaller network, what was removed, and how the names of its metrics end."""

    end: str
    model: nn.Module
    plan: PruningPlan


class Pruner:
    """Removes filters from one trained network."""

    def __init__(self, model: nn.Module, network: str, fold: bool) -> None:
        self.model = model
        self.fold = fold
        self.input_shape = networks.input_shape(network)
        device = next(model.parameters()).device
        self.example = torch.zeros(1, *self.input_shape, device=device)
        model.eval()
        self.structure: Structure = trace(model, [name for name, _ in networks.penalised(model)], self.example)
        self.planner = Planner(model, self.structure)
        self._kept: tuple[tuple[float, ...], list[Pruned]] | None = None
        self._weights: list[Tensor] = []

    def prune(self, target: float) -> Pruned:
        """Return the network at a reduction that is reached exactly, or an error that states the maximum."""
        return self._carried_out(mark(target), self.planner.plan(target))

    def keep(self, targets: tuple[float, ...]) -> Pruner:
        """Make the networks of `each` now; until the weights change, whoever asks for these targets gets them."""
        self._kept = targets, list(self.each(targets))
        self._weights = [parameter.detach().clone() for parameter in self.model.parameters()]
        return self

    def fits(self) -> bool:
        """Say whether the network still has the weights for which `keep` made others."""
        return all(map(torch.equal, self._weights, self.model.parameters()))

    def each(self, targets: tuple[float, ...]) -> Iterator[Pruned]:
        """Yield the network at each target, and without its negligible filters.

        Where a target cannot be reached, the network at the largest reduction possible.
        """
        if self._kept is not None and self._kept[0] == targets:
            yield from self._kept[1]
            return
        for target in targets:
            reachable = target <= self.planner.maximum
            plan = self.planner.plan(target) if reachable else self.planner.plan_maximum()
            yield self._carried_out(mark(target), plan)
        yield self._carried_out(NATIVE, self.planner.plan_below(GROUP_THRESHOLD))

    def all_models(self, targets: tuple[float, ...]) -> dict[str, nn.Module]:
        """Return the dense network and those of `each`, by how the names of their metrics end."""
        return {"": self.model} | {pruned.end: pruned.model for pruned in self.each(targets)}

    def _carried_out(self, end: str, plan: PruningPlan) -> Pruned:
        smaller = remove(self.model, self.structure, plan)
        if self.fold:
            smaller = fold_constants(smaller, self.model, self.structure, plan, self.example)
        return Pruned(end, smaller, plan)


def pruned_forms(
    pruner: Pruner, targets: tuple[float, ...], selected: Sequence[Worth], tested: Sequence[Worth]
) -> dict[str, Form]:
    """Return the dense network, that at every target and the natively pruned one, with their counted costs.

    Accuracies were measured in the order of `pruner.all_models`; `reduction` is the fraction really removed.
    """
    removed = {pruned.end: pruned.plan.reduction for pruned in pruner.each(targets)}
    forms = {}
    for (end, model), chosen, reported in zip(pruner.all_models(targets).items(), selected, tested, strict=True):
        sizes = _costs(model, pruner.input_shape) | ({"reduction": removed[end]} if end else {})
        forms[end] = Form(reported.accuracy, chosen.accuracy, sizes)
    return forms


def sparse_forms(
    model: nn.Module, weights: Sequence[str], targets: Sequence[float], selection: Images, test: Images
) -> dict[str, Form]:
    """Return the network as it is, and with the smallest of the named weights set to zero.

    At each target so many weights are zero that they are this share of all parameters, or all that can be; those that
    already were zero count.
    """
    total = sum(parameter.numel() for parameter in model.parameters())
    forms = {"": Form(math.nan, math.nan, {"nonzero": 1.0 - parameter_sparsity(model.parameters())})}
    for target in targets:
        smaller = copy.deepcopy(model)
        named = dict(smaller.named_parameters())
        zero_smallest([named[name] for name in weights], math.ceil(target * total))
        sizes = {"nonzero": 1.0 - parameter_sparsity(smaller.parameters())}
        forms[mark(target)] = Form(accuracy(smaller, test), accuracy(smaller, selection), sizes)
    return forms


def latencies(pruner: Pruner, targets: tuple[float, ...]) -> dict[str, float]:
    """Return the median CPU milliseconds of one image on one thread, dense, at every target and natively pruned."""
    ready = {end: ready_to_time(model) for end, model in pruner.all_models(targets).items()}
    with QUIET.alone():
        timed = {end: cpu_latency(model, pruner.input_shape) for end, model in ready.items()}
    return {f"latency_ms{end}": latency.median_ms for end, latency in timed.items()}


def _costs(model: nn.Module, input_shape: tuple[int, int, int]) -> dict[str, float]:
    return {
        "flops": float(flops(model, input_shape)),
        "parameters": float(sum(parameter.numel() for parameter in model.parameters())),
        "bytes": float(file_size(model)),
    }
