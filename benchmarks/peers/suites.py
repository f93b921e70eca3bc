"""Whole suites: how long they take on this machine, and how exact their known answers come out.

Each suite runs as a user runs it, in a process of its own, into an empty results folder.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.peers.row import Asked, Row
from mobench.results import results_table
from mobench.store import Store

PART = "suites"
COMMAND = "make peers only=suites size=all"
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


SIZES = {
    "quick": Size((("synthetic", 90.0),), ("profile=quick",)),
    "default": Size((("synthetic", 90.0),)),
    "all": Size(),
}


def rows(size: Size) -> Iterator[Row]:
    """Yield the seconds of each suite and, for the synthetic one, its distance to the known answers."""
    for suite, limit in size.seconds:
        with tempfile.TemporaryDirectory(prefix="mobench-peers-") as folder:
            command = [sys.executable, "-m", "mobench", "run", f"suite={suite}", f"results={folder}", *size.settings]
            started = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            taken = time.perf_counter() - started
            table = results_table(Store(Path(folder)).records())
            what = f"suite={suite} {' '.join(size.settings)}".strip()
            yield Row(PART, f"{what}, {len(table):,} runs", taken, "s", COMMAND, Asked("≤", limit))
            failed = float((table["status"] != "done").sum())
            yield Row(PART, f"{what}: failed runs", failed, "", COMMAND, Asked("≤", 0))
            yield from synthetic(table) if suite == "synthetic" else digits(table)


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


def digits(table: pd.DataFrame) -> Iterator[Row]:
    """Yield what PCD's best setting reaches on digits, as means over seeds."""
    pcd = table[table["method"] == "pcd"]
    for column, name, least in (("accuracy", "dense", 98.0), ("accuracy@90", "90 % removed", 97.5)):
        best = pcd.groupby("configuration")[column].mean().max()
        percent = float(best) * (100.0 if best <= 1.0 else 1.0)
        yield Row(PART, f"digits: PCD's best setting, {name}", percent, "%", COMMAND, Asked("≥", least))
