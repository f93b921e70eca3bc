"""Passes of a network without autograd: the values, gradients and statistics that torch computes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, fx, nn
from torch.nn import functional
from torchvision.models.resnet import BasicBlock

from mobench.core.direct_layers import CannotStackError
from mobench.core.direct_network import DirectNetwork


def channels_last(model: nn.Module) -> nn.Module:
    return model.to(memory_format=torch.channels_last)


def direct(model: nn.Module) -> DirectNetwork:
    parameters = {name: each.detach() for name, each in model.named_parameters()}
    return DirectNetwork(model, parameters, fx.symbolic_trace(model).graph, {})


class Residual(nn.Module):
    """A sum whose terms have a beginning in common, a norm that two readers read, and functions instead of modules."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.second, self.last = nn.Conv2d(4, 4, 1), nn.Linear(4 * 5 * 4, 3, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        begun = self.norm(self.first(images))
        rectified = functional.relu(begun)
        return self.last(torch.flatten(torch.relu(self.second(rectified) + begun), 1))


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "patches of other heights than widths": lambda: nn.Sequential(
        nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 0)), nn.Tanh(), nn.Flatten(), nn.Linear(3 * 3 * 3, 2)
    ),
    "patches wider than the image": lambda: nn.Sequential(nn.Conv2d(2, 3, 7, padding=3, bias=False), nn.Flatten()),
    "pixels that no patch sees": lambda: nn.Sequential(
        nn.Conv2d(2, 3, 1), nn.Conv2d(3, 2, 1, stride=2), nn.Identity(), nn.Flatten()
    ),
    "norms with and without ReLU": lambda: nn.Sequential(
        nn.Conv2d(2, 5, 3), nn.BatchNorm2d(5), nn.ReLU(inplace=True),
        nn.Conv2d(5, 4, 2), nn.BatchNorm2d(4, momentum=0.3),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3),
    ),
    "ReLU by itself": lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten()),
    "sums": Residual,
    "basic block": lambda: nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), BasicBlock(4, 4), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten()
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("dtype", "near"), [(torch.float64, 1e-11), (torch.float32, 2e-4)])
def test_values_gradients_and_statistics_are_those_of_autograd(name: str, dtype: torch.dtype, near: float) -> None:
    torch.manual_seed(0)
    own, usual = (channels_last(NETWORKS[name]().to(dtype)) for _ in range(2))
    usual.load_state_dict(own.state_dict())
    network = direct(own)
    room = {name: torch.full_like(each, torch.nan) for name, each in own.named_parameters()}
    network.write_to(room)
    for count in (6, 6, 4):
        images = torch.randn(count, 2, 5, 4, dtype=dtype)
        answer = usual(images)
        weights = torch.randn_like(answer)
        expected = torch.autograd.grad(answer, list(usual.parameters()), weights)
        torch.testing.assert_close(network(images), answer.detach(), rtol=near, atol=near)
        network.backward(weights)
        for found, gradient in zip(room.values(), expected, strict=True):
            torch.testing.assert_close(found, gradient, rtol=near, atol=near)
        for found, buffer in zip(own.buffers(), usual.buffers(), strict=True):
            torch.testing.assert_close(found, buffer, rtol=near, atol=near)


def test_parameters_are_read_where_they_are() -> None:
    model = channels_last(nn.Sequential(nn.Conv2d(2, 3, 2), nn.Flatten(), nn.Linear(3 * 4 * 4, 2)))
    network, images = direct(model), torch.randn(3, 2, 5, 5)
    network(images)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0)
    torch.testing.assert_close(network(images), model(images).detach())


def test_what_is_not_finite_reaches_the_answer() -> None:
    model = channels_last(NETWORKS["norms with and without ReLU"]())
    with torch.no_grad():
        model[0].weight[1, 0, 0, 0] = torch.nan
    assert not torch.isfinite(direct(model)(torch.randn(3, 2, 5, 4))).any()


def test_a_norm_is_exact_where_the_mean_is_large() -> None:
    """A channel of mean 3,000 and deviation 1: a single pass in float32 would have no digit left."""
    model = nn.Sequential(nn.BatchNorm2d(1), nn.Flatten())
    images = 3000.0 + torch.randn(64, 1, 4, 4)
    exact = (images.double() - images.double().mean()) / images.double().std(correction=0)
    torch.testing.assert_close(direct(model)(images).double(), exact.flatten(1), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "part",
    [
        lambda: nn.Dropout(),
        lambda: nn.Conv2d(4, 4, 3, groups=2),
        lambda: nn.Conv2d(4, 4, 3, dilation=2),
        lambda: nn.Conv2d(4, 4, 3, padding="same"),
        lambda: nn.Conv2d(4, 4, 3, padding_mode="circular", padding=1),
        lambda: nn.BatchNorm2d(4, momentum=None),
        lambda: nn.Flatten(2),
    ],
)
def test_a_network_with_an_unknown_part_is_refused(part: Callable[[], nn.Module]) -> None:
    with pytest.raises(CannotStackError):
        direct(channels_last(nn.Sequential(nn.Conv2d(1, 4, 3), part())))


def test_weights_in_another_order_are_refused() -> None:
    with pytest.raises(CannotStackError, match="channels-last"):
        direct(nn.Sequential(nn.Conv2d(2, 4, 3)))
