"""How many workers there are by default: the cores that this process may use, not those of the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ASK = "from mobench.running.machine import usable_cores; print(usable_cores())"
IN_A_CONTAINER = 'mount --bind "$1" /sys/fs/cgroup && exec "$2" -c "$3"'


def said(*command: str | Path) -> int:
    return int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)


def test_affinity_counts() -> None:
    allowed = os.sched_getaffinity(0)
    pinned = f"import os; os.sched_setaffinity(0, {{{min(allowed)}}}); {ASK}"
    assert said(sys.executable, "-c", pinned) == 1
    assert said(sys.executable, "-c", ASK) <= len(allowed)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core cannot be limited to fewer")
@pytest.mark.parametrize(
    ("limited", "free"),
    [
        ({"cpu.max": "100000 100000"}, {"cpu.max": "max 100000"}),
        (
            {"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"},
            {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"},
        ),
    ],
    ids=["cgroup-2", "cgroup-1"],
)
def test_the_limit_of_a_container_counts(limited: dict[str, str], free: dict[str, str], tmp_path: Path) -> None:
    private = ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*private, "mount", "--bind", tmp_path, "/sys/fs/cgroup"], capture_output=True).returncode:
        pytest.skip("this user may not mount over the system's limits")
    for files, cores in ((limited, 1), (free, len(os.sched_getaffinity(0)))):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        assert said(*private, "sh", "-c", IN_A_CONTAINER, "sh", tmp_path, sys.executable, ASK) == cores
