"""The pretended CUDA device: real numbers, no mixture of devices, and every wait of the host seen."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.device.pretended_cuda import CPU, CUDA, PretendedCuda


def test_numbers_and_gradients_are_those_of_the_cpu(device: PretendedCuda) -> None:
    def trained(where: str) -> Tensor:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)).to(
            where
        )
        optimizer = torch.optim.Adam(model.parameters(), fused=True)
        images, labels = torch.randn(5, 1, 8, 8).to(where), torch.arange(5).to(where) % 3
        for _ in range(2):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
        everything = [*model.parameters(), *model.buffers(), *(each.grad for each in model.parameters())]
        assert {tensor.device for tensor in everything} == {CUDA if where == "cuda" else CPU}
        return torch.cat([tensor.detach().flatten().double() for tensor in everything]).cpu()

    assert torch.equal(trained("cuda"), trained("cpu"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.zeros(2, device="cuda"),
        lambda: torch.zeros(2).cuda(),
        lambda: torch.zeros(2).to(CUDA, torch.float64),
        lambda: torch.zeros(2).to(device="cuda"),
        lambda: torch.zeros(2).to(torch.zeros(2, device="cuda")),
        lambda: torch.zeros(2, device="cuda").to(torch.float16),
        lambda: torch.zeros(4, device="cuda").view(2, 2)[1],
        lambda: torch.zeros(2, device="cuda").new_tensor([1.0]),
        lambda: torch.empty_like(torch.zeros(2, device="cuda")),
        lambda: copy.deepcopy(nn.BatchNorm2d(2).to("cuda")).running_mean,
    ],
)
def test_what_is_made_or_moved_there_is_there(make: Callable[[], Tensor], device: PretendedCuda) -> None:
    found = make()
    assert found.device == CUDA and found.is_cuda and not found.is_cpu


def test_a_move_copies_and_a_view_does_not(device: PretendedCuda) -> None:
    here = torch.ones(2)
    there = here.to("cuda")
    there[0].fill_(5.0)
    assert (here.tolist(), there.cpu().tolist()) == ([1.0, 1.0], [5.0, 1.0])
    assert there.to("cuda") is there and here.cpu() is here
    assert {here.device, there.cpu().device, torch.zeros_like(there, device="cpu").device} == {CPU}


@pytest.mark.parametrize(
    "operation",
    [
        lambda there, here: there + here,
        lambda there, here: here.add_(there),
        lambda there, here: here[0, 0].add_(there[0, 0]),
        lambda there, here: torch.stack([there[0, 0], here[0, 0]]),
        lambda there, here: there.index_select(0, torch.tensor([0])),
        lambda there, here: torch.mm(there, there, out=here),
        lambda there, here: torch._foreach_add_([there], [here]),
        lambda there, here: nn.functional.conv2d(there[None, None], here[None, None]),
    ],
)
def test_two_devices_in_one_operation_are_refused(
    operation: Callable[[Tensor, Tensor], object], device: PretendedCuda
) -> None:
    with pytest.raises(RuntimeError, match=r"tensors to be on the same device.*cuda:0 and cpu.*test_pretended_cuda"):
        operation(torch.zeros(3, 3, device="cuda"), torch.ones(3, 3))


def test_what_cuda_takes_of_the_host_is_taken(device: PretendedCuda) -> None:
    there = torch.zeros(3, 3, device="cuda")
    assert (there + torch.tensor(2.0)).device == CUDA, "a number"
    assert not device.waits
    assert there[torch.tensor([0, 1])].device == CUDA, "indices, which are copied"
    there.copy_(torch.ones(3, 3))
    assert sum(device.waits.values()) == 2


@pytest.mark.parametrize("read", [lambda there: there.numpy(), np.asarray])
def test_numpy_takes_nothing_from_the_device(read: Callable[[Tensor], object], device: PretendedCuda) -> None:
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        read(torch.zeros(3, device="cuda"))


@pytest.mark.parametrize(
    ("call", "launches", "waits"),
    [
        (lambda there, here: there.sum(), 1, 0),
        (lambda there, here: there.t(), 0, 0),
        (lambda there, here: here.sum().item(), 0, 0),
        (lambda there, here: there.sum().item(), 1, 1),
        (lambda there, here: bool(there[0, 0] > 0), 1, 1),
        (lambda there, here: there.tolist(), 0, 1),
        (lambda there, here: there.cpu(), 1, 1),
        (lambda there, here: there[there > 0], 2, 1),
        (lambda there, here: torch.linalg.eigh(there), 1, 1),
        (lambda there, here: torch.cuda.synchronize(), 0, 1),
        (lambda there, here: (there.requires_grad_() * 2.0).sum().backward(), 4, 0),
    ],
)
def test_launches_and_waits_are_counted(
    call: Callable[[Tensor, Tensor], object], launches: int, waits: int, device: PretendedCuda
) -> None:
    there, here = torch.zeros(3, 3, device="cuda"), torch.zeros(3, 3)
    device.forget_counts()
    call(there, here)
    assert (device.launches.total(), device.waits.total()) == (launches, waits), device.launches
    assert all(site.startswith("test_pretended_cuda.py:") for site in device.sites)


def test_memory_is_forgotten_when_nobody_holds_it(device: PretendedCuda) -> None:
    kept = torch.zeros(3, device="cuda")
    before = device.places.live()
    for _ in range(100):
        assert (kept + 1.0).device == CUDA and (torch.zeros(3) + 1.0).device == CPU
    gc.collect()
    assert device.places.live() == before


def test_outside_of_the_block_all_is_as_before() -> None:
    with PretendedCuda():
        tensor = torch.zeros(2, device="cuda")
    assert tensor.device == CPU and tensor.numpy().shape == (2,)
