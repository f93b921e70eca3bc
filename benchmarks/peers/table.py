"""The rows as text of 80 columns, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

from benchmarks.peers.row import Row
from mobench.store.record import Environment

WIDTH = 80
_WHAT, _ASKED, _MEASURED, _INTERVAL = 42, 8, 9, 15


def machine_line(environment: Environment) -> str:
    """Say where the figures come from."""
    hardware, versions = environment.hardware, environment.versions
    memory = f"{hardware['memory_bytes'] / 2**30:.0f} GB"
    line = f"{hardware['cpu']}, {hardware['cores']} cores, {memory}; torch {versions['torch']}"
    return fill(line, WIDTH)


def heading() -> str:
    return f"{'':{_WHAT}} {'asked':>{_ASKED}} {'measured':>{_MEASURED}} {'quartiles':^{_INTERVAL}}  "


def line(row: Row) -> str:
    """Return one row; what misses the asked figure ends with an exclamation mark."""
    asked = asked_text(row)
    interval = "" if row.low is None or row.high is None else f"{number(row.low)} – {number(row.high)}"
    mark = "!" if row.met is False else ""
    name = row.what if len(row.what) <= _WHAT else row.what[: _WHAT - 1] + "…"
    shown = f"{number(row.measured)} {row.unit}".strip()
    return f"{name:<{_WHAT}} {asked:>{_ASKED}} {shown:>{_MEASURED}} {interval:^{_INTERVAL}} {mark}".rstrip()


def asked_text(row: Row) -> str:
    """Return what a row is held to, empty where nothing is asked."""
    return "" if row.asked is None else f"{row.asked.sense} {number(row.asked.value)}"


def number(value: float) -> str:
    """Return three or four digits, whatever the size."""
    if value != value or abs(value) == float("inf"):
        return str(value)
    if value and (abs(value) < 1e-3 or abs(value) >= 1e6):
        return f"{value:.1e}".replace(".0e", "e")
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def closing(rows: Sequence[Row]) -> str:
    held = [row for row in rows if row.met is not None]
    missed = [row for row in held if not row.met]
    return f"{len(held) - len(missed)} of {len(held)} asked figures are met" + (
        "; a line with ! is not" if missed else ""
    )


def document(rows: Sequence[Row], environment: Environment, size: str, taken: str) -> dict[str, Any]:
    """Return everything as plain values."""
    return {
        "schema": 1,
        "taken": taken,
        "size": size,
        "versions": dict(environment.versions),
        "hardware": dict(environment.hardware),
        "code": None if environment.code is None else dict(environment.code),
        "rows": [row.as_dict() for row in rows],
    }
