"""Every part of `make peers` on real code at a tiny size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
import torch

from benchmarks.peers import (
    bandwidth,
    data,
    epoch,
    escape,
    hypervolume,
    lockstep,
    memory,
    networks,
    site,
    solvers,
    startup,
    step,
    suites,
    workers,
)
from benchmarks.peers.row import Row

TINY: dict[Any, Any] = {
    solvers: solvers.Size(exact_cases=3, peer_cases=1, timed_cases=2, ks=(2, 16)),
    escape: escape.Size(steps=2, rounds=1, ks=(2,), methods=("mgda",)),
    hypervolume: hypervolume.Size(rounds=2, points=6, ks=(2, 3)),
    bandwidth: bandwidth.Size(rounds=2, n=100_000, threads=(1, 2)),
    data: data.Size(batches=1, rounds=1, images=512),
    step: step.Size((step.Course("digits-cnn", 8, 2, threads=1),)),
    lockstep: lockstep.Size(rounds=2, runs=(2,), ks=(2,)),
    epoch: epoch.Size(rounds=1, network="mobilenet-v2", batch=12, steps=1),
    workers: workers.Size(rounds=1, seeds=1, epochs=1),
    networks: networks.Size(("mobilenet-v2",)),
    startup: startup.Size(rounds=2),
    suites: suites.Size((("synthetic", 90.0),), ("profile=quick", "seeds=1", "training.steps=3", "jobs=0")),
    site: site.Size((40,), "quick", ("pcd", "ws")),
}


@pytest.fixture(autouse=True)
def same_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("module", TINY, ids=lambda module: module.PART)
def test_a_part_gives_finite_rows_with_the_command_that_prints_them(module: Any) -> None:
    rows: list[Row] = list(module.rows(TINY[module]))
    assert rows
    assert len({row.what for row in rows}) == len(rows)
    for row in rows:
        assert row.part == module.PART
        assert row.command == f"make peers only={module.PART}"
        assert math.isfinite(row.measured)
        assert row.measured >= 0.0
        if row.low is not None and row.high is not None:
            assert row.low <= row.measured <= row.high


def test_every_solver_meets_its_accuracy_even_where_active_sets_cannot_be_enumerated() -> None:
    rows = list(solvers.rows(solvers.Size(exact_cases=3, peer_cases=0, timed_cases=1, ks=(16,))))
    exact = [row for row in rows if row.unit == ""]
    assert len(exact) == 6
    assert all(row.met for row in exact)


def test_steps_are_measured_for_every_contestant_and_both_k() -> None:
    whats = [row.what for row in step.rows(step.Size((step.Course("digits-cnn", 8, 1, threads=1),)))]
    for k in (2, 3):
        for name in ("mobench", "separate passes", "torchjd", "torchjd, frugal"):
            assert sum(what.startswith(f"digits-cnn 8 K={k} {name}, 1 thread:") for what in whats) == 1


def test_closed_forms_need_less_memory_than_separate_passes() -> None:
    size = memory.Size(("resnet-narrow",), ("mobench", "separate passes"), ks=(2,))
    ours, theirs = memory.rows(size)
    assert ours.measured < theirs.measured
    assert theirs.measured >= 2.0  # a K×n matrix and the direction


def test_a_run_that_diverged_is_no_failure_of_the_suite() -> None:
    overflow = "Traceback\nmobench.errors.NonFiniteError: losses are not finite"
    runs = pd.DataFrame(
        {"id": list("abc"), "status": ["done", "failed", "failed"], "error": [math.nan, overflow, "ValueError: no"]}
    )
    _, failed = suites.counts("three runs", 1.0, runs, 90.0)
    assert (failed.measured, failed.met) == (1.0, False)
    _, failed = suites.counts("two runs", 1.0, runs[:2], 90.0)
    assert (failed.measured, failed.met) == (0.0, True)


def test_the_least_time_counts_every_gradient_once() -> None:
    assert bandwidth.gram_bytes(3, 10) == 3 * 10 * 4
    assert bandwidth.combination_bytes(2, 10) == (2 + 1) * 10 * 4


def test_what_is_timed_as_gram_matrix_is_the_gram_matrix() -> None:
    rows = [torch.randn(30_000, dtype=torch.float32) for _ in range(3)]
    exact = torch.stack(rows).double()
    assert bandwidth.gram(rows) == pytest.approx((exact @ exact.T).numpy(), rel=1e-6, abs=1e-3)


def test_what_is_timed_as_combination_overwrites_the_first_gradient() -> None:
    first, second = torch.ones(600_001), torch.full((600_001,), 1e9)
    assert bandwidth.combine([first, second]) is first
    torch.testing.assert_close(first, torch.full((600_001,), 2.0), rtol=1e-6, atol=0.0)


def test_hypervolume_by_slices_on_two_known_boxes() -> None:
    points = torch.tensor([[0.5, 0.0], [0.0, 0.5]], dtype=torch.float64).numpy()
    assert hypervolume.by_slices(points, torch.ones(2, dtype=torch.float64).numpy()) == 0.75
