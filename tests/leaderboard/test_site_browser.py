"""The site as a reader uses it: a real Chromium on files, where any request that is not local fails the test."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from tests.leaderboard.browser import browser, watched_page
from tests.leaderboard.conftest import HOSTILE_ERROR, HOSTILE_METHOD, RealSite, mobench

__all__ = ["browser"]

ESCAPE, PLANE, HOSTILE = "suites/escape.quick.html", "suites/plane.quick.html", "suites/hostile.standard.html"
KINDS = [
    "index.html", ESCAPE, "suites/compression.quick.html", HOSTILE, "methods/pcd.html", "problems/double-well.v1.html",
    "directions.html", "downloads.html", "statistics.html", "protocol.html", "speed/index.html",
]  # fmt: skip

QUIETLY = {"preload": False}
"""Axe would fetch the style sheets again, which the policy refuses."""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with watched_page(browser) as opened:
        yield opened


def _column(table: Locator, position: int) -> list[str]:
    cells = table.locator(f"tbody tr:visible > :nth-child({position + 1})")
    return [str(cell.get_attribute("data-value")) for cell in cells.all()]


def _visible_heads(table: Locator) -> list[str]:
    return [head.inner_text() for head in table.locator("thead th:visible").all()]


def test_every_column_sorts_both_ways_by_mouse_and_keyboard(site: RealSite, page: Page) -> None:
    page.goto(site.address(ESCAPE))
    table = page.locator("table.results")
    page.get_by_role("button", name="Show all").click()
    heads = table.locator("thead th")
    assert heads.count() > 4
    for position in range(1, heads.count()):
        head = heads.nth(position)
        button = head.get_by_role("button")
        button.focus()
        page.keyboard.press("Enter")
        first = head.get_attribute("aria-sort")
        ascending = [float(value) for value in _column(table, position)]
        page.keyboard.press("Space")
        assert {first, head.get_attribute("aria-sort")} == {"ascending", "descending"}
        descending = [float(value) for value in _column(table, position)]
        if first == "descending":
            ascending, descending = descending, ascending
        assert ascending == sorted(ascending) and descending == sorted(descending, reverse=True)
        assert table.locator("thead th[aria-sort]").count() == 1


def test_failures_stay_last_whichever_way_a_column_is_sorted(site: RealSite, page: Page) -> None:
    page.goto(site.address(HOSTILE))
    table = page.locator("table.results")
    button = table.locator("thead th").nth(1).get_by_role("button")
    for _ in range(2):
        button.click()
        values = _column(table, 1)
        assert values[-1] == "" and "" not in values[:-1]
        expect(table.locator("tbody tr").last).to_contain_text("failed")


def test_filters_by_method_problem_and_metric(site: RealSite, page: Page) -> None:
    page.goto(site.address(ESCAPE))
    table, form = page.locator("table.results"), page.locator("form.filters")
    everything = table.locator("thead th").count()
    assert 1 < len(_visible_heads(table)) < everything, "a page begins with one metric"
    page.get_by_role("button", name="Show all").click()
    assert len(_visible_heads(table)) == everything
    form.get_by_label("Problem").select_option(index=1)
    form.get_by_label("Metric").select_option(label="hypervolume")
    heads = _visible_heads(table)
    assert len(heads) == 2 and heads[1].startswith("hypervolume")
    form.get_by_label("Method").fill("mg")
    expect(table.locator("tbody tr:visible")).to_have_count(1)
    expect(table.locator("tbody tr:visible")).to_contain_text("mgda")
    expect(form.get_by_role("status")).to_have_text(f"1 of 3 methods, 1 of {everything - 1} columns")


def test_a_number_opens_to_seeds_sweep_and_a_command_that_is_accepted(site: RealSite, page: Page) -> None:
    page.goto(site.address(ESCAPE))
    page.get_by_label("Metric").select_option(index=2)  # after all metrics, and the hypervolume of the whole sweep
    cell = page.locator("tr", has=page.get_by_role("link", name="pcd", exact=True)).locator("td:visible").first
    cell.get_by_role("button").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", level=2)).to_contain_text("pcd on double-well")
    seeds = dialog.get_by_role("table", name="Value at every seed")
    shown = [float(row.locator("td").first.inner_text()) for row in seeds.locator("tbody tr").all()]
    assert len(shown) == 2
    assert sum(shown) / 2 == pytest.approx(float(str(cell.get_attribute("data-value"))), rel=1e-2)
    sweep = dialog.get_by_role("table", name=re.compile("The sweep"))
    expect(sweep.locator("tbody tr")).to_have_count(3)
    expect(sweep.locator("tr.chosen")).to_have_count(1)
    words = shlex.split(dialog.locator("pre").inner_text())
    assert words[:4] == ["mobench", "run", "suite=escape", "profile=quick"]
    done = mobench(*words[1:], f"results={site.results}", "--dry-run", cwd=site.folder.parent)
    assert "2 runs, 0 to do" in done.stdout, "the runs behind the number are those of the command"
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(cell.get_by_role("button")).to_be_focused()


def test_the_theme_follows_the_system_until_it_is_chosen(site: RealSite, browser: Browser) -> None:
    with watched_page(browser, dark=True) as page:
        background = "getComputedStyle(document.body).backgroundColor"
        page.goto(site.address("index.html"))
        dark = page.evaluate(background)
        expect(page.locator("img.dark-only").first).to_be_visible()
        expect(page.locator("img.light-only").first).to_be_hidden()
        page.get_by_role("button", name="Light theme").click()
        assert page.evaluate(background) == "rgb(255, 255, 255)" != dark
        expect(page.locator("img.light-only").first).to_be_visible()
        page.goto(site.address(ESCAPE))
        assert page.evaluate(background) == "rgb(255, 255, 255)", "the choice is kept on the next page"
        page.get_by_role("button", name="Dark theme").click()
        assert page.evaluate(background) == dark


def test_the_keyboard_reaches_the_content_and_shows_where_it_is(site: RealSite, page: Page) -> None:
    page.goto(site.address("index.html"))
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")
    width = page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)")
    assert width >= 2


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_kind_of_page_is_accessible_and_fits_a_phone(
    site: RealSite, browser: Browser, name: str, dark: bool
) -> None:
    with watched_page(browser, width=380, dark=dark) as page:
        page.goto(site.address(name))
        page.evaluate("document.querySelectorAll('img').forEach(image => image.loading = 'eager')")
        excess = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert excess <= 0, f"{name} is {excess} pixels wider than the screen"
        page.wait_for_function(
            "[...document.images].filter(i => i.offsetParent).every(i => i.complete && i.naturalWidth)"
        )
        found = Axe().run(page, options=QUIETLY).response["violations"]
        serious = [
            (violation["id"], [node["html"][:120] for node in violation["nodes"][:3]])
            for violation in found
            if violation["impact"] in ("serious", "critical")
        ]
        assert not serious, serious


def test_the_open_dialog_is_accessible_on_a_phone(site: RealSite, browser: Browser) -> None:
    with watched_page(browser, width=380) as page:
        page.goto(site.address(ESCAPE))
        page.locator("button.open:visible").first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        found = Axe().run(page, context="dialog", options=QUIETLY).response["violations"]
        assert not [violation["id"] for violation in found if violation["impact"] in ("serious", "critical")]
        box = page.get_by_role("dialog").bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 380


def test_hostile_names_and_errors_are_shown_as_text(site: RealSite, page: Page) -> None:
    alarms: list[str] = []
    page.on("dialog", lambda dialog: alarms.append(dialog.message))
    page.goto(site.address(HOSTILE))
    expect(page.locator("h1")).to_have_text("<script>alert('title')</script>")
    row = page.locator("table.results tbody tr", has_text=HOSTILE_METHOD)
    row.locator("button.open").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(HOSTILE_METHOD)
    reason = dialog.get_by_role("table", name="Failed runs").locator("tbody tr").first.locator("td").last
    assert HOSTILE_ERROR in str(reason.text_content())
    page.keyboard.press("Escape")
    row.get_by_role("link").first.click()
    expect(page.locator("h1")).to_contain_text(HOSTILE_METHOD)
    assert page.locator("main img[src='x'], main script, main i, a[href^='javascript']").count() == 0
    page.goto(site.address("index.html"))
    page.get_by_role("link", name=re.compile("alert\\(2\\)")).click()
    expect(page.locator("h1")).to_contain_text("alert(2)")
    assert page.locator("main img[src='x'], main script, main b").count() == 0
    assert not alarms


def test_a_policy_refuses_inline_code(site: RealSite, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(site.address("index.html"))
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.broken = true\">')")
    page.evaluate(
        "{const s = document.createElement('script'); s.textContent = 'window.broken = true'; document.body.append(s)}"
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.broken") is None
    assert any("Content Security Policy" in text for text in refused)
    context.close()


def test_the_table_is_whole_without_scripts(site: RealSite, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.address(ESCAPE))
    table = page.locator("table.results")
    assert table.locator("thead th:visible").count() == table.locator("thead th").count() > 4
    expect(page.locator("form.filters")).to_be_hidden()
    expect(page.get_by_role("button", name="theme")).to_have_count(0)
    context.close()
