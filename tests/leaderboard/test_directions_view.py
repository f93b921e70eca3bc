"""The interactive figure in a real browser: dragging, keys, knobs, examples, what it says, narrow screens."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from mobench.core.registry import find_method
from mobench.leaderboard.site.directions import FIRST
from mobench.reporting.plots.style import method_styles
from tests.leaderboard.browser import browser, watched_page
from tests.leaderboard.figure import FORM, KEYS, gradients_at, page, python_direction

__all__ = ["browser", "page"]

UNIT = 130
"""Drawing units in one unit of length."""


def cells(page: Page, name: str) -> list[str]:
    return page.locator(f'tr[data-row="{KEYS[name]}"] td').all_inner_texts()


def rows(page: Page) -> int:
    """How many methods the figure has: all that ship, and a form of one."""
    return page.locator("tr[data-row]").count()


def arrow(page: Page, name: str) -> tuple[float, float]:
    line = page.locator(f'[data-arrow="{KEYS[name]}"]')
    return float(line.get_attribute("x2") or "nan"), float(line.get_attribute("y2") or "nan")


def status(page: Page, pattern: str) -> str:
    """Wait until the live region says what is expected."""
    page.wait_for_function(
        "pattern => new RegExp(pattern).test(document.querySelector('[role=status]').textContent)", arg=pattern
    )
    return page.inner_text("[role=status]")


def place(page: Page, tip: int) -> str:
    return page.get_attribute(f'[data-tip="{tip}"]', "aria-valuetext") or ""


def centre(page: Page, tip: int) -> tuple[float, float]:
    box = page.locator(f'[data-tip="{tip}"] .tip').bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_colours_and_markers_are_those_of_the_plots(page: Page) -> None:
    assert page.locator("[data-arrow]").count() == rows(page)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for name, look in method_styles(KEYS).items():
            wanted = look.color if scheme == "light" else look.on_dark
            red, green, blue = (int(wanted[start : start + 2], 16) for start in (1, 3, 5))
            row = page.locator(f'tr[data-row="{KEYS[name]}"] .marker')
            assert row.evaluate("one => getComputedStyle(one).fill") == f"rgb({red}, {green}, {blue})"
            line = page.locator(f'[data-arrow="{KEYS[name]}"]')
            assert line.evaluate("one => getComputedStyle(one).stroke") == f"rgb({red}, {green}, {blue})"
    shapes = page.locator("tr[data-row] .marker path").evaluate_all("all => all.map(one => one.getAttribute('d'))")
    drawn = page.locator(".directions-plane .mark").evaluate_all("all => all.map(one => one.getAttribute('d'))")
    assert sorted(shapes) == sorted(drawn)
    own = [page.locator(f'tr[data-row="{key}"] .marker path').first.get_attribute("d") for key in KEYS.values()]
    assert len(set(own)) == len(KEYS), "the methods of the paper have a marker each"


@pytest.mark.parametrize(("keys", "turn", "size"), [((), 24, 1), (("ArrowRight", "ArrowRight", "ArrowDown"), 22, 0)])
def test_the_table_and_the_arrows_show_what_the_methods_return(
    page: Page, keys: tuple[str, ...], turn: int, size: int
) -> None:
    for key in keys:
        page.locator('[data-tip="2"]').press(key)
    gradients = gradients_at(turn, size)
    start = math.radians(10)  # where g₁ points to
    turned = np.array([[math.cos(start), math.sin(start)], [-math.sin(start), math.cos(start)]])
    for name in KEYS:
        settings = {"form": "penalty"} if name == FORM else {}
        direction = python_direction(name.partition("(")[0], gradients, **settings)
        length = float(np.linalg.norm(direction))
        cosines = gradients @ direction / length / np.linalg.norm(gradients, axis=1)
        shown = [float(text.replace("−", "-")) for text in cells(page, name)[:5]]
        np.testing.assert_allclose(shown[:2] @ gradients, direction, rtol=2e-2)
        np.testing.assert_allclose(shown[2:], [length, *cosines], rtol=6e-3)
        np.testing.assert_allclose(arrow(page, name), direction @ turned * [UNIT, -UNIT], rtol=1e-5, atol=1e-4)


def test_tips_can_be_dragged_and_stay_on_the_grid(page: Page) -> None:
    before = arrow(page, "mgda")
    x, y = centre(page, 2)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 30, y + 60, steps=4)
    page.mouse.up()
    assert centre(page, 2) == pytest.approx((x - 30, y + 60), abs=12), "the nearest point of the grid"
    assert re.fullmatch(r"length 1\.33, 1[56][05] degrees", place(page, 2))
    assert arrow(page, "mgda") != before
    after = centre(page, 2)
    page.mouse.move(x, y)  # no button is down: the tip stays
    assert centre(page, 2) == after
    x, y = centre(page, 1)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 80)
    page.mouse.up()
    assert re.fullmatch(r"length 1, -\d+ degrees", place(page, 1)), "g₁ is turned and keeps its length"
    status(page, "g₂ has length 1.33")


def test_a_tip_can_be_dragged_by_touch(browser: Browser, figure: Path) -> None:
    with watched_page(browser, width=380, touch=True) as page:
        page.goto(figure.as_uri())
        page.locator(".directions-plane").scroll_into_view_if_needed()
        x, y = centre(page, 2)
        session = page.context.new_cdp_session(page)
        for kind, points in (
            ("touchStart", [{"x": x, "y": y}]),
            ("touchMove", [{"x": x + 20, "y": y + 30}]),
            ("touchMove", [{"x": x + 20, "y": y + 60}]),
            ("touchEnd", []),
        ):
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            page.wait_for_timeout(50)  # a finger moves slower than frames are drawn
        assert centre(page, 2) == pytest.approx((x + 20, y + 60), abs=8)


def test_tips_can_be_moved_by_keys(page: Page) -> None:
    tip = page.locator('[data-tip="2"]')
    tip.focus()
    assert place(page, 2) == "length 1.33, 130 degrees"
    for key, expected in (
        ("ArrowLeft", "length 1.33, 135 degrees"),
        ("ArrowUp", "length 1.78, 135 degrees"),
        ("Shift+ArrowRight", "length 1.78, 105 degrees"),
        ("Shift+ArrowDown", "length 0.562, 105 degrees"),
    ):
        page.keyboard.press(key)
        assert place(page, 2) == expected
    status(page, re.escape("g₂ has length 0.562 and lies 95° from g₁"))
    for _ in range(12):
        page.keyboard.press("Shift+ArrowDown")
    assert place(page, 2) == "length 0.0178, 105 degrees", "the grid ends there"
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.dataset.tip") == "1"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert place(page, 1) == "length 1, 5 degrees"


@pytest.mark.parametrize("moved", ["pcd", "cagrad", "auxinash", "ws", FORM])
def test_a_knob_moves_its_method_alone(page: Page, moved: str) -> None:
    before = {name: arrow(page, name) for name in KEYS}
    knob = page.locator(f'[data-knob="{KEYS[moved]}"]')
    knob.fill("3")
    assert {name for name in KEYS if arrow(page, name) != before[name]} == {moved}
    shown = page.inner_text(f'output[for="knob-{KEYS[moved]}"]')
    assert knob.get_attribute("aria-valuetext") == shown
    method, _, form = moved.partition("(")
    setting = next(iter(find_method(method).settings))
    settings = {setting: shown, **({"form": "penalty"} if form else {})}
    length = np.linalg.norm(python_direction(method, gradients_at(24, 1), **settings))
    assert math.hypot(*arrow(page, moved)) == pytest.approx(UNIT * length, rel=1e-5)


def test_a_choice_of_words_is_a_list(page: Page) -> None:
    assert page.get_by_label("MGDA: normalization").locator("option").all_inner_texts() == [
        "none",
        "l2",
        "loss",
        "loss+",
    ]
    page.get_by_label("MGDA: normalization").select_option("l2")
    length = np.linalg.norm(python_direction("mgda", gradients_at(24, 1), normalization="l2"))
    assert math.hypot(*arrow(page, "mgda")) == pytest.approx(UNIT * length, rel=1e-5)


def test_presets_set_both_gradients(page: Page) -> None:
    page.click('[data-preset="equilibrium"]')
    assert page.get_attribute('[data-preset="equilibrium"]', "aria-pressed") == "true"
    stopped = {name for name in KEYS if cells(page, name)[5] == "d = 0, stops"}
    assert stopped == set(KEYS) - {"pcd", FORM}
    status(page, "lies 180° from g₁. Descending on both: none")
    page.click('[data-preset="longer"]')
    assert place(page, 2) == "length 56.2, 130 degrees"
    assert max(map(abs, arrow(page, "ws"))) < 300, "an arrow that leaves the picture ends at its edge"
    page.click('[data-preset="shorter"]')
    assert place(page, 2) == "length 0.0178, 130 degrees"
    page.click('[data-preset="aligned"]')
    assert {cells(page, name)[5] for name in KEYS} == {"yes"}


def test_rescaling_shows_who_moves(page: Page) -> None:
    page.click('[data-rescale="1"]')
    said = status(page, "multiplied by 10")
    assert {"AuxiNash, fixed p", "FAMO", "PCD"} <= {
        *said.partition("Direction kept: ")[2].partition(".")[0].split("; ")
    }
    turned = {name: cells(page, name)[6] for name in KEYS}
    kept = {name for name, text in turned.items() if text == "kept"}
    assert kept == {"auxinash", "famo", "pcd"}
    assert all(text.endswith("°") for name, text in turned.items() if name not in kept)
    assert page.locator(".ghost").count() == rows(page)
    assert page.locator('[data-rescale="1"]').is_disabled(), "the grid does not reach further"
    page.locator('[data-tip="1"]').press("ArrowLeft")
    assert {cells(page, name)[6] for name in KEYS} == {"–"}, "a comparison ends with the next change"


def test_methods_can_be_hidden(page: Page) -> None:
    row = page.locator('tr[data-row="pcgrad"] input')
    row.uncheck()
    assert page.locator('[data-arrow="pcgrad"]').count() == 0
    assert page.locator("[data-arrow]").count() == rows(page) - 1
    status(page, "PCGrad is hidden")
    row.check()
    assert page.locator('[data-arrow="pcgrad"]').count() == 1


def test_directions_can_be_drawn_at_one_length(page: Page) -> None:
    page.check('[data-option="equal"]')
    assert {round(math.hypot(*arrow(page, name)), 4) for name in KEYS} == {1.5 * UNIT}
    page.check('[data-option="hull"]')
    assert page.locator(".hull").count() == 1


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_narrow_screen(browser: Browser, figure: Path, dark: bool) -> None:
    with watched_page(browser, width=380, dark=dark) as page:
        page.goto(figure.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 380
        box = page.locator(".directions-plane svg").bounding_box()
        assert box is not None and 250 < box["width"] <= 380


@pytest.mark.parametrize("width", [390, 1280])
def test_few_methods_are_drawn_at_first_and_others_are_easily_shown(browser: Browser, figure: Path, width: int) -> None:
    with watched_page(browser, width=width) as page:
        page.goto(figure.as_uri())
        arrows = page.locator("[data-arrow]").evaluate_all("all => all.map(one => one.dataset.arrow)")
        assert set(arrows) == FIRST and len(arrows) == 7
        first = page.locator("tr[data-row]").evaluate_all("all => all.map(one => one.dataset.row)")[:7]
        assert set(first) == set(arrows), "they head the table"
        assert page.locator("[data-knob]:visible").count() < 8
        page.locator('tr[data-row="upgrad"] input').check()
        expect(page.locator('[data-arrow="upgrad"]')).to_have_count(1)
        page.get_by_role("button", name="Show none").click()
        expect(page.locator("[data-arrow]")).to_have_count(0)
        page.get_by_role("button", name="Show all methods").click()
        expect(page.locator("[data-arrow]")).to_have_count(rows(page))
        page.get_by_role("button", name="Show the first few").click()
        expect(page.locator("[data-arrow]")).to_have_count(7)
        expect(page.get_by_text(f"7 of {rows(page)} methods are drawn.")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
