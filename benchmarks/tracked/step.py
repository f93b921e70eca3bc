"""Layer: what a training step adds to the backward pass."""

from __future__ import annotations

from .kernels import epoch, step
from .measured import Measured


class Combine(Measured):
    """From K gradients of n entries to the update."""

    params = (("pcd", "mgda"), (2, 8), step.SIZES)
    param_names = ("method", "k", "n")

    def time_combine(self, method: str, k: int, n: int) -> None:
        step.combine(method, k, n)()

    def peakmem_combine(self, method: str, k: int, n: int) -> None:
        step.combine(method, k, n)()


class Rows(Measured):
    """The Gram matrix and the weighted sum of K gradients over twenty tensors."""

    params = ((2, 3, 8), step.SIZES)
    param_names = ("k", "n")

    def time_gram_and_apply(self, k: int, n: int) -> None:
        step.apply_rows(k, n)()

    def peakmem_gram_and_apply(self, k: int, n: int) -> None:
        step.apply_rows(k, n)()


class Digits(Measured):
    """A step of the digits network with K objectives; `plain` trains on the first alone."""

    params = (list(step.PENALTIES),)
    param_names = ("k",)

    def time_plain(self, k: int) -> None:
        step.plain_step(k)()

    def time_pcd(self, k: int) -> None:
        step.pcd_step(k)()

    def peakmem_plain(self, k: int) -> None:
        step.plain_step(k)()

    def peakmem_pcd(self, k: int) -> None:
        step.pcd_step(k)()

    def track_backward_passes(self, k: int) -> int:
        return step.backward_passes(k)

    track_backward_passes.unit = "passes per step"  # type: ignore[attr-defined]


class Lockstep(Measured):
    """A step of several digits networks with K objectives that train as one."""

    params = (list(step.PENALTIES), (4, 16))
    param_names = ("k", "runs")

    def time_pcd(self, k: int, runs: int) -> None:
        step.pcd_step(k, runs)()

    def peakmem_pcd(self, k: int, runs: int) -> None:
        step.pcd_step(k, runs)()


class Physics(Measured):
    """A step of several physics-informed networks that train as one."""

    params = (list(step.EQUATIONS), (1, 16))
    param_names = ("equation", "runs")

    def time_pcd(self, equation: str, runs: int) -> None:
        step.physics_step(equation, runs)()


class Epoch(Measured):
    """Two steps of a small CIFAR network with the measurements of an epoch, and the evaluation at the end of a run."""

    params = (("resnet-narrow",),)
    param_names = ("network",)
    given = (32, 2)

    def time_plain(self, network: str) -> None:
        epoch.plain_epoch(network, *self.given)()

    def time_pcd(self, network: str) -> None:
        epoch.pcd_epoch(network, *self.given)()

    def time_evaluation(self, network: str) -> None:
        epoch.evaluation(network, *self.given)()
