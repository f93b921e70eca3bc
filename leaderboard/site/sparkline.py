"""A small line of values over time, drawn into the page; each point says what it is when pointed at."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

WIDTH, HEIGHT, MARGIN = 160, 32, 4


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
