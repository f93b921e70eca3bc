"""Named random streams: every draw of a run comes from its seed through a name.

Two runs at the same seed draw the same numbers from the stream of the same name, whatever other
streams they use. So two methods see the same initial weights (`init`) and the same batches
(`data`), while a method's own randomness (`method`) cannot disturb either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    import torch


class Streams:
    """The random streams of one run; each call returns a new generator at the stream's start."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def _entropy(self, name: str) -> np.random.SeedSequence:
        return np.random.SeedSequence([self.seed, crc32(name.encode())])

    def numpy(self, name: str) -> np.random.Generator:
        """Return the numpy generator of stream `name`."""
        return np.random.Generator(np.random.PCG64(self._entropy(name)))

    def torch(self, name: str) -> torch.Generator:
        """Return the torch generator (CPU) of stream `name`."""
        import torch

        seed = int(self._entropy(name).generate_state(1, np.uint64)[0] >> np.uint64(1))
        return torch.Generator().manual_seed(seed)
