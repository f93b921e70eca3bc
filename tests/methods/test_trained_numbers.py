"""Methods that own trainable numbers: part of their state, kept through a real kill, and counted as their own time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mobench.core.registry import methods
from mobench.core.trained import Trained
from tests.methods import killed_run
from tests.methods.method_steps import started

RUNS = {
    "gradnorm": {},
    "uw": {"lr": 0.1},
    "famo": {},
    "lagrangian": {"share": 0.01, "dual_lr": 0.5},
    "augmented-lagrangian": {"share": 0.01, "every": 5},
    "auxinash": {"powers": "learned", "power_every": 3},
    "moco": {},
    "dwa": {"period": 4},
    "modo": {},
    "sdmgrad": {"batches": "two"},
    "bloop": {"rho": 0.3},
    "pcd": {"schedule": "annealed"},
}


def test_every_method_that_trains_numbers_is_looked_at():
    owners = {name for name in methods() if any(isinstance(part, Trained) for part in vars(started(name, 2)).values())}
    assert owners == {"gradnorm", "uw", "famo", "lagrangian"} and owners <= {*RUNS}


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """Train all of them in one process whose children are killed, and return what each ended with."""
    script, folder = Path(killed_run.__file__), tmp_path_factory.mktemp("killed")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(script.parents[2])}
    done = subprocess.run(
        [sys.executable, str(script), str(folder)], input=json.dumps([*RUNS.items()]), env=environment,
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(zip(RUNS, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("name", RUNS)
def test_a_killed_run_goes_on_bit_by_bit_with_the_method_s_own_numbers(ends, name):
    found = ends[name]
    assert found["killed"] and found["saved"]
    whole, resumed = found["whole"], found["resumed"]
    assert whole["steps"] == resumed["steps"] == killed_run.STEPS, "the steps before the kill count too"
    assert (whole["weights"], whole["state"], whole["losses"]) == (
        resumed["weights"], resumed["state"], resumed["losses"]
    )  # fmt: skip
    assert whole["fresh"] != whole["state"], "something was learned"
    assert whole["method_seconds"] > 0.0, "its own steps are timed"
