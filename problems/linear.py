"""Linear objectives: after one step of gradient descent the losses tell the direction that a method chose.

With L_i(θ) = g_i·θ, the start θ = 0 and plain gradient descent with step size 1, one step leads to θ = −d, where d is
the method's direction, and −L_i(θ) = g_i·d is its first-order progress on objective i, exactly.
"""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
import torch

from mobench.core.about import Formula
from mobench.core.metric import NON_NEGATIVE, SHARE, Metric
from mobench.core.problem import Constants, VectorProblem
from mobench.core.registry import register
from mobench.core.settings import integer, real, reals
from mobench.core.streams import Streams
from mobench.problems import PAPER
from mobench.solvers.stationarity import hull_margin

FLAT = 180.0
"""Degrees between opposite directions."""


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
        progress = "what the run took off the primary objective; after one step of size 1 the product g_1·d"
        smallest = "smallest of what the run took off each secondary, in units of ‖g_j‖²: g_j·d / ‖g_j‖² after one step"
        bound = "largest angle up to which secondaries are known to be feasible from angles alone: π − arccos(1/(K−2))"
        return (
            *super().metrics(),
            Metric("primary_progress", "progress of the primary", meaning=progress),
            Metric("smallest_progress", "smallest progress of a secondary", meaning=smallest),
            Metric("displacement", "way from the start", range=NON_NEGATIVE, meaning="‖θ − θ_0‖; ‖d‖ after one step"),
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
