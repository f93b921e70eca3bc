"""The rehearsal of a suite on a pretended CUDA device.

python -m tests.device.rehearsal suite=compression profile=paper problems.compression.batch_size=4
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mobench.cli import main
from tests.device.pretended_cuda import PretendedCuda


def rehearse(words: Sequence[str]) -> int:
    """Run `mobench run rehearsal=true` in this process, on the device."""
    with PretendedCuda():
        return main(["run", "rehearsal=true", "device=cuda", "jobs=0", *words])


if __name__ == "__main__":
    sys.exit(rehearse(sys.argv[1:]))
