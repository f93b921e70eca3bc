"""Linear objectives: after one step of gradient descent the losses tell the direction that a method chose.

With L_i(θ) = g_i·θ, the start θ = 0 and plain gradient descent with step size 1, one step leads to θ = −d, where d is
the method's direction, and −L_i(θ) = g_i·d is its first-order progress on objective i, exactly.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from itertools import combinations

import numpy as np
import numpy.typing as npt
import torch

from mobench.core.about import Formula
from mobench.core.metric import NON_NEGATIVE, SHARE, Metric
from mobench.core.problem import Constants, VectorProblem
from mobench.core.registry import register
from mobench.core.settings import integer, one_each, real, reals
from mobench.core.streams import Streams
from mobench.errors import UserError
from mobench.problems import PAPER
from mobench.solvers.stationarity import hull_margin

FLAT = 180.0
"""Degrees between opposite directions."""

PRIMARY_PROGRESS = Metric(
    "primary_progress",
    "progress of the primary",
    meaning="what the run took off the primary objective; after one step of size 1 the product g_1·d",
)
DISPLACEMENT = Metric("displacement", "way from the start", range=NON_NEGATIVE, meaning="‖θ − θ_0‖; ‖d‖ after one step")


class Linear(VectorProblem):
    """K linear objectives L_i(θ) = g_i·θ, from θ = 0."""

    formulas = (Formula(r"L_i(\theta) = g_i \cdot \theta, \quad \theta_0 = 0", "Objectives"),)
    reference = PAPER.at("section “Priority-Constrained Descent” and appendices A to C")

    @abstractmethod
    def secondaries(self) -> int:
        """Return how many secondary objectives there are."""

    def objectives(self) -> tuple[str, ...]:
        return ("primary", *(f"secondary-{j}" for j in range(1, self.secondaries() + 1)))

    def initial(self, constants: Constants, streams: Streams) -> torch.Tensor:
        return torch.zeros(constants["gradients"].shape[1], dtype=torch.float64)

    @staticmethod
    def values(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        return (constants["gradients"] * theta[:, None, :]).sum(-1)

    @staticmethod
    def gradients(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        return constants["gradients"]

    def metrics(self) -> tuple[Metric, ...]:
        smallest = "smallest of what the run took off each secondary, in units of ‖g_j‖²: g_j·d / ‖g_j‖² after one step"
        bound = "largest angle up to which secondaries are known to be feasible from angles alone: π − arccos(1/(K−2))"
        return (
            *super().metrics(),
            PRIMARY_PROGRESS,
            Metric("smallest_progress", "smallest progress of a secondary", meaning=smallest),
            DISPLACEMENT,
            Metric("farkas_margin", "Farkas margin", range=SHARE, meaning="hull margin of the secondaries"),
            Metric("largest_angle", "largest angle", "°", None, (0.0, FLAT), "largest angle between two secondaries"),
            Metric("angle_bound", "angle bound", "°", None, (0.0, FLAT), bound),
        )

    def measure(self, theta: torch.Tensor, constants: Constants) -> dict[str, float]:
        gradients = constants["gradients"]
        taken = -(gradients * theta).sum(-1)
        gram = (gradients[1:] @ gradients[1:].T).numpy()
        squares = np.diagonal(gram)
        cosines = (gram / np.sqrt(np.outer(squares, squares))).clip(-1.0, 1.0)
        others = len(cosines) - 1
        return {
            "primary_progress": float(taken[0]),
            "smallest_progress": float((taken[1:].numpy() / squares).min()),
            "displacement": float(theta.norm()),
            "farkas_margin": hull_margin(gram),
            "largest_angle": math.degrees(math.acos(cosines[~np.eye(others + 1, dtype=bool)].min())) if others else 0.0,
            "angle_bound": FLAT - math.degrees(math.acos(1.0 / others)) if others else FLAT,
        }


@register
class PlanarGradients(Linear):
    """Linear objectives in the plane, whose gradients enclose given angles with the primary's.

    One step of gradient descent from the origin with step size 1 shows the direction that a method chooses for these
    gradients: θ = −d, and each loss is minus the progress on it.

        L_i(θ) = g_i·θ,   g_1 = `primary` · (1, 0),   g_j = (cos a_j, sin a_j).
    """

    id = "planar-gradients@1"
    title = "Gradients in the plane"
    formulas = Linear.formulas
    reference = Linear.reference

    angles: float | tuple[float, ...] = reals(
        120.0, low=-360.0, high=360.0, meaning="degrees from the primary's gradient to each secondary's"
    )
    primary: float = real(1.0, low=0.0, meaning="length of the primary's gradient")

    def secondaries(self) -> int:
        return len(self.angles) if isinstance(self.angles, tuple) else 1

    def constants(self, streams: Streams) -> Constants:
        angles = torch.tensor(self.angles, dtype=torch.float64).reshape(-1).deg2rad()
        secondaries = torch.stack([angles.cos(), angles.sin()], dim=1)
        return {"gradients": torch.cat([torch.tensor([[self.primary, 0.0]], dtype=torch.float64), secondaries])}


@register
class RandomLinear(Linear):
    """Linear objectives whose unit gradients are drawn at random, once for each seed.

    One step of gradient descent from the origin with step size 1 shows the direction that a method chooses for these
    gradients: θ = −d, and each loss is minus the progress on it.

        L_i(θ) = g_i·θ,   g_1, …, g_K uniform on the unit sphere of Rⁿ.
    """

    id = "random-linear@1"
    title = "Random linear objectives"
    formulas = Linear.formulas
    reference = Linear.reference

    k: int = integer(3, low=2, high=64, meaning="number of objectives K")
    dimension: int = integer(50, low=2, meaning="number of parameters n")

    def secondaries(self) -> int:
        return self.k - 1

    def constants(self, streams: Streams) -> Constants:
        normal = streams.numpy("problem").standard_normal((self.k, self.dimension))
        return {"gradients": torch.from_numpy(normal / np.linalg.norm(normal, axis=-1, keepdims=True))}


@register
class GivenGradients(Linear):
    """Linear objectives whose gradients have given lengths and enclose given angles with each other.

    One step of gradient descent from the origin with step size 1 shows the direction that a method chooses for these
    gradients: θ = −d. Measured are the coefficients w of d = Σ_i w_i g_i, the shortest where there are many. Lengths
    may be zero, and gradients may be opposite or dependent.

        L_i(θ) = g_i·θ,   g_i·g_j = ℓ_i ℓ_j cos a_ij,   ℓ the `lengths`, a_12, a_13, …, a_23, … the `angles`.
    """

    id = "given-gradients@1"
    title = "Gradients of given lengths and angles"
    formulas = Linear.formulas
    reference = Linear.reference

    lengths: float | tuple[float, ...] = reals(1.0, low=0.0, meaning="length of each gradient, a list for K > 2")
    angles: float | tuple[float, ...] = reals(
        120.0, low=0.0, high=FLAT, meaning="degrees between each two gradients: of 1 and 2, 1 and 3, …, 2 and 3, …"
    )

    def __init__(self, **values: object) -> None:
        super().__init__(**values)
        k = self.secondaries() + 1
        one_each("given-gradients.angles", self.angles, k * (k - 1) // 2, "pairs of gradients")
        if np.linalg.eigvalsh(self._cosines()).min() < -1e-9:
            raise UserError(
                f"given-gradients.angles={self.angles} is not accepted: no {k} directions enclose these angles"
            )

    def secondaries(self) -> int:
        return len(self.lengths) - 1 if isinstance(self.lengths, tuple) else 1

    def _cosines(self) -> npt.NDArray[np.float64]:
        k = self.secondaries() + 1
        cosines = np.eye(k)
        angles = one_each("given-gradients.angles", self.angles, k * (k - 1) // 2, "pairs of gradients")
        for (i, j), angle in zip(combinations(range(k), 2), angles, strict=True):
            cosines[i, j] = cosines[j, i] = math.cos(math.radians(angle))
        return cosines

    def constants(self, streams: Streams) -> Constants:
        """Place one direction after the other, each in one more dimension: a Cholesky factor, which may be singular."""
        cosines = self._cosines()
        directions = np.zeros_like(cosines)
        for i, row in enumerate(cosines):
            for j in range(i):
                if directions[j, j] > 0.0:
                    directions[i, j] = (row[j] - directions[i, :j] @ directions[j, :j]) / directions[j, j]
            rest = 1.0 - directions[i, :i] @ directions[i, :i]
            directions[i, i] = math.sqrt(rest) if rest > 1e-12 else 0.0
        lengths = one_each("given-gradients.lengths", self.lengths, len(cosines), "gradients")
        return {"gradients": torch.from_numpy(directions * np.array(lengths)[:, None])}

    def metrics(self) -> tuple[Metric, ...]:
        coefficient = "w of '{}' in d = Σ_i w_i g_i, d the way back to the start"
        return (
            *super(Linear, self).metrics(),
            PRIMARY_PROGRESS,
            DISPLACEMENT,
            *(
                Metric(f"coefficient/{name}", f"coefficient of {name}", meaning=coefficient.format(name))
                for name in self.objectives()
            ),
        )

    def measure(self, theta: torch.Tensor, constants: Constants) -> dict[str, float]:
        gradients = constants["gradients"].numpy()
        coefficients, *_ = np.linalg.lstsq(gradients.T, -theta.numpy(), rcond=None)
        names = (f"coefficient/{name}" for name in self.objectives())
        return {
            "primary_progress": float(-gradients[0] @ theta.numpy()),
            "displacement": float(theta.norm()),
            **dict(zip(names, coefficients.tolist(), strict=True)),
        }
