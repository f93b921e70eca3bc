"""The rehearsal of a suite on a pretended CUDA device.

python -m tests.device.rehearsal suite=compression profile=paper problems.compression.batch_size=4
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from unittest.mock import patch

from mobench.cli import main
from tests.device.pretended_cuda import PretendedCuda

SEEN: dict[str, Callable[..., object]] = {
    "running.machine.visible_devices": lambda: ["0"],
    "running.machine.why_unusable": lambda device: "",
    "core.resources.why_unusable": lambda device: "",
}
"""What is asked of the machine before a run, answered for the device."""


def rehearse(words: Sequence[str]) -> int:
    """Run `mobench run rehearsal=true` in this process, on the device."""
    with PretendedCuda(), ExitStack() as stack:
        for name, answer in SEEN.items():
            stack.enter_context(patch(f"mobench.{name}", answer))
        return main(["run", "rehearsal=true", "device=cuda", "jobs=0", *words])


if __name__ == "__main__":
    sys.exit(rehearse(sys.argv[1:]))
