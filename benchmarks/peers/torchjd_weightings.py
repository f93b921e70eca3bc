"""TorchJD 0.18's weightings as functions of a float64 Gram matrix."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torchjd.aggregation import CAGradWeighting, MGDAWeighting, NashMTL, PCDWeighting, PCGradWeighting
from torchjd.aggregation._pcd import _solve_qp

Array = npt.NDArray[np.float64]
Weighting = Callable[[torch.Tensor], torch.Tensor]

warnings.filterwarnings("ignore", category=UserWarning, module="torchjd")  # cvxpy's, from inside Nash


def on_tensors(k: int) -> dict[str, Weighting]:
    """Return the weightings for K objectives; Nash takes the gradients, the others their Gram matrix.

    "PCD's QP" is the bare program inside the PCD weighting, without normalisation and rescaling.
    """
    projection = PCDWeighting(tau=0.02, eps=0.0)
    taus = torch.full((k - 1,), 0.02, dtype=torch.float64)

    def project(gram: torch.Tensor) -> torch.Tensor:
        projection.reset()  # at its first step the moving average makes unit gradients
        return projection(gram)

    return {
        "PCD": project,
        "PCD's QP": lambda gram: _solve_qp(gram, taus),
        "MGDA": MGDAWeighting(),
        "CAGrad": CAGradWeighting(c=0.4),
        "Nash": NashMTL(n_tasks=k, max_norm=0.0).weighting,
        "PCGrad": PCGradWeighting(),
    }


def deterministic(k: int) -> dict[str, Callable[[Array], list[float]]]:
    """Return the weightings whose answer is a problem's solution, as functions of arrays."""

    def wrap(name: str, weighting: Weighting) -> Callable[[Array], list[float]]:
        def weigh(gram: Array) -> list[float]:
            stat = np.linalg.cholesky(gram) if name == "Nash" else gram
            weights: list[Any] = weighting(torch.from_numpy(stat)).tolist()
            return weights

        return weigh

    return {name: wrap(name, on_tensors(k)[name]) for name in ("PCD", "MGDA", "CAGrad", "Nash")}
