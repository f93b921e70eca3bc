import itertools

import matplotlib
import numpy as np
import pytest

from mobench.core.about import Look
from mobench.core.registry import methods
from mobench.errors import UserError
from mobench.leaderboard.site.dark_plots import DARK_PAGE, LIGHT_PAGE
from mobench.reporting.plots.style import FURTHER, house_style, method_styles, stated_looks

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
VISIONS = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
SHIPPED = [name for name, method in methods().items() if method.__module__.startswith("mobench.methods.")]
LOOKS = (*stated_looks().values(), *FURTHER)


def linear(color):
    channels = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
    )
    x, y, z = xyz @ np.clip(rgb, 0, 1) / [0.95047, 1.0, 1.08883]
    f = [np.cbrt(v) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116 for v in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(color, background):
    brightness = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] + 0.05 for c in (color, background))
    return brightness[1] / brightness[0]


SEVEN = ("pcd", "ws", "mgda", "pcgrad", "cagrad", "famo", "auxinash")


def seen(look, shade, vision):
    return lab(np.array(VISIONS[vision]) @ linear(getattr(look, shade)))


@pytest.mark.parametrize("shade", ["color", "on_dark"])
@pytest.mark.parametrize("vision", VISIONS)
def test_looks_are_told_apart(vision, shade):
    """The seven by colour alone; all others by colour, or for colour-blind readers by marker and colour."""
    shown = {look: seen(look, shade, vision) for look in LOOKS}
    seven = {stated_looks()[name] for name in SEVEN}
    assert len({look.marker for look in seven}) == 7
    for (one, here), (other, there) in itertools.combinations(shown.items(), 2):
        least = 30 if {one, other} <= seven else 15 if vision == "normal" else 17 if one.marker == other.marker else 0
        assert np.linalg.norm(here - there) > least, (one, other)


def test_every_shipped_method_states_its_look():
    assert set(SHIPPED) == set(stated_looks())


def test_every_colour_is_seen_on_its_page():
    for style in LOOKS:
        assert contrast(style.color, LIGHT_PAGE) >= 3.0, style
        assert contrast(style.on_dark, DARK_PAGE) >= 3.0, style


def test_both_shades_of_a_method_are_one_hue():
    for style in LOOKS:
        light, dark_one = (lab(linear(color)) for color in (style.color, style.on_dark))
        assert np.linalg.norm(light - dark_one) < 25, style
        if np.linalg.norm(light[1:]) > 10:
            turn = np.angle(complex(*light[1:]) / complex(*dark_one[1:]), deg=True)
            assert abs(turn) < 10, style


def test_no_two_styles_share_a_colour():
    assert len({look.color for look in LOOKS}) == len({look.on_dark for look in LOOKS}) == len(LOOKS)


def test_a_new_method_looks_the_same_whoever_stands_beside_it():
    others = [f"other-{index}" for index in range(99)]
    together = method_styles([*others, "pcd"])
    for name in others:
        alone = method_styles([name])[name]
        assert alone == together[name]
        assert alone.marker in {look.marker for look in FURTHER}
        assert any((alone.color, alone.on_dark) == (look.color, look.on_dark) for look in FURTHER)
    assert len(set(together.values())) > 48, "8 colours with 8 markers"


def test_another_form_of_a_method_has_a_look_of_its_own():
    styles = method_styles([*SHIPPED, "ws(form=penalty)"])
    form = styles.pop("ws(form=penalty)")
    assert styles == stated_looks() and form in FURTHER


def test_forms_differ_from_each_other_as_long_as_looks_last():
    names = [f"ws(form={index})" for index in range(len(FURTHER))]
    assert set(method_styles(names).values()) == set(FURTHER)
    assert list(method_styles([*names, "one-more", "pcd"])) == [*names, "one-more", "pcd"]


@pytest.mark.parametrize(
    "values", [("red", "#112233", "o"), ("#112233", "#112233; }", "o"), ("#112233", "#112233", "<b>")]
)
def test_a_look_takes_colours_and_markers_only(values):
    with pytest.raises(UserError, match=r"Look\.(color|on_dark|marker)="):
        Look(*values)


def test_the_style_does_not_outlive_the_plot():
    before = dict(matplotlib.rcParams)
    with house_style():
        assert matplotlib.rcParams["svg.hashsalt"] == "mobench"
    assert dict(matplotlib.rcParams) == before
