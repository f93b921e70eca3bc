"""The interactive figure in a real browser: dragging, keys, knobs, examples, what it says, narrow screens."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Page

from mobench.reporting.plots.style import METHODS
from tests.leaderboard.browser import browser, watched_page
from tests.leaderboard.figure import SHIPPED, address, page, python_weights

__all__ = ["address", "browser", "page"]


def cells(page: Page, key: str) -> list[str]:
    return page.locator(f'tr[data-row="{key}"] td').all_inner_texts()


def arrow(page: Page, key: str) -> tuple[float, float]:
    line = page.locator(f'[data-arrow="{key}"]')
    return float(line.get_attribute("x2") or "nan"), float(line.get_attribute("y2") or "nan")


def status(page: Page, pattern: str) -> str:
    """Wait until the live region says what is expected."""
    page.wait_for_function(
        "pattern => new RegExp(pattern).test(document.querySelector('[role=status]').textContent)", arg=pattern
    )
    return page.inner_text("[role=status]")


def centre(page: Page, tip: int) -> tuple[float, float]:
    box = page.locator(f'[data-tip="{tip}"] .tip').bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_colours_and_markers_are_those_of_the_plots(page: Page) -> None:
    drawn = page.evaluate("mobenchMarks.ENTRIES.map(({key, marker}) => [key, marker])")
    assert dict(drawn) == {name: style.marker for name, style in METHODS.items()}
    assert page.locator("[data-arrow]").count() == len(METHODS)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for name, style in METHODS.items():
            wanted = style.color if scheme == "light" else style.on_dark
            red, green, blue = (int(wanted[start : start + 2], 16) for start in (1, 3, 5))
            row = page.locator(f'tr[data-row="{name}"] .marker')
            assert row.evaluate("one => getComputedStyle(one).fill") == f"rgb({red}, {green}, {blue})"
            line = page.locator(f'[data-arrow="{name}"]')
            assert line.evaluate("one => getComputedStyle(one).stroke") == f"rgb({red}, {green}, {blue})"


def test_the_table_shows_what_the_methods_return(page: Page) -> None:
    gradients = torch.tensor([[1.6, 0.3], [-0.9, 1.1]], dtype=torch.float64)
    for name in SHIPPED:
        weights = python_weights({"method": name, "gradients": gradients.tolist(), "settings": {}, "losses": [1, 1]})
        direction = weights @ gradients.numpy()
        length = float(np.linalg.norm(direction))
        cosines = gradients.numpy() @ direction / length / np.linalg.norm(gradients.numpy(), axis=1)
        shown = [float(text.replace("−", "-")) for text in cells(page, name)[:5]]
        np.testing.assert_allclose(shown, [*weights, length, *cosines], rtol=6e-3)
        np.testing.assert_allclose(arrow(page, name), direction * [100, -100], rtol=1e-9)


def test_a_tip_can_be_dragged(page: Page) -> None:
    before = arrow(page, "mgda")
    x, y = centre(page, 1)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y - 60, steps=4)
    page.mouse.up()
    assert centre(page, 1) == pytest.approx((x + 30, y - 60), abs=1.5)
    assert arrow(page, "mgda") != before
    after = centre(page, 1)
    page.mouse.move(x, y)  # no button is down: the tip stays
    assert centre(page, 1) == after
    status(page, r"g₁ = \((?!1\.6, 0\.3)")


def test_a_tip_can_be_dragged_by_touch(browser: Browser, address: str) -> None:
    with watched_page(browser, width=380, touch=True) as page:
        page.goto(address)
        page.locator(".directions-plane").scroll_into_view_if_needed()
        x, y = centre(page, 2)
        session = page.context.new_cdp_session(page)
        for kind, points in (
            ("touchStart", [{"x": x, "y": y}]),
            ("touchMove", [{"x": x + 20, "y": y + 30}]),
            ("touchMove", [{"x": x + 40, "y": y + 60}]),
            ("touchEnd", []),
        ):
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            page.wait_for_timeout(50)  # a finger moves slower than frames are drawn
        assert centre(page, 2) == pytest.approx((x + 40, y + 60), abs=1.5)


def test_a_tip_can_be_moved_by_keys(page: Page) -> None:
    tip = page.locator('[data-tip="2"]')
    tip.focus()
    assert "−0.9, 1.1" in (tip.get_attribute("aria-valuetext") or "")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert "−0.85, 1.05" in (tip.get_attribute("aria-valuetext") or "")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Shift+ArrowUp")
    assert "−1.1, 1.3" in (tip.get_attribute("aria-valuetext") or "")
    status(page, re.escape("g₂ = (−1.1, 1.3)"))
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.dataset.tip") == "1"


@pytest.mark.parametrize(
    ("knob", "value", "moved"),
    [
        ("tau", "0.6", "pcd"),
        ("c", "0.9", "cagrad"),
        ("p", "0.9", "auxinash"),
        ("convex", "0.9", "ws"),
        ("penalty", "1", "ws(form=penalty)"),
        ("loss1", "1", "famo"),
    ],
)
def test_a_knob_moves_its_method_alone(page: Page, knob: str, value: str, moved: str) -> None:
    page.locator("details").evaluate("element => element.open = true")
    before = {name: arrow(page, name) for name in METHODS}
    page.locator(f"#directions-{knob}").fill(value)
    assert {name for name in METHODS if arrow(page, name) != before[name]} == {moved}


def test_settings_reach_their_method(page: Page) -> None:
    page.locator("details").evaluate("element => element.open = true")
    for label, value, name, settings in (
        ("cagrad-rescale", "1+c", "cagrad", {"rescale": "1+c"}),
        ("mgda-normalization", "l2", "mgda", {"normalization": "l2"}),
        ("pcd-normalization", "none", "pcd", {"normalization": "none"}),
        ("pcd-rescale", "none", "pcd", {"normalization": "none", "rescale": "none"}),
    ):
        page.locator(f"#directions-{label}").select_option(value)
        gradients = [[1.6, 0.3], [-0.9, 1.1]]
        weights = python_weights({"method": name, "gradients": gradients, "settings": settings, "losses": [1, 1]})
        np.testing.assert_allclose(arrow(page, name), weights @ np.array(gradients) * [100, -100], rtol=1e-9)


def test_presets_set_both_gradients(page: Page) -> None:
    page.click('[data-preset="equilibrium"]')
    assert page.get_attribute('[data-preset="equilibrium"]', "aria-pressed") == "true"
    assert {name for name in METHODS if cells(page, name)[5] == "d = 0, stops"} == set(METHODS) - {"pcd"}
    status(page, "Descending on both: none")
    page.click('[data-preset="longer"]')
    assert "length 943" in (page.get_attribute('[data-tip="2"]', "aria-valuetext") or "")
    assert max(map(abs, arrow(page, "ws"))) < 300, "an arrow that leaves the picture ends at its edge"
    page.click('[data-preset="vanishing"]')
    assert cells(page, "pcd")[2].endswith("e−4")


def test_rescaling_shows_who_moves(page: Page) -> None:
    page.click('[data-rescale="10"]')
    said = status(page, "multiplied by 10")
    assert "Direction kept: AuxiNash; FAMO; PCD." in said
    turned = {name: cells(page, name)[6] for name in METHODS}
    assert {name for name, text in turned.items() if text == "kept"} == {"auxinash", "famo", "pcd"}
    assert all(text.endswith("°") for name, text in turned.items() if name not in ("auxinash", "famo", "pcd"))
    page.locator('[data-tip="1"]').press("ArrowUp")
    assert {cells(page, name)[6] for name in METHODS} == {"–"}, "a comparison ends with the next change"


def test_methods_can_be_hidden(page: Page) -> None:
    page.uncheck('[data-toggle="pcgrad"]')
    assert page.locator('[data-arrow="pcgrad"]').count() == 0
    assert page.locator("[data-arrow]").count() == len(METHODS) - 1
    status(page, "PCGrad is hidden")
    page.check('[data-toggle="pcgrad"]')
    assert page.locator('[data-arrow="pcgrad"]').count() == 1


def test_directions_can_be_drawn_at_one_length(page: Page) -> None:
    page.check('[data-option="equal"]')
    assert {round(math.hypot(*arrow(page, name)), 6) for name in METHODS} == {150.0}
    page.check('[data-option="constructions"]')
    assert page.locator(".construction").count() == 3


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_narrow_screen(browser: Browser, address: str, dark: bool) -> None:
    with watched_page(browser, width=380, dark=dark) as page:
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 380
        box = page.locator(".directions-plane svg").bounding_box()
        assert box is not None and 250 < box["width"] <= 380


def test_it_has_no_inline_style_or_script(page: Page) -> None:
    assert page.locator("[style]").count() == 0
    assert page.locator("script:not([src]), style").count() == 0
