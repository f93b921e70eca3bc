"""The networks to compress: one file per architecture in `architectures/`, found because it is there.

A file `resnet_34.py` is the network `resnet-34`. It defines

- `INPUT_SHAPE`, the channels, height and width of one image,
- `network(classes)`, which returns the module with its initial weights,
- `penalises(path, convolution)`, which says whether the weights of the convolution at `path` belong
  to the penalised set,
- optionally `IN_LOCKSTEP = True`: runs on a CPU step together, which pays where a step is bound by calls.

Importing this package does not import torch.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import TYPE_CHECKING

from mobench.errors import unknown

from . import architectures

if TYPE_CHECKING:
    import torch
    from torch import nn

_TAG = "architecture"
"""The attribute that tells a built network's architecture; copies and pruned networks keep it."""


def names() -> tuple[str, ...]:
    """Return the names of all networks."""
    return tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(architectures.__path__)))


def input_shape(name: str) -> tuple[int, int, int]:
    """Return channels, height and width of the images that network `name` takes."""
    channels, height, width = _architecture(name).INPUT_SHAPE
    return channels, height, width


def steps_together(name: str) -> bool:
    """Say whether several runs of network `name` gain by stepping as one."""
    return bool(getattr(_architecture(name), "IN_LOCKSTEP", False))


def build(name: str, classes: int, generator: torch.Generator) -> nn.Module:
    """Return network `name` with initial weights that depend on `generator` alone.

    One number is drawn from `generator`; the global random state is the same before and after.
    """
    import torch

    architecture = _architecture(name)
    seed = int(torch.randint(2**63 - 1, (), generator=generator, device=generator.device))
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model: nn.Module = architecture.network(classes)
    setattr(model, _TAG, name)
    return model


def penalised(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Return the penalised weights of a network from `build`, with their names in its state dict.

    These are convolution weights only, never those of BatchNorm or Linear. One group of the group
    lasso is one output filter, i.e. one index of a weight's first dimension.
    """
    from torch import nn

    architecture = _architecture(str(getattr(model, _TAG)))
    return [
        (f"{path}.weight", module.get_parameter("weight"))
        for path, module in model.named_modules()
        if isinstance(module, nn.Conv2d) and architecture.penalises(path, module)
    ]


def _architecture(name: str) -> ModuleType:
    if name not in names():
        raise unknown("network", name, names())
    return importlib.import_module(f"{architectures.__name__}.{name.replace('-', '_')}")
