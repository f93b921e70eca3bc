"""What holds for all tests: a slow machine fails none of them, since timing is for benchmarks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:  # tests side by side share the cores; said before torch is imported
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

from mobench.core import registry
from mobench.store.folder import Store

# Worker processes import the functions of these tests by name.
sys.path.append(str(Path(__file__).parent))

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a CUDA device where there is none."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="torch sees no CUDA device here"))


@pytest.fixture(autouse=True)
def _forget_methods_of_namespaces():
    """Methods of other packages are known once somebody asked for them; the next test has not."""
    yield
    for name in [name for name in registry._found["methods"] if ":" in name]:
        del registry._found["methods"][name]
