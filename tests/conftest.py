"""What holds for all tests: a slow machine fails none of them, since timing is for benchmarks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import settings

from mobench.store.folder import Store

# Worker processes import the functions of these tests by name.
sys.path.append(str(Path(__file__).parent))

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")
