"""Every method's marker in its fixed colour, as in all plots, for names in tables and lists."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from markupsafe import Markup
from matplotlib.markers import MarkerStyle

from mobench.core.registry import methods
from mobench.reporting.plots.style import method_styles

from .names import file_stem

SIZE = 10.0


def markers(names: Iterable[str]) -> dict[str, Markup]:
    """Return a small picture for every name; it repeats what the name says, so it is hidden from screen readers."""
    return {name: Markup(_svg(mark_class(name), look.marker)) for name, look in method_styles(names).items()}


def marker_styles(names: Iterable[str]) -> str:
    """Return the style sheet with the colours of these names and of all methods, on light and on dark pages."""
    lines = ["/* The fixed colour of every method, light and dark. */", ".marker { fill: var(--method); }"]
    for name, look in method_styles([*names, *methods()]).items():
        lines.append(f".{mark_class(name)} {{ --method: light-dark({look.color}, {look.on_dark}); }}")
    return "\n".join(lines) + "\n"


def mark_class(name: str) -> str:
    """Return the class of elements in a method's colour, which is `--method` there."""
    return f"mark-{file_stem(name).replace('.', '-')}"


def _svg(class_: str, shape: str) -> str:
    marker = MarkerStyle(shape)
    path = marker.get_path().transformed(marker.get_transform())
    polygons = [np.asarray(polygon, dtype=np.float64) for polygon in path.to_polygons(closed_only=False)]
    reach = max(float(np.abs(polygon).max()) for polygon in polygons)
    scale = 0.92 * (SIZE / 2) / reach
    parts = [
        "M" + "L".join(f"{SIZE / 2 + scale * x:.1f} {SIZE / 2 - scale * y:.1f}" for x, y in polygon) + "Z"
        for polygon in polygons
    ]
    return (
        f'<svg class="marker {class_}" viewBox="0 0 {SIZE:g} {SIZE:g}" aria-hidden="true" focusable="false">'
        f'<path d="{"".join(parts)}"/></svg>'
    )
