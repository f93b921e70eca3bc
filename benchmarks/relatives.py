"""The picture of docs/relatives.md: `python -m benchmarks.relatives [FILE]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import mobench
from mobench.reporting.plots.style import house_style, method_styles

RELATIVES: dict[str, tuple[str, dict[str, Any]]] = {
    "PCD, τ = 0.5": ("pcd", {"tau": 0.5, "normalization": "none", "rescale": "none"}),
    "A-GEM (PCD, τ = 0)": ("pcd", {"tau": 0.0, "normalization": "none", "rescale": "none"}),
    "PNG": ("png", {}),
    "DBGD": ("dbgd", {}),
    "Bloop, w = 0.5": ("bloop", {"weight": 0.5}),
    "cosine gate": ("cosine-gate", {}),
    "MGDA": ("mgda", {}),
    "sum": ("ws", {"form": "penalty", "weight": 1.0}),
}
Scene = Sequence[tuple[float, float]]

SCENES: tuple[tuple[str, Scene], ...] = (
    ("Two gradients that conflict", [(0, 1.0), (130, 0.7)]),
    ("Three gradients", [(0, 1.0), (60, 0.5), (145, 0.9)]),
    ("Secondaries that nearly cancel", [(0, 1.0), (108, 0.8), (248, 0.7)]),
)
"""Angles in degrees and lengths, the primary first."""
LIMITS = {"xlim": (-1.5, 1.45), "ylim": (-0.85, 1.3)}


def directions(scene: Scene) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """Return the gradients and every relative's update, as they are, not brought to one length."""
    import torch

    angles, lengths = np.deg2rad([degrees for degrees, _ in scene]), np.array([length for _, length in scene])
    rows = lengths[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    found = {f"g{'₁₂₃'[number]}": row for number, row in enumerate(rows)}
    for label, (name, settings) in RELATIVES.items():
        found[label] = mobench.combine(name, torch.from_numpy(rows), **settings).numpy()
    return found


def picture() -> Figure:
    """Return the three scenes side by side."""
    with house_style():
        figure = Figure(figsize=(11.0, 3.6), layout="constrained")
        names = {label: name for label, (name, _) in RELATIVES.items()}
        looks = method_styles([*names.values(), *(f"{name}(τ=0)" for name in ("pcd",))])
        styles = {label: looks["pcd(τ=0)" if "A-GEM" in label else name] for label, name in names.items()}
        for axes, (title, scene) in zip(figure.subplots(1, len(SCENES)), SCENES, strict=True):
            for label, tip in directions(scene).items():
                if label in styles:
                    _arrow(axes, tip, styles[label].color, 1.3)
                    axes.plot(*tip, styles[label].marker, color=styles[label].color, markersize=6.5, clip_on=True)
                else:
                    _arrow(axes, tip, "#1a1a1a", 2.4)
                    axes.annotate(label, 1.16 * tip, ha="center", va="center")
            axes.set_title(title, loc="center")
            axes.set(**LIMITS, aspect="equal", xticks=[], yticks=[])
            for side in axes.spines.values():
                side.set_visible(False)
        shown = [Line2D([], [], color=style.color, marker=style.marker) for style in styles.values()]
        figure.legend(shown, list(styles), loc="outside lower center", ncols=4)
        return figure


def _arrow(axes: Axes, tip: np.ndarray[Any, np.dtype[np.float64]], color: str, width: float) -> None:
    style = {"arrowstyle": "-|>", "color": color, "lw": width, "shrinkA": 0.0, "shrinkB": 0.0}
    axes.annotate("", xy=(float(tip[0]), float(tip[1])), xytext=(0.0, 0.0), arrowprops=style, annotation_clip=False)


def main(file: Path) -> None:
    """Write the picture."""
    with house_style():
        picture().savefig(file, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/relatives.png"))
