"""Double wells across which only secondaries that agree can pull: the escape experiment."""

from __future__ import annotations

from typing import ClassVar

import torch

from mobench.core.about import Formula
from mobench.core.metric import NON_NEGATIVE, Metric
from mobench.core.problem import Bounds, Constants, VectorProblem
from mobench.core.registry import register
from mobench.core.settings import integer, real
from mobench.core.streams import Streams
from mobench.problems import PAPER


@register
class DoubleWell(VectorProblem):
    """A non-convex primary and K−1 secondaries that cancel it exactly at the start.

    The primary has two wells along each of K−1 directions. Each secondary prefers one of the wells, and
    the start lies in the other. There the K gradients sum to zero, a conflict equilibrium. The joint
    optimum lies behind a barrier, which the secondaries can cross only against the primary. A method
    that stops where gradients cancel never leaves the start.

    With orthonormal u_1, …, u_{K−1} ∈ Rⁿ, s_j = <u_j, θ> and P⊥ the projection on their complement,

        L_1(θ) = Σ_j (s_j² − 1)² + ½ ‖P⊥θ‖²,        L_{j+1}(θ) = a (s_j − 1)².

    The joint optimum s_j = 1 lies behind the barrier s_j = 0. At the start s_j = −0.6 the primary's
    slope along u_j is 4 s (s² − 1) = 1.536; a = 0.48 gives the secondary the slope −1.536, so that
    the K gradients sum to zero: a conflict equilibrium at ‖∇L_1‖ = 1.536 √(K−1) and
    L_1 = 0.4096 (K−1). The start has P⊥θ_0 = `spread` · N(0, I) projected on the complement.
    """

    id = "double-well@1"
    training: ClassVar = {"optimizer": "sgd", "lr": 0.05, "steps": 500}
    title = "Double wells"
    formulas = (
        Formula(
            r"L_1(\theta) = \sum_j \left(s_j^2 - 1\right)^2 + \frac{1}{2} {\lVert P_\perp \theta \rVert}^2, "
            r"\quad s_j = u_j \cdot \theta",
            "Primary",
        ),
        Formula(r"L_{j+1}(\theta) = a \left(s_j - 1\right)^2", "Secondaries"),
    )
    reference = PAPER.at("section “Conflict equilibria and CMS escape”")

    k: int = integer(3, low=2, high=20, meaning="number of objectives K")
    dimension: int = integer(50, low=2, meaning="number of parameters n")
    start: float = real(-0.6, meaning="the start's coordinate along each u_j")
    pull: float = real(0.48, low=0.0, low_open=True, meaning="curvature a of the secondaries")
    spread: float = real(0.0, low=0.0, meaning="size of the start's part outside the wells")

    def objectives(self) -> tuple[str, ...]:
        return ("wells", *(f"pull-{j}" for j in range(1, self.k)))

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0,) * self.k

    def hypervolume_bounds(self) -> Bounds:
        """The box reaches from the joint optimum to the losses of the point s_j = −1, and the barrier's top."""
        return Bounds(ideal=(0.0,) * self.k, reference=(float(self.k - 1), *(4.0 * self.pull,) * (self.k - 1)))

    def constants(self, streams: Streams) -> Constants:
        normal = streams.numpy("problem").standard_normal((self.dimension, self.k - 1))
        basis, _ = torch.linalg.qr(torch.from_numpy(normal))
        return {"basis": basis.T.contiguous(), "pull": torch.tensor(self.pull, dtype=torch.float64)}

    def initial(self, constants: Constants, streams: Streams) -> torch.Tensor:
        basis = constants["basis"]
        noise = torch.from_numpy(streams.numpy("init").standard_normal(self.dimension))
        outside = noise - basis.T @ (basis @ noise)
        return self.start * basis.sum(0) + self.spread * outside

    @staticmethod
    def _coordinates(theta: torch.Tensor, basis: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return s (B×(K−1)) and P⊥θ (B×n)."""
        s = (basis * theta.unsqueeze(1)).sum(-1)
        return s, theta - (basis * s.unsqueeze(2)).sum(1)

    @staticmethod
    def values(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        s, outside = DoubleWell._coordinates(theta, constants["basis"])
        primary = ((s * s - 1.0) ** 2).sum(-1) + 0.5 * (outside * outside).sum(-1)
        return torch.cat([primary[:, None], constants["pull"][:, None] * (s - 1.0) ** 2], dim=1)

    @staticmethod
    def gradients(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        basis = constants["basis"]
        s, outside = DoubleWell._coordinates(theta, basis)
        primary = (basis * (4.0 * s * (s * s - 1.0))[:, :, None]).sum(1) + outside
        secondaries = basis * (2.0 * constants["pull"][:, None] * (s - 1.0))[:, :, None]
        return torch.cat([primary[:, None, :], secondaries], dim=1)

    @classmethod
    def values_and_gradients(
        cls, theta: torch.Tensor, constants: Constants, iteration: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Share the coordinates and what follows from them, and write each part where it belongs.

        On so few numbers a call takes longer than its arithmetic, and in inference mode it takes least.
        """
        with torch.inference_mode():
            basis, pull = constants["basis"], constants["pull"].unsqueeze(1)
            s, outside = cls._coordinates(theta, basis)
            runs, secondaries, n = basis.shape
            ahead, wells = s - 1.0, s * s - 1.0
            values = basis.new_empty(runs, 1 + secondaries)
            torch.add((wells * wells).sum(-1), 0.5 * (outside * outside).sum(-1), out=values.select(1, 0))
            torch.mul(pull, ahead * ahead, out=values.narrow(1, 1, secondaries))
            gradients = basis.new_empty(runs, 1 + secondaries, n)
            torch.add((basis * (4.0 * s * wells).unsqueeze(2)).sum(1), outside, out=gradients.select(1, 0))
            torch.mul(basis, (2.0 * pull * ahead).unsqueeze(2), out=gradients.narrow(1, 1, secondaries))
        return values, gradients

    def metrics(self) -> tuple[Metric, ...]:
        return (
            *super().metrics(),
            Metric(
                "barriers_crossed",
                "barriers crossed",
                better="max",
                range=(0.0, self.k - 1.0),
                meaning="how many of the K−1 barriers between wells the run crossed",
            ),
            Metric(
                "barriers_left",
                "barriers left",
                better="min",
                range=(0.0, self.k - 1.0),
                meaning="how many of the K−1 barriers between wells lie between the end of the run and the optimum",
            ),
            Metric(
                "distance_to_optimum",
                "distance to optimum",
                better="min",
                range=NON_NEGATIVE,
                meaning="distance from the joint optimum at the end, max_j |s_j − 1|",
            ),
        )

    def measure(self, theta: torch.Tensor, constants: Constants) -> dict[str, float]:
        s = constants["basis"] @ theta
        crossed = float((s > 0).sum())
        return {
            "barriers_crossed": crossed,
            "barriers_left": self.k - 1.0 - crossed,
            "distance_to_optimum": float((s - 1.0).abs().max()),
        }
