"""The picture of the front page: two gradients, and the step that each method of the paper's figures makes of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mobench.core.method import Vector
from mobench.core.registry import methods
from mobench.reporting.pictures import Files, Picture, Render, files_of
from mobench.reporting.plots import house_style
from mobench.reporting.plots.style import method_styles

from .directions import FIRST, first_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCENES = (("They agree", 50, 1.0), ("They conflict, one is longer", 130, 1.7), ("They cancel", 180, 1.0))
"""A title, the angle between the gradients in degrees, and the second gradient's length; the first has length 1."""
GRADIENTS = ("g₁", "g₂")
ABOUT = (
    "Two losses give two gradients, g₁ and g₂. Each method makes one step of them (coloured; all drawn at one length). "
    "Which one serves you? That is measured here."
)
_REACH = 1.25
_NONE = 1e-9
"""A direction shorter than this is no step."""


def begin_opening(render: Render) -> Callable[[], list[Picture]]:
    """Draw the picture; the function waits for it."""
    frame = directions()
    files = render(partial(_files, frame))
    return lambda: [Picture("opening", ABOUT, *files(), frame)]


def _files(frame: pd.DataFrame) -> Files:
    with house_style():
        return files_of(_drawn(frame))


def directions() -> pd.DataFrame:
    """Return the gradients and every method's direction in each scene; a direction has length 1, or 0 for no step."""
    rows: list[tuple[str, str, float, float]] = []
    for title, degrees, length in SCENES:
        angle = np.deg2rad(degrees)
        gradients = np.array([[1.0, 0.0], [length * np.cos(angle), length * np.sin(angle)]]).round(15)
        rows += [(title, name, *gradient) for name, gradient in zip(GRADIENTS, gradients, strict=True)]
        for name in sorted(FIRST & methods().keys()):
            direction = first_weights(methods()[name](), np.array([1.0, length]), gradients) @ gradients
            size = float(np.linalg.norm(direction))
            rows.append((title, name, *(direction / size if size > _NONE else np.zeros(2))))
    return pd.DataFrame(rows, columns=["scene", "arrow", "x", "y"])


def _drawn(frame: pd.DataFrame) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    known = {name: methods()[name] for name in frame["arrow"].unique() if name not in GRADIENTS}
    looks = method_styles(known)
    figure = Figure(figsize=(10.5, 3.1), layout="constrained")
    for axes, (title, arrows) in zip(figure.subplots(1, len(SCENES)), frame.groupby("scene", sort=False), strict=True):
        tips = arrows.set_index("arrow")[["x", "y"]]
        longest = float(np.linalg.norm(tips.loc[list(GRADIENTS)], axis=1).max())
        for name, tip in zip(tips.index, tips.to_numpy(), strict=True):
            if name in GRADIENTS:
                end = tip * _REACH / longest
                _arrow(axes, end, "#1a1a1a", 2.2)
                axes.annotate(name, 1.12 * end, ha="center", va="center")
            else:
                _arrow(axes, tip, looks[name].color, 1.6)
                axes.plot(*tip, looks[name].marker, color=looks[name].color, markersize=7)
        axes.set(title=title, xlim=(-1.55, 1.55), ylim=(-0.25, 1.4), aspect="equal", xticks=[], yticks=[])
        for side in axes.spines.values():
            side.set_visible(False)
    shown = [Line2D([], [], color=looks[name].color, marker=looks[name].marker) for name in known]
    figure.legend(shown, [known[name].title for name in known], loc="outside lower center", ncols=len(known))
    return figure


def _arrow(axes: Axes, tip: Vector, color: str, width: float) -> None:
    style = {"arrowstyle": "-|>", "color": color, "lw": width, "shrinkA": 0.0, "shrinkB": 0.0}
    axes.annotate("", xy=(float(tip[0]), float(tip[1])), xytext=(0.0, 0.0), arrowprops=style)
