import re

import pytest
from matplotlib.figure import Figure

from mobench.leaderboard.site.dark_plots import DARK_PAGE, LIGHT_PAGE, dark, dark_color
from mobench.reporting.pictures import files_of
from mobench.reporting.plots import house_style
from mobench.reporting.plots.style import FURTHER, stated_looks
from tests.reporting.plots.test_plot_styles import contrast

LOOKS = (*stated_looks().values(), *FURTHER)
TEXT = "#262626"
MARKS = ["#222222", "#333333", "#555555", "#767676", "#8a8a8a", "#4d7ea8"]
"""Everything that plots draw beside methods: rings, error bars, legends, leaders, axes, contours."""


def test_text_is_readable_on_both_pages():
    assert contrast(TEXT, LIGHT_PAGE) >= 4.5
    assert contrast(dark_color(TEXT), DARK_PAGE) >= 4.5


@pytest.mark.parametrize("mark", MARKS)
def test_marks_are_seen_on_both_pages(mark):
    assert contrast(mark, LIGHT_PAGE) >= 3.0
    assert contrast(dark_color(mark), DARK_PAGE) >= 3.0


def test_greys_are_mirrored_in_order_and_hues_stay():
    greys = [dark_color(f"#{value:02x}{value:02x}{value:02x}") for value in (255, 240, 200, 150, 100, 60, 38)]
    brightness = [contrast(grey, "#000000") for grey in greys]
    assert greys[0] == DARK_PAGE
    assert brightness == sorted(brightness)
    assert dark_color("#4d7ea8") == "#4d7ea8"


def drawing():
    with house_style():
        figure = Figure(figsize=(3, 2))
        axis = figure.subplots()
        for place, look in enumerate(LOOKS):
            axis.plot([0, 1], [0, place], color=look.color, marker=look.marker, label=str(place))
        axis.set(title="a title", xlabel="x")
        axis.legend()
        return files_of(figure)[0]


def colors(svg):
    return set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", svg.decode()))


def test_a_dark_plot_has_dark_colours_and_the_same_shapes():
    light = drawing()
    shown = colors(dark(light))
    assert LIGHT_PAGE not in shown
    assert DARK_PAGE in shown
    assert dark_color(TEXT) in shown
    assert {look.on_dark.lower() for look in LOOKS} <= shown
    bare = [re.sub(rb"(fill|stroke): #[0-9a-f]{6}", b"", svg) for svg in (light, dark(light))]
    assert bare[0] == bare[1]


def test_no_text_is_left_in_the_default_black():
    """A glyph without a fill would be black, and lost on a dark page."""
    groups = re.findall(r'<g id="text_\d+">.*?</g>', drawing().decode(), flags=re.DOTALL)
    assert groups
    assert all(f"fill: {TEXT}" in group for group in groups)


def test_ids_and_data_that_look_like_colours_are_left_alone():
    svg = b'<svg><use xlink:href="#ffffff" style="fill: #ffffff"/><image href="a#ffffff"/><rect fill="#262626"/></svg>'
    expected = svg.replace(b"fill: #ffffff", b"fill: " + DARK_PAGE.encode()).replace(b"#262626", b"#e8e8e8")
    assert dark(svg) == expected
    assert dark(b"<svg/>") == b"<svg/>"
