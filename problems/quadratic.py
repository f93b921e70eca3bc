"""An ill-conditioned quadratic with one convex secondary whose scale is arbitrary."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch

from mobench.core.about import Formula
from mobench.core.metric import NON_NEGATIVE, Metric
from mobench.core.problem import Bounds, Constants, VectorProblem
from mobench.core.registry import register
from mobench.core.settings import choice, integer, real
from mobench.core.streams import Streams
from mobench.problems import PAPER


@register
class Quadratic(VectorProblem):
    """An ill-conditioned convex quadratic and a convex penalty that is rescaled by a factor.

    The factor on the secondary changes units and not the trade-off: the Pareto front in the original
    units stays where it is, and is known in closed form. The problem shows how far a method's operating
    point moves when a secondary objective is rescaled.

    The spectrum is log-spaced, and q is the `scale`:

        L_1(θ) = ½ θᵀHθ − cᵀθ,   H = diag(h), h log-spaced over [1, κ],   c ~ N(0, I),
        L_2(θ) = q · ‖θ‖_1   or   q · ½ ‖θ − b‖²,   b ~ N(0, I).

    H is diagonal, which is no restriction for the primary (a choice of basis) and
    makes the Pareto front a closed form: for a trade-off λ ≥ 0 the minimiser of L_1 + λ L_2 at q = 1
    is θ_i = soft(c_i, λ) / h_i for ℓ1, and (c_i + λ b_i) / (h_i + λ) for the quadratic.
    A method's operating point is reported in the original units, `secondary` = L_2 / q.
    """

    id = "quadratic@1"
    training: ClassVar = {"optimizer": "adam", "lr": 0.01, "schedule": "cosine", "steps": 2000}
    title = "Rescaled quadratic"
    formulas = (
        Formula(
            r"L_1(\theta) = \frac{1}{2} \theta^\top H \theta - c^\top \theta, \quad H = \text{diag}(h), "
            r"\quad 1 \le h_i \le \kappa",
            "Primary, with h spaced evenly on a logarithmic scale",
        ),
        Formula(
            r"L_2(\theta) = q {\lVert \theta \rVert}_1 \quad \text{or} \quad "
            r"L_2(\theta) = \frac{q}{2} {\lVert \theta - b \rVert}^2",
            "Secondary",
        ),
    )
    reference = PAPER.at("section “Scale invariance of τ”")

    dimension: int = integer(50, low=1, meaning="number of parameters n")
    condition: float = real(100.0, low=1.0, meaning="condition number κ of the primary's Hessian")
    secondary: str = choice("l1", ("l1", "quadratic"), meaning="the secondary objective")
    scale: float = real(1.0, low=0.0, low_open=True, meaning="factor q on the secondary")

    def objectives(self) -> tuple[str, ...]:
        return ("quadratic", "l1" if self.secondary == "l1" else "distance")

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        constants = self.constants(Streams(seed))
        return (-0.5 * float((constants["linear"] ** 2 / constants["spectrum"]).sum()), 0.0)

    def hypervolume_metrics(self) -> tuple[str, ...]:
        return ("loss/quadratic", "secondary")

    def hypervolume_bounds(self) -> Bounds:
        """The box holds the front of every seed tried at n = 50, κ = 100, up to the secondary's minimiser."""
        worst = (0.0, 20.0) if self.secondary == "l1" else (1500.0, 60.0)
        return Bounds(ideal=(-12.0, 0.0), reference=worst)

    def constants(self, streams: Streams) -> Constants:
        draw = streams.numpy("problem")
        linear, centre = draw.standard_normal((2, self.dimension))
        smooth = self.secondary == "quadratic"
        return {
            "spectrum": torch.logspace(0.0, np.log10(self.condition), self.dimension, dtype=torch.float64),
            "linear": torch.from_numpy(linear),
            "centre": torch.from_numpy(centre if smooth else np.zeros_like(centre)),
            "smooth": torch.tensor([smooth]),
            "scale": torch.tensor([self.scale], dtype=torch.float64),
        }

    def initial(self, constants: Constants, streams: Streams) -> torch.Tensor:
        return torch.from_numpy(streams.numpy("init").standard_normal(self.dimension))

    @staticmethod
    def values(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        primary = (0.5 * constants["spectrum"] * theta * theta - constants["linear"] * theta).sum(-1)
        offset = theta - constants["centre"]
        secondary = torch.where(constants["smooth"], 0.5 * offset * offset, offset.abs()).sum(-1)
        return torch.stack([primary, constants["scale"][:, 0] * secondary], dim=1)

    @staticmethod
    def gradients(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        primary = constants["spectrum"] * theta - constants["linear"]
        offset = theta - constants["centre"]
        secondary = constants["scale"] * torch.where(constants["smooth"], offset, offset.sign())
        return torch.stack([primary, secondary], dim=1)

    def metrics(self) -> tuple[Metric, ...]:
        return (
            *super().metrics(),
            Metric(
                "secondary",
                "secondary objective",
                better="min",
                range=NON_NEGATIVE,
                meaning="the secondary objective at the end in its original unit, L_2 / q",
            ),
        )

    def measure(self, theta: torch.Tensor, constants: Constants) -> dict[str, float]:
        offset = theta - constants["centre"]
        secondary = 0.5 * offset @ offset if self.secondary == "quadratic" else offset.abs().sum()
        return {"secondary": float(secondary)}

    def pareto_front(self, seed: int) -> npt.NDArray[np.float64]:
        """Return 400 points of the exact front, in `loss/quadratic` and `secondary`."""
        constants = {name: value.numpy() for name, value in self.constants(Streams(seed)).items()}
        h, c, b = constants["spectrum"], constants["linear"], constants["centre"]
        if self.secondary == "l1":
            trade_off = np.linspace(0.0, np.abs(c).max(), 400)[:, None]
            theta = np.sign(c) * np.maximum(np.abs(c) - trade_off, 0.0) / h
            second = np.abs(theta).sum(1)
        else:
            trade_off = np.geomspace(1e-4, 1e6, 400)[:, None]
            theta = (c + trade_off * b) / (h + trade_off)
            second = 0.5 * ((theta - b) ** 2).sum(1)
        return np.column_stack([(0.5 * h * theta**2 - c * theta).sum(1), second])
