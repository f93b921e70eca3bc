"""A stored run's network again: rebuilt from its weights, pruned to a target and written to a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from . import data, networks
from .evaluation import Pruner
from .export import save

if TYPE_CHECKING:
    from .problem import Compression


def export_network(
    problem: Compression, weights: Mapping[str, Tensor], metrics: Mapping[str, float], out: Path, target: float | None
) -> str:
    """Write the network without the fraction `target` of its parameters, whole if that is None."""
    model = rebuilt(problem, weights)
    smaller = model if target is None else Pruner(model, problem.network, problem.fold).prune(target).model
    saved = save(smaller, out, networks.input_shape(problem.network))
    before, after = (sum(parameter.numel() for parameter in network.parameters()) for network in (model, smaller))
    lines = [
        f"parameters  {after:,} of {before:,} ({100 * (1 - after / before):.2f} % removed)",
        f"file        {saved.path}, {saved.bytes:,} bytes",
        f"outputs     read back they differ by at most {saved.largest_difference:.1e} of the largest",
    ]
    accuracy = metrics.get("accuracy" if target is None else f"accuracy@{100 * target:g}")
    if accuracy is not None:
        lines.append(f"accuracy    {accuracy:.2f} % of the test images, as recorded with the run")
    return "\n".join(lines)


def rebuilt(problem: Compression, weights: Mapping[str, Tensor]) -> nn.Module:
    """Return the problem's network with the given weights, in evaluation mode."""
    model = networks.build(problem.network, data.CLASSES[problem.dataset], torch.Generator())
    model.load_state_dict(weights)
    return model.eval()
