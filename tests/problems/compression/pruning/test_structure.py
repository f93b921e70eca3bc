"""What the dependency graph finds prunable in each architecture."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from mobench.errors import UserError
from mobench.problems.compression import networks
from mobench.problems.compression.pruning import trace
from mobench.problems.compression.pruning.structure import INPUT, OUTPUT, PrunableLayer
from tests.problems.compression.pruning.prepared import prepared


def layer(name: str, path: str) -> PrunableLayer:
    return next(layer for layer in prepared(name).structure.layers if layer.path == path)


def readers(found: PrunableLayer) -> set[tuple[str, str]]:
    return {(part.path, part.side) for part in found.slices}


def test_residual_sums_leave_only_the_first_convolution_of_each_block() -> None:
    blocks = [(stage, block) for stage, count in enumerate((3, 4, 6, 3), start=1) for block in range(count)]
    found = [layer.path for layer in prepared("resnet-34").structure.layers]
    assert found == [f"layer{stage}.{block}.conv1" for stage, block in blocks]
    assert readers(layer("resnet-34", "layer2.0.conv1")) == {
        ("layer2.0.conv1", OUTPUT),
        ("layer2.0.bn1", OUTPUT),
        ("layer2.0.conv2", INPUT),
    }


@pytest.mark.parametrize("name", ["densenet-121", "inception", "digits-cnn"])
def test_networks_without_sums_can_lose_filters_of_every_penalised_convolution(name: str) -> None:
    penalised = [weight.removesuffix(".weight") for weight, _ in networks.penalised(prepared(name).model)]
    assert [layer.path for layer in prepared(name).structure.layers] == penalised


def test_a_depthwise_convolution_goes_with_the_filter_that_feeds_it() -> None:
    assert readers(layer("mobilenet-v2", "features.2.conv.0.0")) == {
        ("features.2.conv.0.0", OUTPUT),
        ("features.2.conv.0.1", OUTPUT),
        ("features.2.conv.1.0", OUTPUT),
        ("features.2.conv.1.1", OUTPUT),
        ("features.2.conv.2", INPUT),
    }


def test_mobilenet_keeps_exactly_the_projections_that_a_sum_reads() -> None:
    prunable = {layer.path for layer in prepared("mobilenet-v2").structure.layers}
    penalised = {weight.removesuffix(".weight") for weight, _ in networks.penalised(prepared("mobilenet-v2").model)}
    in_stages_of_several_blocks = {f"features.{block}.conv.2" for block in range(2, 17)}
    assert penalised - prunable == in_stages_of_several_blocks


def test_concatenated_channels_are_found_at_their_offsets() -> None:
    third = layer("densenet-121", "features.denseblock1.denselayer3.conv2")
    positions = {part.path: part.positions for part in third.slices if part.side == INPUT}
    offset = 64 + 2 * 32
    assert positions["features.denseblock1.denselayer4.conv1"] == tuple((offset + index,) for index in range(32))
    assert positions["features.transition1.conv"] == tuple((offset + index,) for index in range(32))
    assert "features.denseblock1.denselayer3.conv1" not in positions


def test_flattened_pixels_all_belong_to_their_filter() -> None:
    model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.Flatten(), nn.Linear(3 * 4, 2))
    (found,) = trace(model, ["0.weight"], torch.zeros(1, 1, 4, 4)).layers
    linear = next(part for part in found.slices if part.path == "2")
    assert linear.positions == ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11))


def test_tracing_leaves_the_network_as_it_was() -> None:
    model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Conv2d(3, 2, 3)).requires_grad_(False)
    before = copy.deepcopy(model.state_dict())
    with torch.no_grad():
        trace(model, ["0.weight"], torch.randn(1, 1, 8, 8))
    assert model.training
    assert not model[0].weight.requires_grad
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_filters_that_are_the_networks_output_stay() -> None:
    model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.Conv2d(3, 2, 3))
    found = trace(model, ["0.weight", "1.weight"], torch.zeros(1, 1, 8, 8)).layers
    assert [layer.path for layer in found] == ["0"]


class Scaled(nn.Module):
    """A convolution whose channels pass a learned slope before they are read."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.slope, self.second = nn.Conv2d(1, 4, 1), nn.PReLU(4), nn.Conv2d(4, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.second(self.slope(self.first(x)))
        return result


def test_a_layer_kind_that_cannot_be_cut_is_named() -> None:
    with pytest.raises(UserError, match=r"'slope', a PReLU.*accepted: Conv2d"):
        trace(Scaled(), ["first.weight"], torch.zeros(1, 1, 4, 4))


def test_a_grouped_convolution_is_refused() -> None:
    grouped = nn.Sequential(nn.Conv2d(1, 4, 1), nn.Conv2d(4, 4, 1, groups=2), nn.Conv2d(4, 2, 1))
    with pytest.raises(UserError, match="'1' is no plain convolution"):
        trace(grouped, ["1.weight"], torch.zeros(1, 1, 4, 4))
    with pytest.raises(UserError, match=r"channels of '1', a Conv2d"):
        trace(grouped, ["0.weight"], torch.zeros(1, 1, 4, 4))
