"""One thread for everything that is timed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import threadpoolctl
import torch


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with threadpoolctl.threadpool_limits(1):
        yield
    torch.set_num_threads(threads)
