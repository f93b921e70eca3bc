"""Whole suites: how long they take on this machine, and how exact their known answers come out.

Each suite runs as a user runs it, in a process of its own, into an empty results folder.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.peers.row import Asked, Row
from mobench.scoring.runs import diverged_ids, results_table
from mobench.store.folder import Store

PART = "suites"
COMMAND = "make peers only=suites"
MARGINS = {2: 1.0, 3: 0.705, 4: 0.572, 5: 0.491, 6: 0.434, 7: 0.392, 8: 0.358}
"""The expected Farkas margin for each K."""
PLANE = {
    ("ws", "upper"): -1.8608,
    ("cagrad", "upper"): -1.8608,
    ("mgda", "upper"): -1.943,
    ("mgda", "outer"): -1.951,
    ("mgda", "lower"): -1.585,
    ("pcgrad", "upper"): -1.963,
    ("pcgrad", "outer"): -1.980,
    ("pcgrad", "lower"): -1.729,
    ("famo", "upper"): -2.0,
    ("pcd", "upper"): 2.0,
}
"""Where methods end in the plane, by start."""


@dataclass(frozen=True)
class Size:
    """What is run: suites with their limits in seconds, and further settings for all of them."""

    seconds: tuple[tuple[str, float], ...] = (("synthetic", 90.0), ("compression", 180.0))
    settings: tuple[str, ...] = ()
    cifar: bool = False
    """Whether CIFAR-10 is trained on as well, where `root` says that it is there."""
    root: Path | None = None


SIZES = {"quick": Size((("synthetic", 90.0),), ("profile=quick",)), "default": Size(), "all": Size(cifar=True)}
CIFAR = ("suite=compression", "profile=cifar-small", "methods=pcd,ws,mgda")


def rows(size: Size) -> Iterator[Row]:
    """Yield the seconds of each suite, and its distance to known answers or what it reaches."""
    for suite, limit in size.seconds:
        with ran(f"suite={suite}", *size.settings) as (taken, table):
            yield from counts(" ".join((f"suite={suite}", *size.settings)), taken, table, limit)
            yield from synthetic(table) if suite == "synthetic" else digits(table)
    if size.cifar and size.root is not None:
        with ran(*CIFAR, f"data.root={size.root}") as (taken, table):
            yield from counts("CIFAR-10, cifar-small, 3 methods", taken, table, 3600.0)


@contextmanager
def ran(*settings: str) -> Iterator[tuple[float, pd.DataFrame]]:
    """Run a suite into an empty folder, and give its seconds and its table."""
    with tempfile.TemporaryDirectory(prefix="mobench-peers-") as folder:
        command = [sys.executable, "-m", "mobench", "run", f"results={folder}", *settings]
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        yield time.perf_counter() - started, results_table(Store(Path(folder)).records())


def counts(what: str, taken: float, table: pd.DataFrame, limit: float) -> Iterator[Row]:
    """Yield how long a suite took and how many of its runs failed otherwise than by diverging.

    That losses or gradients leave the finite numbers is a result of the method.
    """
    yield Row(PART, f"{what}, {len(table):,} runs", taken, "s", COMMAND, Asked("≤", limit))
    failed = (table["status"] != "done").sum() - len(diverged_ids(table))
    yield Row(PART, f"{what}: failed, not diverged", float(failed), "", COMMAND, Asked("≤", 0))


def synthetic(table: pd.DataFrame) -> Iterator[Row]:
    """Yield the largest distances of the synthetic suites to what is known in closed form."""
    wells = table[table["problem"] == "double-well@1"]
    pinned = wells[wells["method"].isin(["mgda", "cagrad"]) & (wells["problem.spread"] == 0.0)]
    expected = 1.536 * np.sqrt(pinned["problem.k"].to_numpy(dtype=float) - 1.0)
    relative = np.abs(pinned["primary_gradient_norm"].to_numpy(dtype=float) / expected - 1.0).max()
    yield Row(PART, "escape: MGDA, CAGrad to 1.536·√(K−1)", float(relative), "", COMMAND, Asked("≤", 1e-6))
    norm = wells.loc[wells["method"] == "pcd", "primary_gradient_norm"].max()
    yield Row(PART, "escape: PCD, largest ‖∇L1‖", float(norm), "", COMMAND, Asked("≤", 1e-10))
    plane = table[table["problem"] == "two-wells@1"].set_index(["method", "problem.start"])["x"]
    ends = max(abs(float(plane[key]) - value) for key, value in PLANE.items() if key in plane.index)
    yield Row(PART, "plane: largest distance of an end point", ends, "", COMMAND, Asked("≤", 1e-3))
    random = table[table["problem"] == "random-gradients@1"]
    yield Row(
        PART, "feasibility: infeasible checks", float(random["total/infeasible"].sum()), "", COMMAND, Asked("≤", 0)
    )
    margins = random.groupby("problem.k")["farkas_margin"].mean()
    margin = max(abs(float(margins[k]) - value) for k, value in MARGINS.items() if k in margins.index)
    yield Row(PART, "feasibility: margins to the expected", margin, "", COMMAND, Asked("≤", 0.02))
    free = table[(table["problem"] == "quadratic@1") & (table.get("method.epsilon_form") == "relative")]
    ends_of_seed = free.groupby("seed")["secondary"]
    spread = float((ends_of_seed.max() - ends_of_seed.min()).max())
    yield Row(PART, "scale-invariance: PCD's spread, ε-free", spread, "", COMMAND, Asked("≤", 1e-9))
    summed = table[(table["problem"] == "quadratic@1") & (table["method"] == "ws")].groupby("seed")["secondary"]
    yield Row(PART, "scale-invariance: WS's spread", float((summed.max() - summed.min()).median()), "", COMMAND)


def digits(table: pd.DataFrame) -> Iterator[Row]:
    """Yield what PCD reaches on digits, as means over seeds, in the setting with the best validation accuracy."""
    pcd = table[table["method"] == "pcd"]
    for column, name, least in (("accuracy", "dense", 98.0), ("accuracy@90", "90 % removed", 97.5)):
        means = pcd.groupby("configuration")[[column, f"selection_{column}"]].mean()
        reached = float(means.sort_values(f"selection_{column}")[column].iloc[-1])
        yield Row(PART, f"digits: PCD, {name}", reached, "%", COMMAND, Asked("≥", least))
