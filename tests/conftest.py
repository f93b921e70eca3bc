"""What holds for all tests: a slow machine fails none of them, since timing is for benchmarks."""

from __future__ import annotations

import getpass
import os
import shutil
import sys
import tempfile
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:  # said before torch and mobench are imported
    # Tests side by side share the cores.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Runs of one temporary folder stand still while one of them is timed, and who times waits for those that hang:
    # with a folder each, tests do not wait for one another. What torch compiled stays common to all.
    os.environ.setdefault(
        "TORCHINDUCTOR_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"torchinductor_{getpass.getuser()}")
    )
    os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(prefix="mb-")

import pytest
from hypothesis import HealthCheck, settings

from mobench.core import registry
from mobench.store.folder import Store

# Worker processes import the functions of these tests by name.
sys.path.append(str(Path(__file__).parent))

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_configure(config: pytest.Config) -> None:
    """Let `pytest -m gpu` print what it skips, and why."""
    if config.option.markexpr == "gpu":
        config.option.reportchars += "s"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


BEGIN_WITH = (
    ("tests/faults/",),
    ("tests/running/", "tests/slurm/", "tests/cli/"),
    ("tests/leaderboard/", "tests/benchmarks/"),
)
"""Where single tests take long, for a worker each."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let workers begin with the longest tests, so that none of these begins last, while the other cores wait."""
    items[:] = _longest_first(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1)))
    _skip_without_gpu(items)


def _longest_first(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Return all tests in an order whose equal parts, one for each worker, begin with the longest."""
    if workers == 1:
        return items
    longest = [[item for item in items if item.nodeid.startswith(places)] for places in BEGIN_WITH]
    others = [item for item in items if not any(item.nodeid.startswith(places) for places in BEGIN_WITH)]
    ordered: list[pytest.Item] = []
    for worker in range(workers):
        share = (len(items) - len(ordered)) // (workers - worker)
        first = [item for part in longest[worker::workers] for item in part]
        room = max(0, share - len(first))
        ordered += first + others[:room]
        others = others[room:]
    return ordered + others


def pytest_unconfigure() -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)


def _skip_without_gpu(items: list[pytest.Item]) -> None:
    """Skip what needs a CUDA device where there is none."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=f"torch {torch.__version__} sees no CUDA device; `mobench doctor`"))


@pytest.fixture(autouse=True)
def _forget_methods_of_namespaces():
    """Methods of other packages are known once somebody asked for them; the next test has not."""
    yield
    for name in [name for name in registry._found["methods"] if ":" in name]:
        del registry._found["methods"][name]
