"""The page of speed: what methods cost, the code beside other libraries, and its history from asv's records."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from markupsafe import Markup, escape

from .documents import PAGES
from .pages import Pages
from .pictures import Shown
from .speed_records import Machine, Series

PAGE, DATA = "speed/index.html", "speed/records.json"
WIDTH, HEIGHT, MARGIN = 160, 32, 4
"""Pixels of a line of values over time."""
SCALES = {
    "seconds": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes")),
}


@dataclass(frozen=True)
class SpeedRow:
    """One benchmark as the page shows it."""

    name: str
    value: float
    """The newest, in the benchmark's unit, to sort by."""
    text: str
    ratio: str
    """The newest over the one before it; empty for a single one."""
    since: str
    """The newest over the oldest."""
    line: Markup
    commits: int


def speed_page(
    pages: Pages,
    machines: Sequence[Machine],
    peers: Mapping[str, Any] | None,
    picture: Shown | None,
    costs: Mapping[str, Any] | None,
) -> str:
    """Return the page."""
    return pages.render(
        "speed.html",
        PAGE,
        "Speed",
        costs=costs,
        about=PAGES["performance.md"],
        machines=[{"name": machine.name, "layers": list(_layers(machine)), **_span(machine)} for machine in machines],
        data=DATA,
        peers=peers,
        picture=picture,
    )


def records_file(machines: Sequence[Machine]) -> bytes:
    """Return all values as JSON."""
    return orjson.dumps(
        [
            {
                "machine": machine.name,
                "benchmark": series.benchmark,
                "parameters": series.parameters,
                "unit": series.unit,
                "commits": [point.commit for point in series.points],
                "dates": [point.date.isoformat() for point in series.points],
                "values": [point.value for point in series.points],
            }
            for machine in machines
            for series in machine.series
        ]
    )


def spelled(value: float, unit: str) -> str:
    """Spell a value with three digits in the unit that suits its size."""
    for scale, name in SCALES.get(unit, ()):
        if value >= scale:
            return f"{value / scale:.3g} {name}" if value < 999.5 * scale else f"{value / scale:,.0f} {name}"
    return f"{value:,.0f} {unit}" if abs(value) >= 999.5 else f"{value:.3g} {unit}"


def _layers(machine: Machine) -> Iterator[dict[str, Any]]:
    for layer, series in itertools.groupby(machine.series, key=lambda one: one.layer):
        yield {"name": layer, "rows": [_row(one) for one in series]}


def _row(series: Series) -> SpeedRow:
    values = [point.value for point in series.points]
    labels = [f"{point.commit}, {point.date:%Y-%m-%d}: {spelled(point.value, series.unit)}" for point in series.points]
    return SpeedRow(
        name=series.name,
        value=values[-1],
        text=spelled(values[-1], series.unit),
        ratio=_ratio(values[-1], values[-2]) if len(values) > 1 else "",
        since=_ratio(values[-1], values[0]) if len(values) > 1 else "",
        line=sparkline(values, labels),
        commits=len(values),
    )


def _ratio(new: float, old: float) -> str:
    return f"{new / old:.2f}" if old else ""


def _span(machine: Machine) -> dict[str, Any]:
    points = [point for series in machine.series for point in series.points]
    first, last = min(points, key=lambda point: point.date), max(points, key=lambda point: point.date)
    return {"first": first, "last": last, "commits": len({point.commit for point in points})}


def sparkline(values: Sequence[float], labels: Sequence[str]) -> Markup:
    """Draw values from left to right, from zero to the highest, so that a line's height is its size."""
    top = max(values) or 1.0
    step = (WIDTH - 2 * MARGIN) / max(1, len(values) - 1)
    places = [
        (MARGIN + step * number, HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * max(0.0, value) / top)
        for number, value in enumerate(values)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"><title>{escape(label)}</title></circle>'
        for (x, y), label in zip(places, labels, strict=True)
    )
    return Markup(
        f'<svg class="spark" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" aria-hidden="true" '
        f'focusable="false"><polyline points="{line}"/>{dots}</svg>'
    )
