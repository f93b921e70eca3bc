"""What is measured of methods in another process: it comes back without torch, and its end is one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mobench.errors import UserError
from mobench.leaderboard.site.measuring import measuring_apart

READS = """
import pickle, sys
from mobench.conformance import Finding, conforms
from mobench.leaderboard.site.cards import Battery, method_card
found = pickle.loads(pickle.dumps(Battery((Finding(True, 1.0, "it holds", "a property", True),))))
card = method_card("ws", found)
assert card.conforms and card.findings == found.findings
assert "torch" not in sys.modules
"""


def test_what_was_measured_elsewhere_is_shown_without_torch() -> None:
    subprocess.run([sys.executable, "-c", READS], check=True)


def test_a_plugin_that_ends_the_process_of_measurements_ends_no_other(tmp_path: Path) -> None:
    plugin = tmp_path / "leaves.py"
    plugin.write_text("import os\nos._exit(0)\n")
    with (
        measuring_apart([str(plugin)]) as measure,
        pytest.raises(UserError, match="the process in which methods are measured ended before it was done"),
    ):
        measure({"ws": "ws"})()
