"""A badge that a method's own repository can show: a small SVG that needs no font and no other host."""

from __future__ import annotations

from xml.sax.saxutils import escape

HEIGHT = 20
PER_LETTER = 6.6
PADDING = 12
LEFT, RIGHT = "#444444", "#1f5f8b"
"""White on either has a contrast above 6."""


def badge(text: str, label: str = "mobench") -> str:
    """Return the badge `label | text`; every badge has the same colours, whatever the rank."""
    left, right = (round(PER_LETTER * len(part)) + PADDING for part in (label, text))
    whole = f"{label}: {text}"
    title = escape(whole, {'"': "&quot;"})
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HEIGHT}" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left + right}" height="{HEIGHT}" rx="3" fill="{RIGHT}"/>'
        f'<path d="M3 0h{left - 3}v{HEIGHT}H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="{LEFT}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f"{_text(label, left / 2, left - PADDING)}{_text(text, left + right / 2, right - PADDING)}</g></svg>\n"
    )


def _text(text: str, middle: float, width: float) -> str:
    return f'<text x="{middle:g}" y="14" textLength="{width:g}">{escape(text)}</text>'
