"""Layer: the K×K solvers and the methods' weights."""

from __future__ import annotations

from .kernels import solvers
from .measured import Measured


class Solve(Measured):
    """Each method's program on twelve Gram matrices."""

    params = (list(solvers.SOLVERS), solvers.SIZES)
    param_names = ("method", "k")

    def time_solve(self, method: str, k: int) -> None:
        solvers.solve(method, k)()


class Weights(Measured):
    """Each method's weights for twelve steps of known Gram matrices."""

    params = (solvers.METHODS, (2, 8))
    param_names = ("method", "k")

    def time_weights(self, method: str, k: int) -> None:
        solvers.weigh(method, k)()
