"""Gradients with respect to features, standing in for those of the parameters behind them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mobench.core.method import Vector
from mobench.errors import UserError
from mobench.gradients.gradient_rows import GradientRows
from mobench.gradients.graphs import bypasses
from mobench.gradients.layout import Layout
from mobench.gradients.losses import Losses, listed


class FeatureRows(GradientRows):
    """The K gradients ∂L_i/∂z with respect to the features z(θ) that a trunk hands to the heads.

    The Gram matrix is that of the ∂L_i/∂z, which takes K passes through the heads and none through
    the trunk. The update of the shared parameters θ, for the weights that the method then chooses,
    is exact and one pass through the trunk whatever K is: `(∂z/∂θ)ᵀ Σ_i w_i ∂L_i/∂z`. What is
    approximate is the choice: gradients that conflict in z need not conflict in θ, and vice versa.
    """

    def __init__(self, features: Sequence[Tensor], trained: Layout) -> None:
        for index, feature in enumerate(features):
            if not isinstance(feature, Tensor) or feature.grad_fn is None:
                raise UserError(f"features[{index}] is no tensor that was computed from the shared parameters")
            feature.retain_grad()
        heads = [trained.parameters[index] for index in trained.own]
        super().__init__([*features, *heads], shared=features, leaves=False)
        self._features = features
        self._trunk = [trained.parameters[index] for index in trained.shared]

    def load(self, losses: Losses, *, scale: float = 1.0, retain_graph: bool = False) -> None:
        with_graph = [loss for loss in listed(losses) if isinstance(loss, Tensor)]
        if len(with_graph) < len(losses):
            raise UserError("features= takes losses with a graph; a closed form does not depend on the features")
        if bypasses(with_graph, self._features, self._trunk):
            raise UserError("a loss depends on shared parameters without passing through the features")
        super().load(losses, scale=scale, retain_graph=True)  # the trunk's part is needed once more
        self._retain_trunk = retain_graph

    def apply(self, weights: Sequence[float] | Vector) -> None:
        super().apply(weights)
        self._pass_through_trunk()

    def apply_direction(self, direction: Tensor) -> None:
        super().apply_direction(direction)
        self._pass_through_trunk()

    def _pass_through_trunk(self) -> None:
        """Turn the features' `.grad` into that of the shared parameters."""
        reached = [(feature, feature.grad) for feature in self._features if feature.grad is not None]
        for tensor in (*self._features, *self._trunk):
            tensor.grad = None
        live = [parameter for parameter in self._trunk if parameter.requires_grad]
        if reached and live:
            tensors, gradients = zip(*reached, strict=True)
            torch.autograd.backward(tensors, gradients, retain_graph=self._retain_trunk, inputs=live)
            self.backward_passes += 1
        for feature in self._features:
            feature.grad = None
