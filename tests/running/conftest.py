from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mobench.environment import Environment
from mobench.record import Outcome, RunRecord
from mobench.spec import RunSpec
from mobench.store import Store

from . import trainers

# Worker processes import the functions of these tests by name.
sys.path.append(str(Path(__file__).parents[1]))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def make_record(spec: RunSpec, outcome: Outcome | None = None) -> RunRecord:
    environment = Environment({"python": "3.11.0"}, {"cpu": "abacus", "cores": 1}, None)
    started, finished = "2024-01-01T00:00:00.000+00:00", "2024-01-01T00:00:01.000+00:00"
    return RunRecord(spec, outcome or trainers.outcome(spec), None, environment, started, finished)
