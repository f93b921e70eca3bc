"""How every benchmark is measured: one thread, in processor time, in short samples.

Benchmarks have no `setup` method, because asv then times single calls, which is too coarse for
microseconds. A kernel is built at its first call instead, within the warm-up, and kept.
"""

from __future__ import annotations

import os
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy is loaded

import threadpoolctl  # type: ignore[import-untyped]  # noqa: E402
import torch  # noqa: E402

from mobench.core.registry import methods, problems  # noqa: E402

torch.set_num_threads(1)
threadpoolctl.threadpool_limits(1)  # asv may have loaded numpy before
methods(), problems()  # loaded once, before asv forks: the first call of a benchmark finds its number of calls


class Measured:
    """The attributes that asv reads from a benchmark."""

    timer = staticmethod(time.process_time)
    """Processor time: what others do on the machine counts little, waiting does not count at all."""
    rounds = 2
    warmup_time = 0.1
    sample_time = 0.01
    repeat = (3, 10, 0.3)
    """At least 3 and at most 10 samples, within 0.3 s."""
    timeout = 120
