"""What gradients resolve whose factors a GPU rounded to TF32."""

from __future__ import annotations

import pytest
import torch

from mobench.core.tf32 import rounds_to_tf32
from mobench.gradients.gram import gram_of, resolved_rows
from mobench.training.arithmetic import tensor_floats
from tests.device.pretended_cuda import CPU, CUDA, PretendedCuda

TF32, FLOAT32 = 2.0**-18, 2.0**-36


@pytest.mark.parametrize(("asked", "resolved"), [("auto", TF32), ("true", TF32), ("false", FLOAT32)])
def test_rows_resolve_as_many_digits_as_their_factors_had(asked: str, resolved: float, device: PretendedCuda) -> None:
    rows = torch.tensor([[1.0, 1e-3], [1.0, -1e-3]])
    with tensor_floats(asked):
        assert gram_of(2, lambda: [list(rows.to("cuda"))]).resolution == resolved
        assert resolved_rows(torch.float32, CUDA) == resolved
        assert resolved_rows(torch.float32, CPU) == FLOAT32
        assert resolved_rows(torch.float64, CUDA) == 1e-14


def test_a_device_without_it_rounds_nothing(device: PretendedCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 0))
    with tensor_floats("true"):
        assert not rounds_to_tf32(CUDA)
