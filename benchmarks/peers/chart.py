"""The ratios of the table as a picture: one dot each, with its quartiles and what is asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.row import Row


def close_together(rows: Sequence[Row]) -> bool:
    """Say whether the ratios are within a factor of ten, so that the axis needs numbers between powers of ten."""
    values = [row.measured for row in rows]
    return max(values) < 10 * min(values)


def draw(rows: Sequence[Row], out: Path) -> list[Path]:
    """Write the ratios as SVG and PNG, one panel per part, on a logarithmic axis; return the files."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import seaborn

    from mobench.reporting.plots.style import house_style

    shown = [row for row in rows if row.unit == "×" and row.measured > 0]
    parts = list(dict.fromkeys(row.part for row in shown))
    if not parts:
        return []
    heights = [sum(row.part == part for row in shown) for part in parts]
    with house_style():
        figure, panels = plt.subplots(
            len(parts),
            1,
            figsize=(8.0, 0.8 * len(parts) + 0.21 * sum(heights)),
            gridspec_kw={"height_ratios": [height + 1 for height in heights]},
            layout="constrained",
            squeeze=False,
        )
        for part, panel in zip(parts, panels[:, 0], strict=True):
            members = [row for row in shown if row.part == part]
            names = [row.what for row in members]
            seaborn.pointplot(
                x=[row.measured for row in members], y=names, ax=panel, linestyle="none", color="#2b5f8a", markersize=4
            )
            for place, row in enumerate(members):
                if row.low is not None and row.high is not None:
                    panel.plot([row.low, row.high], [place, place], color="#2b5f8a", linewidth=1.4)
                if row.asked is not None:
                    panel.plot(row.asked.value, place, marker="|", markersize=11, color="#b81800", linestyle="none")
            panel.set(xscale="log", title=part, xlabel="", ylabel="")
            panel.tick_params(axis="y", labelsize=7)
            panel.xaxis.set_major_formatter("{x:g}")
            panel.xaxis.set_minor_formatter("{x:g}" if close_together(members) else "")
            panel.grid(True, axis="x", which="major")
        panels[-1, 0].set_xlabel("ratio; line: quartiles, red mark: asked")
        files = [out / "peers.svg", out / "peers.png"]
        for file in files:
            figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)
        plt.close(figure)
    return files
