"""Scenes a method is shown: gradients and losses of one step, and what the method does with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from mobench.core.method import RESOLUTION, Matrix, Method, Step, Vector
from mobench.gradients.gram import gram_of
from mobench.training.step import take_step

ArrayT = TypeVar("ArrayT", bound=npt.NDArray[Any])

Precision = type[np.floating[Any]]
"""The type of gradients and losses, as training in it gives them: `np.float64` or `np.float32`."""


@dataclass(frozen=True)
class Scene:
    """One step's K gradients in Rⁿ, its losses, their lower bounds, and the losses after the update."""

    gradients: npt.NDArray[np.floating[Any]]
    losses: Vector
    bounds: Vector
    after: Vector

    @classmethod
    def of(cls, gradients: Matrix, losses: Vector | None = None, bounds: Vector | None = None) -> Scene:
        """Make a scene around `gradients`; losses are 1 and bounds 0 unless given, and losses fall by 1 %."""
        ones = np.ones(len(gradients))
        losses = ones if losses is None else losses
        return cls(gradients, losses, 0.0 * ones if bounds is None else bounds, losses - 0.01 * np.abs(losses))

    @property
    def k(self) -> int:
        """The number of objectives."""
        return len(self.losses)

    def rescaled(self, factors: Vector) -> Scene:
        """Multiply each objective by its factor."""
        scaled = (self.gradients * factors[:, None], self.losses * factors, self.bounds * factors, self.after * factors)
        return Scene(*scaled).rounded(self.gradients.dtype.type)

    def rounded(self, precision: Precision) -> Scene:
        """Round gradients and losses."""
        losses, after = (values.astype(precision).astype(np.float64) for values in (self.losses, self.after))
        return replace(self, gradients=self.gradients.astype(precision), losses=losses, after=after)

    def permuted(self, order: Sequence[int]) -> Scene:
        """Put the objectives into another order."""
        index = list(order)
        return Scene(self.gradients[index], self.losses[index], self.bounds[index], self.after[index])

    def with_losses(self, losses: Vector) -> Scene:
        """Replace the losses."""
        return replace(self, losses=losses)


def random_scenes(k: int, n: int, count: int, seed: int = 0, precision: Precision = np.float64) -> list[Scene]:
    """Return scenes with Gaussian gradients of unequal lengths, and positive losses that fall or rise a little."""
    rng = np.random.default_rng([seed, k, n])
    scenes = []
    for _ in range(count):
        lengths = np.exp(rng.normal(size=k))
        losses = rng.uniform(0.5, 2.0, size=k)
        after = losses * rng.uniform(0.8, 1.1, size=k)
        scenes.append(Scene(lengths[:, None] * rng.normal(size=(k, n)), losses, np.zeros(k), after))
    return [scene.rounded(precision) for scene in scenes]


class Watcher:
    """Gradients that note what is asked of them, and remember what they handed out."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.n = scene.gradients.shape[1]
        self.resolution = RESOLUTION
        self.read: set[str] = set()
        self.update: Vector = np.zeros(0)
        """The update d ∈ Rⁿ that the method chose."""
        self._handed: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = []

    def hand(self, name: str, array: ArrayT) -> ArrayT:
        """Hand out `array` under `name`."""
        self.read.add(name)
        self._handed.append((array, array.copy()))
        return array

    def modified(self) -> bool:
        """Say whether anything handed out has been changed in place."""
        return any(not np.array_equal(now, then) for now, then in self._handed)

    def gram(self) -> Matrix:
        """Return the Gram matrix."""
        gradients = self.scene.gradients
        if gradients.dtype != np.float64:
            taken = gram_of(self.scene.k, lambda: [torch.from_numpy(gradients).unbind()])
            self.resolution = taken.resolution
            return self.hand("gram", taken.matrix)
        with np.errstate(invalid="ignore"):  # infinite gradients are one of the scenes
            return self.hand("gram", gradients @ gradients.T)

    def gradients(self) -> torch.Tensor:
        """Return the gradients as rows."""
        return torch.from_numpy(self.hand("gradients", self.scene.gradients.copy()))

    def apply(self, weights: Vector) -> None:
        """Keep `Σ_i w_i g_i`."""
        with np.errstate(invalid="ignore"):
            self.update = np.asarray(weights @ self.scene.gradients)

    def apply_direction(self, direction: torch.Tensor) -> None:
        """Keep the direction."""
        self.update = direction.numpy().astype(np.float64)


class WatchedStep(Step):
    """A step that notes whether its losses and bounds are read."""

    __slots__ = ("_bounds", "_k", "_losses", "_other", "_watcher")

    def __init__(
        self,
        scene: Scene,
        watcher: Watcher,
        iteration: int,
        total_steps: int | None = None,
        other: Scene | None = None,
    ) -> None:
        """Make a step; `other` is the scene of other batches, which by default look like the training batch."""
        self._watcher = watcher
        self._k = scene.k
        self._other = other
        held_out, second = partial(self._evaluate, "held-out batch"), partial(self._evaluate, "second batch")
        super().__init__(
            scene.losses.copy(), watcher, scene.bounds.copy(), iteration, total_steps, held_out, second_batch=second,
            hessian_product=self._curvature,
        )  # fmt: skip

    @property
    def k(self) -> int:
        return self._k

    def _evaluate(self, batch: str) -> Step:
        """Hand out another batch."""
        self._watcher.read.add(batch)
        watcher = self._watcher if self._other is None else Watcher(self._other)
        scene = watcher.scene
        return Step(scene.losses.copy(), watcher, scene.bounds.copy(), self.iteration)

    def _curvature(self, weights: Vector, vector: torch.Tensor) -> torch.Tensor:
        """Return a product with the Hessian of linear objectives."""
        self._watcher.read.add("Hessian products")
        return torch.zeros_like(vector)

    @property
    def losses(self) -> Vector:
        return self._watcher.hand("losses", self._losses)

    @losses.setter
    def losses(self, value: Vector) -> None:
        self._losses = value

    @property
    def lower_bounds(self) -> Vector:
        return self._watcher.hand("lower bounds", self._bounds)

    @lower_bounds.setter
    def lower_bounds(self, value: Vector) -> None:
        self._bounds = value


def update(method: Method, scene: Scene, iteration: int = 0, watcher: Watcher | None = None) -> Vector:
    """Return the update direction d ∈ Rⁿ that `method` chooses, which must be finite."""
    watcher = Watcher(scene) if watcher is None else watcher
    take_step(method, WatchedStep(scene, watcher, iteration), watcher)
    return watcher.update


def advance(method: Method, scene: Scene, iteration: int = 0, watcher: Watcher | None = None) -> Vector:
    """Take a whole step: the update, then what the losses did."""
    direction = update(method, scene, iteration, watcher)
    if method.overrides("observe"):
        method.observe(scene.after.copy())
    return direction


def start(method: Method, k: int, seed: int = 0) -> Method:
    """Reset `method` for a run with `k` objectives at `seed`."""
    method.reset(k, np.random.default_rng(seed))
    return method


def trajectory(method: Method, scenes: Iterable[Scene]) -> list[Vector]:
    """Return the updates of consecutive steps."""
    return [advance(method, scene, iteration) for iteration, scene in enumerate(scenes)]


def degenerate_scenes(k: int, precision: Precision = np.float64) -> dict[str, Scene]:
    """Return named scenes with `k` objectives on which a method must give finite weights."""
    rng = np.random.default_rng(k)
    n = 2 * k + 1
    general = rng.normal(size=(k, n))
    line = np.eye(1, n)
    signs = np.where(np.arange(k) % 2 == 0, 1.0, -1.0)[:, None]
    powers = 10.0 ** np.arange(0.0, 3.0 * k, 3.0)[:, None]
    some = np.arange(k)[:, None]
    losses = rng.uniform(0.5, 2.0, size=k)
    scenes = {
        "all gradients zero": Scene.of(np.zeros((k, n))),
        "a zero primary gradient": Scene.of(np.where(some == 0, 0.0, general)),
        "a zero last gradient": Scene.of(np.where(some == k - 1, 0.0, general)),
        "only the primary gradient not zero": Scene.of(np.where(some == 0, general, 0.0)),
        "equal gradients": Scene.of(np.repeat(line, k, axis=0)),
        "opposite gradients": Scene.of(signs * line),
        "opposite gradients of unequal lengths": Scene.of(signs * powers * line),
        "opposite secondary gradients": Scene.of(np.where(some == 0, np.eye(1, n, 1), signs * line)),
        "collinear gradients of unequal lengths": Scene.of(powers * line),
        "nearly collinear gradients": Scene.of(line + 1e-9 * general),
        "gradients opposite but for rounding in float32": Scene.of(signs * line + 1e-7 * general),
        "gradients that sum to zero": Scene.of(np.eye(k, n) - np.pad(np.full((k, k), 1.0 / k), ((0, 0), (0, n - k)))),
        "gradients of length 1e-12": Scene.of(1e-12 * general),
        "gradients of length 1e12": Scene.of(1e12 * general),
        "more objectives than parameters": Scene.of(general[:, :1]),
        "losses at their lower bounds": Scene.of(general, np.zeros(k)),
        "losses below their lower bounds": Scene.of(general, losses, losses + 1.0),
        "negative losses without lower bounds": Scene.of(general, -losses, np.full(k, -np.inf)),
        "losses of 1e12": Scene.of(general, 1e12 * losses),
    }
    return {name: scene.rounded(precision) for name, scene in scenes.items()}
