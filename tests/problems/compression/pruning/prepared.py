"""Networks that look trained, traced and pruned once for all tests."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor, nn

from mobench.problems.compression import networks
from mobench.problems.compression.pruning import Planner, PruningPlan, Structure, fold_constants, remove, trace

NAMES = networks.names()


@dataclass(frozen=True)
class Prepared:
    model: nn.Module
    structure: Structure
    planner: Planner
    images: Tensor


@cache
def prepared(name: str, classes: int = 10) -> Prepared:
    model = networks.build(name, classes, torch.Generator().manual_seed(0))
    images = torch.randn(2, *networks.input_shape(name), generator=torch.Generator().manual_seed(1))
    return prepare(model, [weight for weight, _ in networks.penalised(model)], images)


def prepare(model: nn.Module, weights: list[str], images: Tensor) -> Prepared:
    draw_parameters(model, images)
    structure = trace(model, weights, images[:1])
    return Prepared(model, structure, Planner(model, structure), images)


@cache
def plan_of(name: str) -> PruningPlan:
    return prepared(name).planner.plan(0.9)


@cache
def _removed(name: str) -> nn.Module:
    smaller: nn.Module = remove(prepared(name).model, prepared(name).structure, plan_of(name))
    return smaller


def pruned(name: str) -> nn.Module:
    """Return the network without 90 % of its parameters, a copy of its own for each caller."""
    return copy.deepcopy(_removed(name))


def folded(name: str) -> nn.Module:
    subject = prepared(name)
    shifted: nn.Module = fold_constants(
        pruned(name), subject.model, subject.structure, plan_of(name), subject.images[:1]
    )
    return shifted


@torch.no_grad()
def draw_parameters(model: nn.Module, images: Tensor) -> None:
    """Draw a network that looks trained: filters of all sizes in every layer, BatchNorms far from the identity.

    Running means and variances are those of `images`, so that signals neither die nor explode.
    """
    generator = torch.Generator().manual_seed(2)
    for module in model.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            module.weight.normal_(generator=generator)
            norms = module.weight.flatten(1).norm(dim=1).view(-1, *(1,) * (module.weight.ndim - 1))
            module.weight.mul_(torch.empty_like(norms).uniform_(0.5, 1.5, generator=generator) / norms)
            if module.bias is not None:
                module.bias.uniform_(-0.5, 0.5, generator=generator)
        if isinstance(module, nn.BatchNorm2d):
            module.weight.uniform_(0.5, 1.5, generator=generator)
            module.bias.uniform_(-0.5, 0.5, generator=generator)
            module.momentum = 1.0
    model.train()(images)
    model.eval()


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
