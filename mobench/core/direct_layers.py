"""Layers of a small network that pass values on and gradients back by themselves, in memory that is reserved once.

Images are N × H × W × C, rows of numbers N × F. A layer reads the values it is given and writes its own. On the way
back it reads the gradient by its own value and writes those by its parameters and by what it was given.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mobench.core import direct_loops

Flat = npt.NDArray[Any]
Views = Mapping[str, Tensor]
"""Parameters of a layer, or room for their gradients, by name."""


class CannotStackError(ValueError):
    """A network has a part that trains by autograd only."""


def flat(tensor: Tensor) -> Flat:
    """Return the numbers of a contiguous tensor as an array that shares its memory."""
    return tensor.view(-1).numpy()


class Value:
    """Numbers that one layer writes and another reads, and the gradient by them, which the reader writes."""

    def __init__(self, numbers: Tensor, gradient: Tensor | None = None, *, needed: bool = True) -> None:
        """Take contiguous numbers, and room for their gradient if there is some; `needed`: whether anybody reads it."""
        self.numbers, self.needed = numbers, needed
        self.gradient = torch.empty_like(numbers) if gradient is None else gradient
        self.flat, self.flat_gradient = flat(self.numbers), flat(self.gradient)

    def viewed(self, *shape: int) -> Value:
        """Return the same memory in another shape."""
        return Value(self.numbers.view(shape), self.gradient.view(shape), needed=self.needed)


class Layer(ABC):
    """A function of one or two values."""

    @abstractmethod
    def connect(self, *given: Value) -> Value:
        """Reserve memory for values of these shapes, and return where the layer's own will be."""

    @abstractmethod
    def forward(self) -> None:
        """Write the value."""

    @abstractmethod
    def backward(self) -> None:
        """Write the gradients by the parameters and by what was given."""

    def write_to(self, room: Views) -> None:
        """Take the memory into which gradients by the parameters are written."""


class Convolution(Layer):
    """Patches times filters: one product forwards, and one for each gradient."""

    def __init__(self, module: nn.Conv2d, views: Views, scratch: dict[object, Tensor]) -> None:
        self._sides = tuple(int(each) for each in (*module.kernel_size, *module.stride, *module.padding))
        self._filters, self._bias = _as_matrix(views["weight"]), views.get("bias")
        self._transposed = self._filters.T
        self._scratch = scratch

    def write_to(self, room: Views) -> None:
        self._by_filters, self._by_bias = _as_matrix(room["weight"]), room.get("bias")

    def connect(self, *given: Value) -> Value:
        (self._given,) = given
        count, height, width, _ = shape = self._given.numbers.shape
        high, wide, down, right, above, left = self._sides
        rows, columns = (height + 2 * above - high) // down + 1, (width + 2 * left - wide) // right + 1
        self._window = (*shape, rows, columns, *self._sides)
        self._patches = self._filters.new_zeros(count * rows * columns, self._filters.shape[1])
        """Beyond the border they are zero and stay so."""
        self._flat_patches = flat(self._patches)
        key = (self._patches.shape, self._patches.dtype)
        self._by_patches = self._scratch.setdefault(key, torch.empty_like(self._patches))
        self._flat_by_patches = flat(self._by_patches)
        answer = Value(self._filters.new_empty(count * rows * columns, len(self._filters)))
        self._values, self._gradient, self._turned = answer.numbers, answer.gradient, answer.gradient.T
        return answer.viewed(count, rows, columns, -1)

    def forward(self) -> None:
        direct_loops.gather(self._given.flat, self._flat_patches, self._window)
        torch.mm(self._patches, self._transposed, out=self._values)
        if self._bias is not None:
            self._values += self._bias

    def backward(self) -> None:
        torch.mm(self._turned, self._patches, out=self._by_filters)
        if self._by_bias is not None:
            torch.sum(self._gradient, 0, out=self._by_bias)
        if self._given.needed:
            torch.mm(self._gradient, self._filters, out=self._by_patches)
            direct_loops.scatter(self._flat_by_patches, self._given.flat_gradient, self._window)


def _as_matrix(weight: Tensor) -> Tensor:
    """Return filters × (kh · kw · C) as a view of channels-last weights."""
    try:
        return weight.permute(0, 2, 3, 1).view(len(weight), -1)
    except RuntimeError:
        raise CannotStackError("a convolution whose weights are not channels-last") from None


class BatchNorm(Layer):
    """BatchNorm in training, with the ReLU behind it if there is one."""

    def __init__(self, module: nn.BatchNorm2d, views: Views, rectify: bool) -> None:
        assert module.running_mean is not None
        assert module.running_var is not None
        assert module.num_batches_tracked is not None
        self._weight, self._bias = (flat(views[name]) for name in ("weight", "bias"))
        self._running = flat(module.running_mean), flat(module.running_var)
        self._seen = flat(module.num_batches_tracked)
        kind = self._weight.dtype.type
        self._momentum, self._eps = float(module.momentum or 0.0), module.eps
        self._zero, self._least = kind(0.0), kind(0.0 if rectify else -math.inf)
        self._mean, self._inverse = np.empty_like(self._weight), np.empty_like(self._weight)

    def write_to(self, room: Views) -> None:
        self._by_weight, self._by_bias = (flat(room[name]) for name in ("weight", "bias"))

    def connect(self, *given: Value) -> Value:
        (self._given,) = given
        self._answer = Value(torch.empty_like(self._given.numbers))
        return self._answer

    def forward(self) -> None:
        direct_loops.normalise(
            self._given.flat, self._weight, self._bias, self._mean, self._inverse, *self._running, self._answer.flat,
            self._momentum, self._eps, self._least,
        )  # fmt: skip
        self._seen += 1

    def backward(self) -> None:
        direct_loops.pass_back(
            self._answer.flat_gradient, self._given.flat, self._answer.flat, self._weight, self._mean, self._inverse,
            self._by_weight, self._by_bias, self._given.flat_gradient, self._least, self._zero,
        )  # fmt: skip


class Linear(Layer):
    """x Wᵀ + b."""

    def __init__(self, views: Views) -> None:
        self._weight, self._bias = views["weight"], views.get("bias")

    def write_to(self, room: Views) -> None:
        self._by_weight, self._by_bias = room["weight"], room.get("bias")

    def connect(self, *given: Value) -> Value:
        (self._given,) = given
        self._answer = Value(self._weight.new_empty(len(self._given.numbers), len(self._weight)))
        return self._answer

    def forward(self) -> None:
        torch.mm(self._given.numbers, self._weight.T, out=self._answer.numbers)
        if self._bias is not None:
            self._answer.numbers += self._bias

    def backward(self) -> None:
        torch.mm(self._answer.gradient.T, self._given.numbers, out=self._by_weight)
        if self._by_bias is not None:
            torch.sum(self._answer.gradient, 0, out=self._by_bias)
        if self._given.needed:
            torch.mm(self._answer.gradient, self._weight, out=self._given.gradient)


class Elementwise(Layer):
    """A function of single numbers."""

    def connect(self, *given: Value) -> Value:
        (self._given,) = given
        self._answer = Value(torch.empty_like(self._given.numbers), needed=self._given.needed)
        return self._answer


class Relu(Elementwise):
    """The positive part."""

    def forward(self) -> None:
        torch.clamp_min(self._given.numbers, 0.0, out=self._answer.numbers)

    def backward(self) -> None:
        torch.mul(self._answer.gradient, self._answer.numbers > 0, out=self._given.gradient)


class Tanh(Elementwise):
    """The hyperbolic tangent."""

    def forward(self) -> None:
        torch.tanh(self._given.numbers, out=self._answer.numbers)

    def backward(self) -> None:
        slope = 1.0 - self._answer.numbers.square()
        torch.mul(self._answer.gradient, slope, out=self._given.gradient)


class Mean(Layer):
    """The mean of each channel over the pixels."""

    def connect(self, *given: Value) -> Value:
        (self._given,) = given
        count, height, width, channels = self._given.numbers.shape
        self._pixels = height * width
        self._answer = Value(self._given.numbers.new_empty(count, 1, 1, channels), needed=self._given.needed)
        return self._answer

    def forward(self) -> None:
        torch.mean(self._given.numbers, (1, 2), keepdim=True, out=self._answer.numbers)

    def backward(self) -> None:
        torch.div(self._answer.gradient, self._pixels, out=self._answer.gradient)
        self._given.gradient.copy_(self._answer.gradient)


class Flatten(Layer):
    """Images as rows of C · H · W numbers, in the order in which torch flattens them."""

    def connect(self, *given: Value) -> Value:
        (value,) = given
        count, height, width, channels = value.numbers.shape
        self._apart: tuple[Tensor, ...] | None = None
        if height * width == 1:
            return value.viewed(count, channels)
        answer = Value(value.numbers.new_empty(count, channels, height, width), needed=value.needed)
        self._apart = (
            answer.numbers, value.numbers.permute(0, 3, 1, 2), value.gradient, answer.gradient.permute(0, 2, 3, 1),
        )  # fmt: skip
        return answer.viewed(count, -1)

    def forward(self) -> None:
        if self._apart is not None:
            self._apart[0].copy_(self._apart[1])

    def backward(self) -> None:
        if self._apart is not None:
            self._apart[2].copy_(self._apart[3])


class Sum(Layer):
    """The sum of two values."""

    def connect(self, *given: Value) -> Value:
        self._one, self._other = given
        self._answer = Value(torch.empty_like(self._one.numbers), needed=self._one.needed or self._other.needed)
        return self._answer

    def forward(self) -> None:
        torch.add(self._one.numbers, self._other.numbers, out=self._answer.numbers)

    def backward(self) -> None:
        self._one.gradient.copy_(self._answer.gradient)
        self._other.gradient.copy_(self._answer.gradient)


class Fork:
    """A value that several layers read: each gets the same numbers, and a gradient of its own."""

    def __init__(self, given: Value, readers: int) -> None:
        self._given = given
        self.branches = [
            Value(given.numbers, torch.empty_like(given.numbers), needed=given.needed) for _ in range(readers)
        ]

    def backward(self) -> None:
        """Write the sum of the gradients."""
        first, *others = (branch.gradient for branch in self.branches)
        self._given.gradient.copy_(first)
        for other in others:
            self._given.gradient += other
