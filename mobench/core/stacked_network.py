"""B networks of one architecture as one: grouped convolutions and batched products.

Images of all members stand side by side as channels (N × B·C × H × W, channels-last), so that a convolution is one
with B groups and BatchNorm, which treats each channel by itself, stays as it is. Rows of numbers are B × N × F, and a
linear layer is a batched product. In this layout a member's numbers have the same bits for every B.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional

Operation = Callable[..., Tensor]


class CannotStackError(ValueError):
    """A network has a part for which there is no stacked form."""


class StackedNetwork:
    """The training passes of B networks. Their buffers become views of this object's, and move with it."""

    def __init__(self, models: Sequence[nn.Module], layers: Mapping[str, Tensor]) -> None:
        """Take the networks, and for each named parameter a view of all members' values with B in front."""
        self.size = len(models)
        self._sources = list(layers.values())
        self._leaves = {name: _leaf(layer) for name, layer in layers.items()}
        pairs = zip(self._leaves.values(), self._sources, strict=True)
        self._targets = [_apart(leaf.detach(), len(layer)) for leaf, layer in pairs]
        self._counters: list[Tensor] = []
        self._buffers: dict[str, dict[str, Tensor]] = {}
        self._join_buffers(models)
        graph = fx.symbolic_trace(models[0])
        modules = dict(graph.named_modules())
        self._program = [self._step(node, modules) for node in graph.graph.nodes]

    def _join_buffers(self, models: Sequence[nn.Module]) -> None:
        for path, module in models[0].named_modules():
            members = [model.get_submodule(path) for model in models]
            for name, buffer in module.named_buffers(recurse=False):
                joined = torch.stack([member.get_buffer(name) for member in members])
                for member, row in zip(members, joined, strict=True):
                    member._buffers[name] = row
                if buffer.ndim == 0:
                    self._counters.append(joined)
                else:
                    self._buffers.setdefault(path, {})[name] = joined.view(-1)

    def leaves(self) -> list[Tensor]:
        """Return the tensors to differentiate with respect to, in the order of the parameters."""
        return list(self._leaves.values())

    def write(self, gradients: Sequence[Tensor], out: Sequence[Tensor]) -> None:
        """Copy gradients with respect to the leaves into views with B in front."""
        apart = [_apart(found, self.size) for found in gradients]
        torch._foreach_copy_(list(out), apart)

    @torch.no_grad()
    def read(self) -> None:
        """Take over the parameters' current values."""
        torch._foreach_copy_(self._targets, self._sources)

    def __call__(self, images: Tensor) -> Tensor:
        """Return B × N × F outputs in training mode, for N × B·C × H × W images."""
        for counter in self._counters:
            counter += 1
        values: dict[str, Any] = {}
        for name, operation, arguments in self._program:
            values[name] = operation(images if operation is _given else None, *(values[key] for key in arguments))
        found: Tensor = values["output"]
        return found

    def _step(self, node: fx.Node, modules: Mapping[str, nn.Module]) -> tuple[str, Operation, list[str]]:
        """Return the name of a value, how it is made, and of which others."""
        inputs = [argument.name for argument in node.all_input_nodes]
        if node.op == "placeholder":
            return node.name, _given, []
        if node.op == "output":
            return node.name, _passed, inputs
        if node.op == "call_module":
            return node.name, self._module(str(node.target), modules[str(node.target)]), inputs
        if node.op == "call_function" and node.target in (operator.add, operator.iadd, torch.add) and len(inputs) == 2:
            return node.name, lambda _, one, other: one + other, inputs
        if node.op == "call_function" and node.target in (torch.relu, functional.relu):
            return node.name, lambda _, value: torch.relu(value), inputs
        if node.op == "call_function" and node.target is torch.flatten and node.args[1:] == (1,):
            return node.name, self._flattened, inputs
        raise CannotStackError(f"{node.op} {node.target}")

    def _module(self, path: str, module: nn.Module) -> Operation:
        if type(module) is nn.Conv2d and module.padding_mode == "zeros" and module.groups == 1:
            return self._convolution(path, module)
        if type(module) is nn.BatchNorm2d and module.track_running_stats and module.affine and module.momentum:
            return self._batch_norm(path, module, module.momentum)
        if type(module) is nn.Linear:
            return self._linear(path)
        if type(module) is nn.ReLU:
            return _relu_in_place if module.inplace else lambda _, value: torch.relu(value)
        if type(module) is nn.Tanh:
            return lambda _, value: torch.tanh(value)
        if type(module) is nn.AdaptiveAvgPool2d and module.output_size in (1, (1, 1)):
            return lambda _, value: value.mean((2, 3), keepdim=True)
        if type(module) is nn.Flatten and module.start_dim == 1 and module.end_dim == -1:
            return self._flattened
        if type(module) is nn.Identity:
            return _passed
        raise CannotStackError(f"{type(module).__name__} at {path}")

    def _convolution(self, path: str, module: nn.Conv2d) -> Operation:
        weight, bias = self._leaves[f"{path}.weight"], self._leaves.get(f"{path}.bias")
        stride, padding, dilation, groups = module.stride, module.padding, module.dilation, self.size
        convolve = functional.conv2d
        return lambda _, value: convolve(value, weight, bias, stride, padding, dilation, groups)

    def _batch_norm(self, path: str, module: nn.BatchNorm2d, momentum: float) -> Operation:
        weight, bias = (self._leaves[f"{path}.{name}"] for name in ("weight", "bias"))
        mean, variance = (self._buffers[path][name] for name in ("running_mean", "running_var"))
        eps, normalise = module.eps, torch.batch_norm
        return lambda _, value: normalise(value, weight, bias, mean, variance, True, momentum, eps, False)

    def _linear(self, path: str) -> Operation:
        size, weight, bias = self.size, self._leaves[f"{path}.weight"], self._leaves.get(f"{path}.bias")
        if bias is None:
            return lambda _, value: torch.bmm(value, _apart(weight, size).mT)
        return lambda _, value: torch.baddbmm(bias.view(size, 1, -1), value, _apart(weight, size).mT)

    def _flattened(self, _: Any, value: Tensor) -> Tensor:
        """Return images as rows: N × B·C × H × W becomes B × N × C·H·W."""
        return value.reshape(len(value), self.size, -1).transpose(0, 1) if value.ndim == 4 else value


def _leaf(layer: Tensor) -> Tensor:
    """Return new memory for a layer of all members, side by side in the first dimension; images channels-last."""
    together = torch.empty(layer.shape[0] * layer.shape[1], *layer.shape[2:], dtype=layer.dtype)
    image = together.ndim == 4
    return (together.to(memory_format=torch.channels_last) if image else together).requires_grad_()


def _apart(joined: Tensor, size: int) -> Tensor:
    """Return a view of what stands side by side in the first dimension, with the members in front."""
    return torch.unflatten(joined, 0, (size, -1))


def _given(images: Tensor) -> Tensor:
    return images


def _relu_in_place(_: Any, value: Tensor) -> Tensor:
    return torch.relu_(value)


def _passed(_: Any, value: Tensor) -> Tensor:
    return value
