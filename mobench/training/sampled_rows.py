"""What the curves keep of one step, measured of all runs that step together in few calls.

Every number has the bits that it would have if its run were alone: elementwise operations do not look at neighbours,
and a stacked product is one call of BLAS for each run, the same as without a stack.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def sampled_rows(
    step: int, losses: Array, weights: Array, grams: Array | None, by_weights: Sequence[bool]
) -> list[dict[str, Any]]:
    """Return a row of the curves for each run, from B×K losses and weights and the B×K×K Gram matrices, if known.

    Where a run's update is not that of its weights, its `update_norm` and `alignment` are not known.
    """
    rows: list[dict[str, Any]] = [
        {"step": step, "losses": each, "weights": own}
        for each, own in zip(losses.tolist(), weights.tolist(), strict=True)
    ]
    if grams is None:
        return rows
    norms = np.sqrt(np.diagonal(grams, axis1=1, axis2=2))
    scale = norms[:, :1] * norms[:, 1:]
    cosines = np.divide(grams[:, 0, 1:], scale, out=np.zeros_like(scale), where=scale > 0)
    with np.errstate(over="ignore", invalid="ignore"):  # of a run that diverges, whose last numbers these are
        along = np.matmul(grams, weights[:, :, None])
        squares = np.matmul(weights[:, None, :], along)[:, 0, 0].tolist()
    measured = zip(rows, norms.tolist(), cosines.tolist(), squares, along[:, 0, 0].tolist(), by_weights, strict=True)
    for row, lengths, turned, square, product, combined in measured:
        row["gradient_norms"], row["cosines"] = lengths, turned
        if combined:
            row["update_norm"] = length = math.sqrt(max(square, 0.0))
            of_both = length * lengths[0]
            row["alignment"] = product / of_both if of_both > 0.0 else 0.0
    return rows
