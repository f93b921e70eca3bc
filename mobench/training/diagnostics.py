"""What one step did: losses, weights, and how far the update lies from the primary gradient."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mobench.core.method import Matrix, Vector


@dataclass(frozen=True)
class Diagnostics:
    """A record of one step. Nothing is computed for it that the method did not read."""

    iteration: int
    """How many steps came before; a skipped step does not count."""
    losses: Vector | None
    """The K losses, None if only gradients were given."""
    weights: Vector | None = None
    """The K weights of the update, None if the method gave a direction of its own or was skipped."""
    gram: Matrix | None = None
    """The Gram matrix, None if the method did not read it."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What the method itself noted."""
    backward_passes: int = 0
    """How many times autograd traversed a graph in this step."""
    skipped: bool = False
    """Whether a loss or gradient overflowed under a gradient scaler, so that there is no update."""
    names: tuple[str, ...] | None = None
    """What the losses are called, None if they came without names."""

    @property
    def cosines(self) -> Vector | None:
        """cos(g_1, g_j) of the primary with every gradient; 0 where one of them is zero."""
        if self.gram is None:
            return None
        norms = np.sqrt(self.gram.diagonal())
        lengths = norms[0] * norms
        cosines: Vector = np.divide(self.gram[0], lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
        return cosines.clip(-1.0, 1.0)

    @property
    def deviation(self) -> float | None:
        """‖d − g_1‖ / ‖g_1‖, infinite where g_1 = 0 and d is not."""
        if self.gram is None or self.weights is None:
            return None
        offset = self.weights.copy()
        offset[0] -= 1.0
        distance = math.sqrt(max(0.0, float(offset @ self.gram @ offset)))
        if distance == 0.0:
            return 0.0
        primary = math.sqrt(self.gram[0, 0])
        return distance / primary if primary > 0.0 else math.inf
