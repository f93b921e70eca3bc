"""What the error bound of a Gram matrix takes for granted of a real GPU: partial sums, and digits of TF32."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mobench.core.streams import Streams
from mobench.core.tf32 import rounds_to_tf32
from mobench.gradients.gram import GramSum, resolved_rows
from mobench.training.arithmetic import tensor_floats
from tests.problems.compression.runs import few_steps, machine, spec

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("kind", ["random", "positive", "one magnitude"])
@pytest.mark.parametrize("length", [1000, 2**20, 2**23])
def test_products_keep_the_bound_on_their_error(length: int, kind: str) -> None:
    rows = torch.randn(3, length, generator=torch.Generator().manual_seed(length))
    rows = {"random": rows, "positive": rows.abs(), "one magnitude": rows.sign() * torch.rand(3, 1) + 0.5}[kind]
    total = GramSum(3)
    total.add(list(rows.cuda()))
    wide = rows.double().numpy()
    true, norms = wide @ wide.T, np.sqrt((wide * wide).sum(1))
    assert np.linalg.norm((total.matrix() - true) / norms / norms[:, None], 2) <= total.error


@pytest.mark.parametrize("wanted", ["true", "false"])
def test_a_backward_pass_turns_a_gradient_by_less_than_its_rows_are_said_to_resolve(wanted: str) -> None:
    if wanted == "true" and torch.cuda.get_device_capability() < (8, 0):
        pytest.skip("this GPU has no TF32")
    run = spec("plain", training=few_steps(1), dataset="cifar-10", network="resnet-34", batch_size=32)
    with machine(device="cuda", rehearsal=True), tensor_floats(wanted):
        task = run.build_problem().start(Streams(0))
        (loss,) = task.batch_losses(next(task.batches()))  # type: ignore[attr-defined]
        found = [
            torch.autograd.grad(loss, task.parameters, retain_graph=True),
            torch.autograd.grad(1.3 * loss, task.parameters),
        ]
        one, other = (torch.cat([each.flatten() for each in gradients]) for gradients in found)
        units = [each.double() / each.double().norm() for each in (one, other)]
        assert rounds_to_tf32(loss.device) is (wanted == "true")
        most = resolved_rows(torch.float32, loss.device) ** 0.5 if wanted == "true" else 1e-4  # cuDNN's order changes
        assert float((units[0] - units[1]).norm()) < most
