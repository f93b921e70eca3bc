from __future__ import annotations

from mobench.core.outcome import Outcome
from mobench.core.spec import RunSpec
from mobench.store.record import Environment, RunRecord
from tests.running import trainers


def make_record(spec: RunSpec, outcome: Outcome | None = None) -> RunRecord:
    environment = Environment({"python": "3.11.0"}, {"cpu": "abacus", "cores": 1}, None)
    started, finished = "2024-01-01T00:00:00.000+00:00", "2024-01-01T00:00:01.000+00:00"
    return RunRecord(spec, outcome or trainers.outcome(spec), None, environment, started, finished)
