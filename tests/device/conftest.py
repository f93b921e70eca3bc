"""A pretended CUDA device for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.device.pretended_cuda import PretendedCuda


@pytest.fixture
def device() -> Iterator[PretendedCuda]:
    with PretendedCuda() as pretended:
        yield pretended
