"""Loops of a small network's training pass, compiled: patches of images, and BatchNorm with ReLU.

Images are N × H × W × C and arrays are flat, so that a patch is a few runs of neighbouring numbers and every innermost
loop becomes vector instructions. Sums over images and pixels are taken in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mobench.core.machine_code import compiled

Array = npt.NDArray[Any]
Window = tuple[int, ...]
"""N, H, W, C of the images, rows and columns of outputs, height and width of a patch, strides and paddings."""
WIDE = 64
"""How long an innermost loop should be: a shorter one may be left to the scalar end of the vectors."""

# pragma: machine code, where coverage sees nothing


@compiled()
def gather(images: Array, patches: Array, window: Window) -> None:
    """Write what each output pixel sees (N × rows × columns × kh × kw × C); beyond the border nothing is written."""
    count, height, width, channels, rows, columns, high, wide, down, right, above, left = window
    for n in range(count):
        for row in range(rows):
            for i in range(max(0, above - row * down), min(high, height + above - row * down)):
                line = (n * height + row * down + i - above) * width
                for column in range(columns):
                    first, last = max(0, left - column * right), min(wide, width + left - column * right)
                    source = (line + column * right - left + first) * channels
                    target = ((((n * rows + row) * columns + column) * high + i) * wide + first) * channels
                    length = (last - first) * channels
                    seen, given = patches[target : target + length], images[source : source + length]
                    for c in range(length):
                        seen[c] = given[c]


@compiled()
def scatter(patches: Array, images: Array, window: Window) -> None:
    """Write the sum of what output pixels pass back to each input pixel: the transpose of `gather`."""
    count, height, width, channels, rows, columns, high, wide, down, right, above, left = window
    images[:] = 0
    for n in range(count):
        for row in range(rows):
            for i in range(max(0, above - row * down), min(high, height + above - row * down)):
                line = (n * height + row * down + i - above) * width
                for column in range(columns):
                    first, last = max(0, left - column * right), min(wide, width + left - column * right)
                    target = (line + column * right - left + first) * channels
                    source = ((((n * rows + row) * columns + column) * high + i) * wide + first) * channels
                    length = (last - first) * channels
                    total, given = images[target : target + length], patches[source : source + length]
                    for c in range(length):
                        total[c] += given[c]


@compiled()
def average(x: Array, y: Array, pixels: int, channels: int) -> None:
    """Write the mean of each channel over the pixels of each image."""
    for n in range(y.size // channels):
        mean = y[n * channels : (n + 1) * channels]
        mean[:] = 0
        for pixel in range(pixels):
            start = (n * pixels + pixel) * channels
            given = x[start : start + channels]
            for c in range(channels):
                mean[c] += given[c]
        for c in range(channels):
            mean[c] /= pixels


@compiled()
def _abreast(rows: int, columns: int) -> int:
    """Return how many rows are taken as one, so that the innermost loop is long enough to be worth its vectors."""
    abreast = 1
    while abreast * columns < WIDE and rows % (2 * abreast) == 0:
        abreast *= 2
    return abreast


@compiled(fastmath={"contract"})
def normalise(
    x: Array, weight: Array, bias: Array, mean: Array, inverse: Array, running_mean: Array, running_variance: Array,
    y: Array, momentum: float, eps: float, least: np.floating[Any],
) -> None:  # fmt: skip
    """Write y = max(γ(x − μ)/√(σ² + ε) + β, least) column by column, μ and 1/√(σ² + ε), and move the running values."""
    columns = weight.size
    rows = x.size // columns
    wide = columns * _abreast(rows, columns)
    sums, squares = np.zeros(wide), np.zeros(wide)
    for row in range(x.size // wide):
        start = row * wide
        for c in range(wide):
            value = np.float64(x[start + c])
            sums[c] += value
            squares[c] += value * value
    for c in range(columns, wide):
        sums[c % columns] += sums[c]
        squares[c % columns] += squares[c]
    centre, factor, level = np.empty(wide, x.dtype), np.empty(wide, x.dtype), np.empty(wide, x.dtype)
    for c in range(columns):
        average = sums[c] / rows
        variance = squares[c] / rows - average * average
        if variance < 0.0:
            variance = 0.0
        running_mean[c] += momentum * (average - running_mean[c])
        running_variance[c] += momentum * (variance * rows / (rows - 1) - running_variance[c])
        mean[c], inverse[c] = average, 1.0 / np.sqrt(variance + eps)
    for c in range(wide):
        own = c % columns
        centre[c], factor[c], level[c] = mean[own], inverse[own] * weight[own], bias[own]
    for row in range(x.size // wide):
        start = row * wide
        for c in range(wide):
            value = (x[start + c] - centre[c]) * factor[c] + level[c]
            y[start + c] = least if value < least else value


@compiled(fastmath={"contract"})
def pass_back(
    given: Array, x: Array, y: Array, weight: Array, mean: Array, inverse: Array, by_weight: Array, by_bias: Array,
    out: Array, least: np.floating[Any], zero: np.floating[Any],
) -> None:  # fmt: skip
    """Write the gradients by γ, β and x of what `normalise` has computed, from those by y."""
    columns = weight.size
    rows = x.size // columns
    wide = columns * _abreast(rows, columns)
    sums, products, centre = np.zeros(wide), np.zeros(wide), np.empty(wide, x.dtype)
    for c in range(wide):
        centre[c] = mean[c % columns]
    for row in range(x.size // wide):
        start = row * wide
        for c in range(wide):
            passed = given[start + c] if y[start + c] > least else zero
            out[start + c] = passed
            sums[c] += passed
            products[c] += passed * (x[start + c] - centre[c])
    for c in range(columns, wide):
        sums[c % columns] += sums[c]
        products[c % columns] += products[c]
    factor, level, slope = np.empty(wide, x.dtype), np.empty(wide, x.dtype), np.empty(wide, x.dtype)
    for c in range(columns):
        by_bias[c], by_weight[c] = sums[c], products[c] * inverse[c]
    for c in range(wide):
        own = c % columns
        factor[c], level[c] = weight[own] * inverse[own], sums[own] / rows
        slope[c] = products[own] * inverse[own] * inverse[own] / rows
    for row in range(x.size // wide):
        start = row * wide
        for c in range(wide):
            out[start + c] = factor[c] * (out[start + c] - level[c] - (x[start + c] - centre[c]) * slope[c])
