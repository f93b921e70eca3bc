"""The training pass of a small network without autograd: products of matrices, and a few compiled loops between them.

A small network on a CPU is bound by calls. Here a convolution is a copy of its patches and a product, BatchNorm with
its ReLU one loop, and there is no graph: gradients are written where they are read. The network is traced once;
its parameters and buffers are read and written in place.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor, fx, nn
from torch.nn import functional

from mobench.core import direct_layers
from mobench.core.direct_layers import Array, Arrays, CannotStackError, Fork, Layer, Value, aligned

CALLS = ("call_module", "call_function", "call_method", "get_attr")
SUMS = (operator.add, operator.iadd, torch.add)
RECTIFIERS = (torch.relu, functional.relu)

Tensors = Mapping[str, Tensor]
"""Parameters of a network, or room for their gradients, by name."""


class DirectNetwork:
    """One network's values and gradients in training mode."""

    def __init__(self, model: nn.Module, parameters: Tensors, graph: fx.Graph, scratch: dict[object, Array]) -> None:
        """Take a network, its parameters by name, its graph, and memory that networks of one thread may share.

        `fx.symbolic_trace(model).graph` is the graph of all networks of one architecture.
        """
        own = _arrays(parameters)
        self._scratch = scratch
        self._modules = dict(model.named_modules())
        self._nodes = list(graph.nodes)
        self._layers = {node: self._layer(node, _own(node, own)) for node in self._nodes if node.op in CALLS}
        self._kind = next(iter(own.values())).dtype
        self._shape: torch.Size | None = None

    def _connect(self, shape: torch.Size) -> None:
        """Reserve memory for images of a new shape."""
        count, channels, height, width = self._shape = shape
        self._images = aligned((count, height, width, channels), self._kind)
        self._forward: list[Callable[[], None]] = []
        back: list[Callable[[], None]] = []
        values: dict[fx.Node, list[Value]] = {}
        """What each node writes, once for each reader."""
        for node in self._nodes:
            given = [values[each].pop() for each in node.all_input_nodes]
            if node.op == "output":
                (self._answer,) = given
                continue
            if (layer := self._layers.get(node)) is not None:
                value = layer.connect(*given)
                self._forward.append(layer.forward)
                if value.needed:
                    back.append(layer.backward)
            else:
                value = given[0] if given else Value(self._images, needed=False)
            values[node] = [value]
            if len(node.users) > 1:
                fork = Fork(value, len(node.users))
                values[node] = list(fork.branches)
                back.append(fork.backward)
        self._backward = back[::-1]

    def __call__(self, images: Tensor) -> Tensor:
        """Return N × F outputs for N × C × H × W images, in memory that the next call overwrites."""
        if images.shape != self._shape:
            self._connect(images.shape)
        self._images[:] = images.permute(0, 2, 3, 1).numpy()
        with np.errstate(all="ignore"):  # what is not finite is seen in the loss
            for forward in self._forward:
                forward()
        return torch.from_numpy(self._answer.numbers)

    def write_to(self, room: Tensors) -> None:
        """Take the memory into which gradients by the parameters are written, by their names."""
        arrays = _arrays(room)
        for node, layer in self._layers.items():
            if layer is not None and (own := _own(node, arrays)):
                layer.write_to(own)

    def backward(self, gradient: Tensor) -> None:
        """Write the gradients of the last call by all parameters, from that by its answer."""
        self._answer.gradient[:] = gradient.numpy()
        with np.errstate(all="ignore"):
            for backward in self._backward:
                backward()

    def _layer(self, node: fx.Node, own: Arrays) -> Layer | None:
        """Return what computes a node, None if its value is the one it is given."""
        if node.op == "call_module":
            return self._module(node, self._modules[str(node.target)], own)
        if node.op == "call_function" and node.target in SUMS and len(node.all_input_nodes) == 2:
            return direct_layers.Sum()
        if node.op == "call_function" and node.target in RECTIFIERS:
            return self._rectified(node)
        if node.op == "call_function" and node.target is torch.flatten and node.args[1:] == (1,):
            return direct_layers.Flatten()
        raise CannotStackError(f"{node.op} {node.target}")

    def _module(self, node: fx.Node, module: nn.Module, own: Arrays) -> Layer | None:
        if type(module) is nn.Conv2d and _is_plain(module):
            return direct_layers.Convolution(module, own, self._scratch)
        if type(module) is nn.BatchNorm2d and module.track_running_stats and module.affine and module.momentum:
            return direct_layers.BatchNorm(module, own, self._rectifier_of(node) is not None)
        if type(module) is nn.Linear:
            return direct_layers.Linear(own)
        if type(module) is nn.ReLU:
            return self._rectified(node)
        if type(module) is nn.Tanh:
            return direct_layers.Tanh()
        if type(module) is nn.AdaptiveAvgPool2d and module.output_size in (1, (1, 1)):
            return direct_layers.Mean()
        if type(module) is nn.Flatten and module.start_dim == 1 and module.end_dim == -1:
            return direct_layers.Flatten()
        if type(module) is nn.Identity:
            return None
        raise CannotStackError(f"{type(module).__name__} at {node.target}")

    def _rectified(self, node: fx.Node) -> Layer | None:
        """Return the positive part; None where the BatchNorm before it has taken it already."""
        (before,) = node.all_input_nodes
        return None if self._rectifier_of(before) is node else direct_layers.Relu()

    def _rectifier_of(self, node: fx.Node) -> fx.Node | None:
        """Return the ReLU that alone reads this node's value, if the node is a BatchNorm."""
        if not isinstance(self._module_at(node), nn.BatchNorm2d) or len(node.users) != 1:
            return None
        (reader,) = node.users
        is_relu = isinstance(self._module_at(reader), nn.ReLU) or reader.target in RECTIFIERS
        return reader if is_relu else None

    def _module_at(self, node: fx.Node) -> nn.Module | None:
        return self._modules.get(str(node.target)) if node.op == "call_module" else None


def _is_plain(module: nn.Conv2d) -> bool:
    return (
        module.padding_mode == "zeros"
        and module.groups == 1
        and module.dilation == (1, 1)
        and not isinstance(module.padding, str)
    )


def _arrays(tensors: Tensors) -> Arrays:
    return {name: tensor.detach().numpy() for name, tensor in tensors.items()}


def _own(node: fx.Node, views: Arrays) -> Arrays:
    """Return those of the named arrays that belong to a node's module, by their names there."""
    prefix = f"{node.target}."
    found = {name[len(prefix) :]: each for name, each in views.items() if name.startswith(prefix)}
    return found if node.op == "call_module" else {}
