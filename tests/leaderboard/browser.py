"""A real browser for the tests of the site: where it is, and pages that refuse what is not local."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def find_browser() -> str | None:
    """Return the path of an installed Chromium, None where there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Chromium once for a test file; import this name into the file to use it."""
    with sync_playwright() as playwright:
        path = find_browser() or playwright.chromium.executable_path
        if not Path(path).exists():
            pytest.skip(f"no browser is installed; looked for {', '.join(NAMES)} and {path}; `make browser` gets one")
        running = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield running
        running.close()


@contextmanager
def watched_page(
    browser: Browser, width: int = 1280, height: int = 900, dark: bool = False, touch: bool = False
) -> Iterator[Page]:
    """Yield a page; afterwards fail on any console error, script error, or request that is not local."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", has_touch=touch
    )
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda request: None if request.url.startswith(("file:", "data:")) else complaints.append(request.url),
    )
    try:
        yield page
    finally:
        context.close()
    assert not complaints, complaints
