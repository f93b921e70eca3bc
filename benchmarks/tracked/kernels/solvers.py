"""The K×K solvers, and the methods on top of them, without any n-sized work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from mobench import solvers
from mobench.core.method import Matrix, Step, checked_weights
from mobench.core.registry import find_method

from . import Kernel, built_once

SIZES = (2, 3, 8, 16)
CASES = 12
"""Gram matrices that one call goes through."""
DIMENSION = 50
METHODS = ("auxinash", "cagrad", "famo", "mgda", "pcd", "pcgrad", "ws")


def _cagrad(gram: Matrix) -> object:
    return solvers.conflict_averse(gram, 0.4)


def _auxinash(gram: Matrix) -> object:
    return solvers.nash_bargain(gram, np.ones(len(gram)))


def _pcd(gram: Matrix) -> object:
    return solvers.project_primary(gram, 0.1)


def _pcgrad(gram: Matrix) -> object:
    return solvers.surgery(gram, _orders(len(gram)))


def _mgda(gram: Matrix) -> object:
    return solvers.min_norm_point(gram)


SOLVERS: dict[str, Callable[[Matrix], object]] = {
    "auxinash": _auxinash,
    "cagrad": _cagrad,
    "mgda": _mgda,
    "pcd": _pcd,
    "pcgrad": _pcgrad,
}
"""The program of each method that has one."""


@cache
def _orders(k: int) -> list[list[int]]:
    rng = np.random.default_rng(k)
    return [[int(j) for j in rng.permutation(k) if j != i] for i in range(k)]


@cache
def gram_matrices(k: int) -> tuple[Matrix, ...]:
    """Return the Gram matrices of independent gradients with lengths within a factor of ten.

    Half of them have a common part, with either sign, so that objectives also agree and conflict
    strongly.
    """
    rng = np.random.default_rng(1000 + k)
    grams = []
    for case in range(CASES):
        gradients = rng.standard_normal((k, DIMENSION))
        if case % 2:
            gradients += rng.choice((-1.0, 1.0), (k, 1)) * rng.standard_normal(DIMENSION)
        gradients *= 10.0 ** rng.uniform(-0.5, 0.5, (k, 1))
        grams.append(gradients @ gradients.T)
    return tuple(grams)


@built_once
def solve(method: str, k: int) -> Kernel:
    """Solve the method's program once for each Gram matrix, without a guess."""
    solver, grams = SOLVERS[method], gram_matrices(k)

    def run() -> None:
        for gram in grams:
            solver(gram)

    return run


@dataclass(frozen=True)
class _Known:
    """A step's gradients of which only the Gram matrix exists."""

    matrix: Matrix

    def gram(self) -> Matrix:
        return self.matrix

    def gradients(self) -> torch.Tensor:
        raise AssertionError("no method of this benchmark reads gradients")


@built_once
def weigh(name: str, k: int) -> Kernel:
    """Ask a method for its weights as a training loop does: checks, state and guess included."""
    method = find_method(name)()
    method.reset(k, np.random.default_rng(0))
    sources = [_Known(gram) for gram in gram_matrices(k)]
    losses, bounds = np.linspace(1.0, 2.0, k), np.zeros(k)

    def run() -> None:
        for iteration, source in enumerate(sources):
            checked_weights(method, Step(losses, source, bounds, iteration))
            method.observe(losses)

    return run
