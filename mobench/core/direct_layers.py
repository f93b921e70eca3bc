"""Layers of a small network that pass values on and gradients back by themselves, in memory that is reserved once.

Images are N × H × W × C, rows of numbers N × F. A layer reads the values it is given and writes its own. On the way
back it reads the gradient by its own value and writes those by its parameters and by what it was given. All of it is
arrays of numpy, whose calls take less time than torch's.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import nn

from mobench.core import direct_loops

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]
"""Parameters of a layer, or room for their gradients, by name; they share memory with torch's tensors."""


class CannotStackError(ValueError):
    """A network has a part that trains by autograd only."""


def aligned(shape: tuple[int, ...], kind: npt.DTypeLike) -> Array:
    """Return zeros that begin at a multiple of 64 bytes: elsewhere a product may be rounded differently."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(kind).reshape(shape)


class Value:
    """Numbers that one layer writes and another reads, and the gradient by them, which the reader writes."""

    def __init__(self, numbers: Array, gradient: Array | None = None, *, needed: bool = True) -> None:
        """Take contiguous numbers, and room for their gradient if there is some; `needed`: whether anybody reads it."""
        self.numbers, self.needed = numbers, needed
        self.gradient = aligned(numbers.shape, numbers.dtype) if gradient is None else gradient
        self.flat, self.flat_gradient = self.numbers.reshape(-1), self.gradient.reshape(-1)

    @classmethod
    def of(cls, shape: tuple[int, ...], kind: npt.DTypeLike, *, needed: bool = True) -> Value:
        """Reserve memory."""
        return cls(aligned(shape, kind), needed=needed)

    def alike(self, *, needed: bool = True) -> Value:
        """Reserve memory for as many numbers again."""
        return Value.of(self.numbers.shape, self.numbers.dtype, needed=needed)

    def viewed(self, *shape: int) -> Value:
        """Return the same memory in another shape."""
        return Value(self.numbers.reshape(shape), self.gradient.reshape(shape), needed=self.needed)


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

    def write_to(self, room: Arrays) -> None:
        """Take the memory into which gradients by the parameters are written."""


class Convolution(Layer):
    """Patches times filters: one product forwards, and one for each gradient."""

    def __init__(self, module: nn.Conv2d, arrays: Arrays, scratch: dict[object, Array]) -> None:
        self._sides = tuple(int(each) for each in (*module.kernel_size, *module.stride, *module.padding))
        self._filters, self._bias = _as_matrix(arrays["weight"]), arrays.get("bias")
        self._transposed = self._filters.T
        self._scratch = scratch

    def write_to(self, room: Arrays) -> None:
        self._by_filters, self._by_bias = _as_matrix(room["weight"]), room.get("bias")

    def connect(self, *given: Value) -> Value:
        (self._given,) = given
        count, height, width, _ = shape = self._given.numbers.shape
        high, wide, down, right, above, left = self._sides
        rows, columns = (height + 2 * above - high) // down + 1, (width + 2 * left - wide) // right + 1
        self._window = (*shape, rows, columns, *self._sides)
        pixels, (filters, seen), kind = count * rows * columns, self._filters.shape, self._filters.dtype
        self._patches = aligned((pixels, seen), kind)
        """Beyond the border they are zero and stay so."""
        key = (pixels, seen, kind)
        self._by_patches = self._scratch.setdefault(key, aligned((pixels, seen), kind))
        self._flat_patches, self._flat_by_patches = self._patches.reshape(-1), self._by_patches.reshape(-1)
        answer = Value.of((pixels, filters), kind)
        self._values, self._gradient, self._turned = answer.numbers, answer.gradient, answer.gradient.T
        return answer.viewed(count, rows, columns, filters)

    def forward(self) -> None:
        direct_loops.gather(self._given.flat, self._flat_patches, self._window)
        np.dot(self._patches, self._transposed, self._values)
        if self._bias is not None:
            self._values += self._bias

    def backward(self) -> None:
        np.dot(self._turned, self._patches, self._by_filters)
        if self._by_bias is not None:
            np.sum(self._gradient, axis=0, out=self._by_bias)
        if self._given.needed:
            np.dot(self._gradient, self._filters, self._by_patches)
            direct_loops.scatter(self._flat_by_patches, self._given.flat_gradient, self._window)


def _as_matrix(weight: Array) -> Array:
    """Return filters × (kh · kw · C) as a view of channels-last weights."""
    matrix = weight.transpose(0, 2, 3, 1).reshape(len(weight), -1)
    if not np.shares_memory(matrix, weight):
        raise CannotStackError("a convolution whose weights are not channels-last")
    return matrix


class BatchNorm(Layer):
    """BatchNorm in training, with the ReLU behind it if there is one."""

    def __init__(self, module: nn.BatchNorm2d, arrays: Arrays, rectify: bool) -> None:
        assert module.running_mean is not None
        assert module.running_var is not None
        assert module.num_batches_tracked is not None
        self._weight, self._bias = arrays["weight"], arrays["bias"]
        self._running = module.running_mean.numpy(), module.running_var.numpy()
        self._seen = module.num_batches_tracked.view(1).numpy()
        kind = self._weight.dtype.type
        self._momentum, self._eps = float(module.momentum or 0.0), module.eps
        self._zero, self._least = kind(0.0), kind(0.0 if rectify else -math.inf)
        self._mean, self._inverse = np.empty_like(self._weight), np.empty_like(self._weight)

    def write_to(self, room: Arrays) -> None:
        self._by_weight, self._by_bias = room["weight"], room["bias"]

    def connect(self, *given: Value) -> Value:
        (self._given,) = given
        self._answer = self._given.alike()
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

    def __init__(self, arrays: Arrays) -> None:
        self._weight, self._bias = arrays["weight"], arrays.get("bias")

    def write_to(self, room: Arrays) -> None:
        self._by_weight, self._by_bias = room["weight"], room.get("bias")

    def connect(self, *given: Value) -> Value:
        (self._given,) = given
        self._answer = Value.of((len(self._given.numbers), len(self._weight)), self._weight.dtype)
        return self._answer

    def forward(self) -> None:
        np.dot(self._given.numbers, self._weight.T, self._answer.numbers)
        if self._bias is not None:
            self._answer.numbers += self._bias

    def backward(self) -> None:
        np.dot(self._answer.gradient.T, self._given.numbers, self._by_weight)
        if self._by_bias is not None:
            np.sum(self._answer.gradient, axis=0, out=self._by_bias)
        if self._given.needed:
            np.dot(self._answer.gradient, self._weight, self._given.gradient)


class Elementwise(Layer):
    """A function of single numbers."""

    def connect(self, *given: Value) -> Value:
        (self._given,) = given
        self._answer = self._given.alike(needed=self._given.needed)
        return self._answer


class Relu(Elementwise):
    """The positive part."""

    def forward(self) -> None:
        np.maximum(self._given.numbers, 0.0, out=self._answer.numbers)

    def backward(self) -> None:
        np.multiply(self._answer.gradient, self._answer.numbers > 0, out=self._given.gradient)


class Tanh(Elementwise):
    """The hyperbolic tangent."""

    def forward(self) -> None:
        np.tanh(self._given.numbers, out=self._answer.numbers)

    def backward(self) -> None:
        np.multiply(self._answer.gradient, 1.0 - self._answer.numbers**2, out=self._given.gradient)


class Mean(Layer):
    """The mean of each channel over the pixels."""

    def connect(self, *given: Value) -> Value:
        (self._given,) = given
        count, height, width, channels = self._given.numbers.shape
        self._pixels = height * width
        self._answer = Value.of((count, 1, 1, channels), self._given.numbers.dtype, needed=self._given.needed)
        return self._answer

    def forward(self) -> None:
        direct_loops.average(self._given.flat, self._answer.flat, self._pixels, self._answer.numbers.shape[-1])

    def backward(self) -> None:
        np.divide(self._answer.gradient, self._pixels, out=self._given.gradient)


class Flatten(Layer):
    """Images as rows of C · H · W numbers, in the order in which torch flattens them."""

    def connect(self, *given: Value) -> Value:
        (value,) = given
        count, height, width, channels = value.numbers.shape
        self._copies: tuple[Array, ...] | None = None
        if height * width == 1:
            return value.viewed(count, channels)
        answer = Value.of((count, channels, height, width), value.numbers.dtype, needed=value.needed)
        self._copies = (
            answer.numbers, value.numbers.transpose(0, 3, 1, 2), value.gradient, answer.gradient.transpose(0, 2, 3, 1),
        )  # fmt: skip
        return answer.viewed(count, channels * height * width)

    def forward(self) -> None:
        if self._copies is not None:
            self._copies[0][:] = self._copies[1]

    def backward(self) -> None:
        if self._copies is not None:
            self._copies[2][:] = self._copies[3]


class Sum(Layer):
    """The sum of two values."""

    def connect(self, *given: Value) -> Value:
        self._one, self._other = given
        self._answer = self._one.alike(needed=self._one.needed or self._other.needed)
        return self._answer

    def forward(self) -> None:
        np.add(self._one.numbers, self._other.numbers, out=self._answer.numbers)

    def backward(self) -> None:
        self._one.gradient[:] = self._other.gradient[:] = self._answer.gradient


class Fork:
    """A value that several layers read: each gets the same numbers, and a gradient of its own."""

    def __init__(self, given: Value, readers: int) -> None:
        self._given = given
        self.branches = [Value(given.numbers, needed=given.needed) for _ in range(readers)]

    def backward(self) -> None:
        """Write the sum of the gradients."""
        first, *others = (branch.gradient for branch in self.branches)
        self._given.gradient[:] = first
        for other in others:
            self._given.gradient += other
