"""The page of the interactive figure alone, and the Python methods' answers for two gradients."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from playwright.sync_api import Browser, Page

import mobench
from mobench.leaderboard.site.directions import DEGREES, PER_DECADE, REACH, all_tables, directions_page, directions_rows
from mobench.leaderboard.site.markers import marker_styles
from mobench.leaderboard.site.names import file_stem
from mobench.leaderboard.site.output import SiteFolder
from mobench.leaderboard.site.pages import ASSETS, Pages
from tests.leaderboard.browser import watched_page

FORM = "ws(form=penalty)"
KEYS = {name: file_stem(name) for name in ("auxinash", "cagrad", "famo", "mgda", "pcd", "pcgrad", "ws", FORM)}
"""The rows of the figure and their keys."""

SHAPE = (180 // DEGREES + 1, 2 * REACH + 1, 2)


def write_figure(folder: Path) -> Path:
    """Write the page with all shipped methods and a form of one."""
    site = SiteFolder(folder)
    pages = Pages(title="mobench", built="", version="", commit="")
    site.write("directions.html", directions_page(pages, directions_rows(all_tables([FORM, "unknown"]), site)))
    site.write("assets/methods.css", marker_styles([FORM]))
    for file in ASSETS.iterdir():
        site.write(f"assets/{file.name}", file.read_bytes())
    return folder / "directions.html"


@pytest.fixture
def page(browser: Browser, figure: Path) -> Iterator[Page]:
    with watched_page(browser) as page:
        page.goto(figure.as_uri())
        page.get_by_role("button", name="Show all methods").click()
        yield page


def read_tables(script: Path) -> dict[str, Any]:
    """Return what a data script holds, its tables as arrays."""
    literal = re.search(r'JSON\.parse\((".*")\)', script.read_text(encoding="utf-8"))
    assert literal is not None
    content: dict[str, Any] = json.loads(json.loads(literal[1]))
    content["tables"] = [np.frombuffer(b64decode(one), "<f4").reshape(SHAPE) for one in content["tables"]]
    return content


def gradients_at(turn: int, size: int) -> npt.NDArray[np.float64]:
    """Return g_1 and g_2 at a point of the grid, turned and scaled by whole steps."""
    angle, length = np.deg2rad(DEGREES * turn), 10 ** (size / PER_DECADE)
    return np.array([[1.0, 0.0], [length * np.cos(angle), length * np.sin(angle)]])


def python_direction(method: str, gradients: npt.NDArray[np.float64], **settings: Any) -> npt.NDArray[np.float64]:
    """Return the first direction of a run whose losses are as large as the gradients are long."""
    given = {"losses": np.linalg.norm(gradients, axis=1).tolist(), "lower_bounds": [0.0, 0.0], **settings}
    direction: npt.NDArray[np.float64] = mobench.combine(method, torch.from_numpy(gradients), **given).numpy()
    return direction
