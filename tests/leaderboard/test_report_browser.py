"""The report of one's own runs as a reader opens it: from a file, in a real Chromium that refuses every request."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from tests.leaderboard.browser import browser, watched_page
from tests.leaderboard.conftest import HOSTILE_ERROR, RealSite, mobench

__all__ = ["browser"]


@pytest.fixture(scope="module")
def report(site: RealSite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the suite whose every name is hostile."""
    out = tmp_path_factory.mktemp("report") / "hostile"
    settings = (f"results={site.results}", f"plugins={site.plugin}", f"out={out}")
    mobench("report", "suite=hostile.yaml", *settings, cwd=site.plugin.parent)
    return out / "report.html"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_it_opens_from_a_file_without_a_request_and_anybody_can_read_it(
    report: Path, browser: Browser, width: int, dark: bool
) -> None:
    with watched_page(browser, width=width, dark=dark) as page:
        page.on("dialog", lambda dialog: pytest.fail(f"a text of others was executed: {dialog.message}"))
        page.goto(report.as_uri())
        assert page.locator("h1").inner_text() == "<script>alert('title')</script>"
        for summary in page.locator("summary").all():
            summary.click()
        assert page.locator("table").count() > 1 and page.locator("figure img").count() >= 1
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("figure img").first.evaluate("image => image.naturalWidth") > 300
        found = Axe().run(page, options={"preload": False})
        assert found.violations_count == 0, found.generate_report()


def test_it_has_no_script_and_every_text_of_others_is_escaped(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert "<script" not in text and "<img src=x" not in text and HOSTILE_ERROR not in text
    assert "&lt;script&gt;alert(&#x27;title&#x27;)&lt;/script&gt;" in text
