"""`kill -9` at random instants: a few in the ordinary tests, 200 by `make faults`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.kills import SUITES, check


@pytest.mark.parametrize("suite", SUITES)
def test_killed_again_and_again_a_suite_ends_as_if_undisturbed(suite: str, tmp_path: Path) -> None:
    assert sum(check(tmp_path, suite, kills=3, seed=1).values()) == 3


@pytest.mark.faults
@pytest.mark.parametrize("suite", SUITES)
def test_a_hundred_kills(suite: str, tmp_path: Path) -> None:
    counts = check(tmp_path, suite, kills=100, seed=2)
    print(suite, counts)
    assert sum(counts.values()) == 100 and all(counts.values())
