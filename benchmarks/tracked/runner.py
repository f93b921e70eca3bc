"""Layer: planning a suite and running it."""

from __future__ import annotations

import timeit
from pathlib import Path

from .kernels import runner
from .measured import Measured


class Plan(Measured):
    """The 2,940 runs of the suite `escape`, from YAML to checked specs."""

    def time_plan(self) -> None:
        runner.plan()


class Escape(Measured):
    """A hundred steps of a method's runs of the suite `escape` in lockstep."""

    params = (runner.METHODS, (2, 7))
    param_names = ("method", "k")

    def time_train(self, method: str, k: int) -> None:
        runner.train_escape(method, k)()


class Run(Measured):
    """Runs of five steps in this process, records included; in wall-clock time, as waiting counts here."""

    params = ((1, 4),)
    param_names = ("seeds",)
    timer = staticmethod(timeit.default_timer)

    def time_tiny_runs(self, seeds: int) -> None:
        runner.run_tiny(Path.cwd(), seeds)()

    def peakmem_tiny_runs(self, seeds: int) -> None:
        runner.run_tiny(Path.cwd(), seeds)()
