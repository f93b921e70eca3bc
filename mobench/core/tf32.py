"""Whether a CUDA device rounds the factors of float32 products to TF32, which has 10 bits after the leading one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

FIRST = (8, 0)
"""The capability of the first devices that can."""


def rounds_to_tf32(device: torch.device) -> bool:
    """Say whether convolutions or products on `device` may be rounded so, as torch is set now.

    Torch refuses to say where its older and newer settings contradict each other; they then may be.
    """
    import torch

    if device.type != "cuda" or torch.cuda.get_device_capability(device) < FIRST:
        return False
    try:
        return bool(torch.backends.cudnn.allow_tf32 or torch.backends.cuda.matmul.allow_tf32)
    except RuntimeError:
        return True
