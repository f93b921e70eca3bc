"""A page with nothing but the interactive figure, and the Python methods' answers for two gradients."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Page

from mobench.core.method import Step, checked_weights
from mobench.core.registry import find_method
from tests.leaderboard.browser import watched_page

ROOT = Path(__file__).parents[2] / "leaderboard"
SCRIPTS = ("directions.js", "directions-marks.js", "directions-picture.js", "directions-view.js")
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'"

Case = dict[str, Any]
SHIPPED = ("auxinash", "cagrad", "famo", "mgda", "pcd", "pcgrad", "ws")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A bare page with the figure, under a policy that forbids inline script and style."""
    folder = tmp_path_factory.mktemp("figure")
    for name in (*SCRIPTS, "directions.css"):
        shutil.copy(ROOT / "assets" / name, folder)
    loader = jinja2.FileSystemLoader(ROOT / "templates")
    figure = jinja2.Environment(loader=loader, autoescape=True).get_template("directions.html").render()
    scripts = "".join(f'<script defer src="{name}"></script>' for name in SCRIPTS)
    (folder / "scheme.css").write_text(":root { color-scheme: light dark; }", encoding="utf-8")
    page = folder / "index.html"
    page.write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Directions</title>'
        f'<meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<link rel="stylesheet" href="scheme.css"><link rel="stylesheet" href="directions.css">'
        f"{scripts}</head><body>{figure}</body></html>",
        encoding="utf-8",
    )
    return page.as_uri()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with watched_page(browser) as page:
        page.goto(address)
        yield page


class _Plane:
    """Two gradients whose inner products are taken in the order in which the page takes them."""

    def __init__(self, rows: list[list[float]]) -> None:
        self.rows = rows

    def gram(self) -> np.ndarray:
        return np.array([[a[0] * b[0] + a[1] * b[1] for b in self.rows] for a in self.rows])

    def gradients(self) -> torch.Tensor:
        return torch.tensor(self.rows, dtype=torch.float64)


def python_weights(case: Case) -> np.ndarray:
    """Return the method's weights on the same Gram matrix, at the first step of a run."""
    method = find_method(case["method"])(**case["settings"])
    method.reset(2, np.random.default_rng(0))
    return checked_weights(method, Step(np.array(case["losses"]), _Plane(case["gradients"]), np.zeros(2)))
