"""What a network costs to run and to store, counted and not timed."""

from __future__ import annotations

import copy
import io
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from mobench.core.torch_compiler import leave_compiler_out

BATCH_NORM_FLOPS = 8
"""FLOPs for each element a BatchNorm writes: four multiply-adds.

The published figures count so (subtract, divide, scale and shift, each as one multiply-add). With
convolutions and linear layers alone DenseNet-121 would have 1.78 G and MobileNetV2 0.176 G instead
of the published 1.82 G and 0.19 G.
"""


def flops(model: nn.Module, input_shape: Sequence[int]) -> int:
    """Return the FLOPs of one image's forward pass in evaluation mode; a multiply-add counts as 2.

    Counted: convolutions and linear layers, 2 for each multiply-add, and BatchNorm,
    `BATCH_NORM_FLOPS` for each element. Activations, pooling, sums and concatenations count
    nothing. One image really passes through the network, on the CPU: shapes alone (torch's meta device) take
    several times as long, because BatchNorm then goes through Python. `model` is as it was before.
    """
    here = all(parameter.device.type == "cpu" for parameter in model.parameters())
    subject = model if here else copy.deepcopy(model).to("cpu")
    first = next(subject.parameters(), torch.empty(0))
    batch_norm = torch.ops.aten.native_batch_norm
    training = {module: module.training for module in subject.modules()}
    subject.eval()
    try:
        with torch.no_grad(), FlopCounterMode(display=False, custom_mapping={batch_norm: _batch_norm_flops}) as counter:
            leave_compiler_out(type(getattr(counter, "mode", counter)))
            subject(torch.zeros(1, *input_shape, dtype=first.dtype))
    finally:
        for module, before in training.items():
            module.training = before
    return int(counter.get_total_flops())


def file_size(model: nn.Module) -> int:
    """Return the bytes of the model's state dict as `torch.save` writes it.

    Each tensor is saved with its own storage: a weight that is a view into a larger buffer would
    otherwise drag the whole buffer into the file. The published "MB" are 2²⁰ bytes.
    """
    file = io.BytesIO()
    torch.save({name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}, file)
    return file.tell()


def _batch_norm_flops(input_shape: Sequence[int], *args: Any, **kwargs: Any) -> int:
    return BATCH_NORM_FLOPS * torch.Size(input_shape).numel()
