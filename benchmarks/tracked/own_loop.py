"""Layer: a step of anybody's own training loop, beside a plain Adam step."""

from __future__ import annotations

from .kernels import own_loop
from .measured import Measured


class OwnLoop(Measured):
    """Two losses with graphs through `MultiObjective`; the plain step trains on the first alone."""

    params = (("pcd", "mgda", "ws"),)
    param_names = ("method",)

    def time_front_end(self, method: str) -> None:
        own_loop.front_end_step(method)()


class OwnLoopPlain(Measured):
    """The same network on one loss."""

    def time_plain(self) -> None:
        own_loop.plain_step()()
