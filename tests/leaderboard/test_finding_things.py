"""How a reader gets around: search, choice of a suite, links to rows and to numbers, pictures that are there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.leaderboard.browser import browser, watched_page
from tests.leaderboard.conftest import RealSite

__all__ = ["browser"]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with watched_page(browser) as opened:
        yield opened


@pytest.mark.parametrize(
    ("words", "address"),
    [
        ("mgda", "methods/mgda.html"),
        ("two wells", "problems/two-wells.v1.html"),
        ("compress quick", "suites/compression.quick.html"),
        ("statistics", "statistics.html"),
    ],
)
def test_search_leads_to_methods_problems_suites_and_documents(
    site: RealSite, page: Page, words: str, address: str
) -> None:
    page.goto(site.address("methods/pcd.html"))
    page.get_by_role("searchbox").first.fill(words)
    expect(page.locator(f".search a[href='../{address}']")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".search ul")).to_be_hidden()


def test_enter_opens_the_first_that_was_found_and_nonsense_finds_nothing(site: RealSite, page: Page) -> None:
    page.goto(site.address("index.html"))
    field = page.get_by_role("searchbox").first
    field.fill("<b>no such</b>")
    expect(page.locator(".search li")).to_have_text(["Nothing here is called that."])
    field.fill("mgda")
    expect(page.locator(".search a").first).to_have_text("mgda")
    field.press("Enter")
    page.wait_for_url("**/methods/mgda.html")


def test_the_ranking_of_a_suite_is_chosen_and_linked_to(site: RealSite, page: Page) -> None:
    page.goto(site.address("index.html"))
    shown = page.locator("[data-choice]:visible")
    expect(shown).to_have_count(1)
    page.get_by_role("combobox", name="Suite").select_option("ranks-escape-quick")
    expect(shown.locator("caption")).to_contain_text("escape (quick)")
    row = shown.locator("tr", has=page.get_by_role("link", name="mgda", exact=True))
    row.hover()
    row.get_by_role("link", name="Link to the row of mgda").click()
    address = page.url
    assert address.endswith("#ranks-escape-quick-mgda")
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("#ranks-escape-quick-mgda")).to_be_visible()
    expect(page.get_by_role("combobox", name="Suite")).to_have_value("ranks-escape-quick")


def test_every_number_has_a_page_with_its_command(site: RealSite, page: Page) -> None:
    page.goto(site.address("suites/escape.quick.html"))
    cell = page.locator("tr", has=page.get_by_role("link", name="pcd", exact=True)).locator("td:visible").first
    cell.get_by_role("button").click()
    command = page.get_by_role("dialog").locator("pre").inner_text()
    page.get_by_role("dialog").get_by_role("link", name="A page for this number").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("pcd on double-well")
    expect(page.get_by_role("heading", name="Reproduce this number")).to_be_visible()
    expect(page.locator("main pre")).to_have_text([command, page.url])
    page.get_by_role("link", name="All of pcd").click()
    page.wait_for_url("**/methods/pcd.html")
    page.go_back()
    page.get_by_role("link", name="All numbers of suite escape").click()
    page.wait_for_url("**/suites/escape.quick.html")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("address", ["index.html", "suites/escape.quick.html", "methods/pcd.html", "downloads.html"])
def test_captions_are_seen_whole_before_and_after_a_table_scrolls(
    site: RealSite, browser: Browser, width: int, address: str
) -> None:
    with watched_page(browser, width=width) as page:
        page.goto(site.address(address))
        for _ in range(2):
            cut = page.evaluate(
                """() => Array.from(document.querySelectorAll(".scroll > table > caption")).filter(caption => {
                  const box = caption.closest(".scroll").getBoundingClientRect(), own = caption.getBoundingClientRect();
                  return own.width && (own.left < box.left - 1 || own.right > box.right + 1);
                }).map(caption => caption.textContent)"""
            )
            assert cut == []
            page.evaluate("document.querySelectorAll('.scroll').forEach(box => { box.scrollLeft = 9999; })")


def test_tables_of_a_suite_begin_with_the_best_of_what_is_shown(site: RealSite, page: Page) -> None:
    """As the page comes, of another metric, of one problem, and no longer once the reader has sorted."""
    page.goto(site.address("suites/escape.quick.html"))
    table = page.locator("table.results")

    def means() -> list[float]:
        """Return the mean ranks of the rows in the columns that are shown, from their values."""
        columns = table.evaluate(
            """table => Array.from(table.tHead.rows[0].cells)
              .filter(head => !head.hidden && head.dataset.best && head.dataset.measure)
              .map(head => ({
                measure: head.dataset.measure, best: head.dataset.best,
                values: Array.from(table.tBodies[0].rows).map(row => row.cells[head.cellIndex].dataset.value),
              }))"""
        )
        first = [column for column in columns if column["measure"] == columns[0]["measure"]]
        ranks = []
        for column in first:
            sign = -1.0 if column["best"] == "max" else 1.0
            values = pd.Series([sign * float(value) if value else np.inf for value in column["values"]])
            ranks.append(values.rank())
        return list(sum(ranks) / len(ranks))

    def expect_sorted() -> None:
        found = means()
        assert found == sorted(found) and len(set(found)) > 1, found

    expect_sorted()
    metric = page.get_by_role("combobox", name="Metric")
    for option in metric.locator("option").all()[1:]:
        metric.select_option(option.get_attribute("value"))
        expect_sorted()
    problem = page.get_by_role("combobox", name="Problem")
    problem.select_option(index=1)
    expect_sorted()
    expect(table.locator("th[aria-sort]:visible")).to_have_count(1)
    table.get_by_role("button", name="method").click()
    names = table.locator("tbody th .named").all_inner_texts()
    problem.select_option(index=0)
    assert table.locator("tbody th .named").all_inner_texts() == names == sorted(names)


def test_what_is_not_ranked_waits_behind_a_button_and_its_own_link_opens_it(site: RealSite, page: Page) -> None:
    page.goto(site.address("index.html"))
    rows = page.locator("#ranking tbody tr[data-unranked]")
    assert rows.count() >= 3
    button = page.get_by_role("button", name=f"{rows.count()} that are not ranked")
    expect(rows.first).to_be_hidden()
    button.click()
    expect(rows.first).to_be_visible()
    button.click()
    expect(rows.first).to_be_hidden()
    page.goto(f"{site.address('index.html')}#{rows.last.get_attribute('id')}")
    expect(rows.first).to_be_visible()
    expect(page.locator("#ranking tr:target")).to_be_in_viewport()


@pytest.mark.parametrize("place", ["", "#escape.quick/0/99", "#..%2F..%2Fx/0/0", "#//example.org/0/0"])
def test_an_address_without_a_number_says_so(site: RealSite, page: Page, place: str) -> None:
    page.goto(f"{site.address('number.html')}{place}")
    expect(page.locator("main")).to_contain_text("There is no such number here")


@pytest.mark.parametrize("dark", [False, True])
def test_every_picture_is_there_without_scrolling(site: RealSite, browser: Browser, dark: bool) -> None:
    with watched_page(browser, dark=dark) as page:
        page.goto(site.address("suites/escape.quick.html"))
        pictures = page.locator("figure img:visible")
        assert pictures.count() > 3
        for picture in pictures.all():
            picture.evaluate("image => image.decode()")
            assert picture.evaluate("image => image.complete && image.naturalWidth > 0")
        waiting = page.locator("figure img:not(:visible)")
        assert {picture.get_attribute("loading") for picture in waiting.all()} == {"lazy"}
