"""A problem in a box, given by its formulas: exact gradients, the projection, and references at equal cost."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch

from mobench.core.about import Reference
from mobench.core.problem import Constants, VectorProblem
from mobench.core.settings import integer
from mobench.core.streams import Streams

Points = npt.NDArray[np.float64]

SMALLEST = 1e-30
"""What stands for a lower bound of zero: roots have an infinite slope at zero, and a finite one here."""

ZITZLER = Reference(
    "E. Zitzler, K. Deb and L. Thiele",
    "Comparison of Multiobjective Evolutionary Algorithms: Empirical Results",
    "Evolutionary Computation 8(2)",
    2000,
    "https://doi.org/10.1162/106365600568202",
)
DEB = Reference(
    "K. Deb, L. Thiele, M. Laumanns and E. Zitzler",
    "Scalable Test Problems for Evolutionary Multiobjective Optimization",
    "Evolutionary Multiobjective Optimization",
    2005,
    "https://doi.org/10.1007/1-84628-137-7_6",
)
TANABE = Reference(
    "R. Tanabe and H. Ishibuchi",
    "An easy-to-use real-world multi-objective optimization problem suite",
    "Applied Soft Computing 89",
    2020,
    "https://doi.org/10.1016/j.asoc.2020.106078",
)


class BoxProblem(VectorProblem):
    """Objectives of x in a box, started at a random point of it.

    Values are those of the nearest point of the box, and after every step the point is moved back into it
    (`project`). At a face of the box, a coordinate that every objective pushes outwards is left out of all
    gradients: no mixture of them could move it, and a stationary point on a face has gradients that add up to
    zero, as one inside has.
    """

    pymoo: ClassVar[str] = ""
    """What pymoo calls the problem; empty where it has none."""

    dimension: int = integer(30, low=2, meaning="number of parameters n")

    @staticmethod
    @abstractmethod
    def evaluate(x: torch.Tensor, k: int) -> torch.Tensor:
        """Return the B×K values at the rows of `x`, all in the box."""

    def box(self) -> tuple[Points, Points]:
        """Return the lower and the upper bounds of x."""
        return np.zeros(self.dimension), np.ones(self.dimension)

    def objectives(self) -> tuple[str, ...]:
        return ("f1", "f2")

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0,) * len(self.objectives())

    def constants(self, streams: Streams) -> Constants:
        low, high = (torch.from_numpy(side) for side in self.box())
        count = torch.zeros(len(self.objectives()), dtype=torch.float64)
        return {"low": torch.where(low == 0.0, SMALLEST, low), "high": high, "objectives": count}

    def initial(self, constants: Constants, streams: Streams) -> torch.Tensor:
        share = torch.from_numpy(streams.numpy("init").uniform(size=self.dimension))
        return constants["low"] + share * (constants["high"] - constants["low"])

    @staticmethod
    def project(theta: torch.Tensor, constants: Constants) -> torch.Tensor:
        return theta.clamp(constants["low"], constants["high"])

    @classmethod
    def values(cls, theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        return cls.evaluate(cls.project(theta, constants), constants["objectives"].shape[1])

    @classmethod
    def gradients(cls, theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        k, inside = constants["objectives"].shape[1], (theta >= constants["low"]) & (theta <= constants["high"])
        with torch.enable_grad():
            x = cls.project(theta.detach(), constants).requires_grad_()
            totals = cls.evaluate(x, k).sum(0)
            rows = [torch.autograd.grad(totals[i], x, retain_graph=i < k - 1)[0] for i in range(k)]
        slopes = torch.stack(rows, dim=1)
        stuck = (theta == constants["low"]) & (slopes >= 0.0).all(1) | (theta == constants["high"]) & (
            slopes <= 0.0
        ).all(1)
        return slopes * (inside & ~stuck)[:, None, :]

    def reference_volumes(self, evaluations: int) -> Mapping[str, float]:
        from .references import stored_volumes

        return stored_volumes(self, evaluations)
