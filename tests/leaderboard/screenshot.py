"""Take the README's picture of the leaderboard.

    python -m tests.leaderboard.screenshot site=site out=docs/leaderboard.webp

The front page of a built site, light, 1280 pixels wide, from its heading to the ranking's first rows. The same site
gives the same picture; its size is kept below what a README should load.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.leaderboard.browser import QUIET, find_browser

WIDTH, HEIGHT = 1280, 1500
MOST = 250_000
"""Bytes that the picture may have."""
QUALITIES = (90, 80, 70, 60, 50)


def screenshot(index: Path) -> bytes:
    """Return the top of the page as PNG."""
    with sync_playwright() as playwright:
        path = find_browser() or playwright.chromium.executable_path
        browser = playwright.chromium.launch(executable_path=path, args=[*QUIET, "--font-render-hinting=none"])
        context = browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light", reduced_motion="reduce"
        )
        page = context.new_page()
        page.goto(index.resolve().as_uri())
        for picture in page.locator("figure img:visible").all():
            picture.evaluate("image => image.decode()")
        taken = page.screenshot(animations="disabled")
        browser.close()
        return taken


def compressed(png: bytes, kind: str, most: int = MOST) -> bytes:
    """Return a picture of at most so many bytes: WebP in the best quality that fits, or PNG with fewer colours."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    for quality in QUALITIES:
        file = io.BytesIO()
        if kind == "webp":
            picture.save(file, "WEBP", quality=quality, method=6)
        else:
            colors = round(256 * quality / QUALITIES[0])
            picture.quantize(colors, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
        if file.tell() <= most:
            return file.getvalue()
    raise SystemExit(f"the picture has {file.tell()} bytes; at most {most} are accepted")


def main(arguments: list[str]) -> None:
    """Take the picture of `site=DIR` and write it to `out=FILE`, .webp or .png."""
    given = {"site": "site", "out": "docs/leaderboard.webp"} | dict(entry.split("=", 1) for entry in arguments)
    out = Path(given["out"])
    data = compressed(screenshot(Path(given["site"]) / "index.html"), out.suffix.removeprefix("."))
    out.write_bytes(data)
    print(f"{out}: {len(data) / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
