"""What pages say of methods and problems: complete for what ships, measured, and inert for what a plugin says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from mobench import conformance
from mobench.conformance import check_method
from mobench.core import registry
from mobench.core.about import Formula, Reference
from mobench.errors import UserError
from mobench.leaderboard.site import cards
from mobench.leaderboard.site.cards import Card, SettingRow, blocks, method_card, problem_card
from mobench.leaderboard.site.cost import Spread, spreads
from mobench.leaderboard.site.formulas import ATTRIBUTES, ELEMENTS, shown_formula
from mobench.leaderboard.site.pages import Pages

MATHML = "{http://www.w3.org/1998/Math/MathML}"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def shipped(kind: str) -> list[str]:
    found: dict[str, Any] = getattr(registry, kind)()
    return [id_ for id_, plugin in found.items() if plugin.__module__.startswith(f"mobench.{kind}.")]


def all_cards() -> list[Card]:
    return [*map(method_card, shipped("methods")), *map(problem_card, shipped("problems"))]


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Load a plugin's source for one test."""
    monkeypatch.setattr(registry, "_found", {kind: dict(getattr(registry, kind)()) for kind in registry.PACKAGES})

    def load(source: str) -> None:
        file = tmp_path / "plugin.py"
        file.write_text("from mobench import Formula, Method, Reference, real, register\n" + source, encoding="utf-8")
        registry.load_plugins([file])

    return load


def shown(card: Card) -> str:
    """Return the card as its page shows it."""
    pages = Pages(title="", built="", version="", commit="")
    return pages._environment.get_template("card.html").render(card=card, kind="method")


def test_everything_that_ships_is_described() -> None:
    plugins = {**registry.methods(), **registry.problems()}
    for card in all_cards():
        assert card.title and card.formulas, card.id
        opening = " ".join(re.sub("<.*?>", "", block.text) for block in card.words)
        assert len(opening.split()) >= 30 and opening.endswith("."), card.id
        assert not any(block.preformatted for block in card.words), card.id
        reference = plugins[card.id].reference
        assert isinstance(reference, Reference) and reference.authors and reference.title and reference.year, card.id
        assert card.reference == str(reference)
        assert not card.link or re.fullmatch(
            r"https://(arxiv\.org/abs/|doi\.org/|proceedings\.mlr\.press/|openreview\.net/forum\?id=)[\w./-]+",
            card.link,
        )


def test_the_page_has_the_whole_docstring_and_says_nothing_twice() -> None:
    for card in all_cards():
        docstring = {**registry.methods(), **registry.problems()}[card.id].__doc__
        assert blocks(docstring or "") == (*card.words, *card.details), card.id


def test_formulas_are_mathml_and_nothing_else() -> None:
    for card in all_cards():
        for formula in card.formulas:
            assert formula.says and formula.mathml is not None, (card.id, formula.latex)
            tree = ElementTree.fromstring(str(formula.mathml))
            assert tree.tag == f"{MATHML}math" and tree.get("display") == "block"
            for element in tree.iter():
                assert element.tag.removeprefix(MATHML) in ELEMENTS, (card.id, element.tag)
                assert set(element.attrib) <= ATTRIBUTES, (card.id, element.attrib)


@pytest.mark.parametrize(
    "latex",
    [r"\frac{1}{", r"\left(", r"\nosuchcommand x", "", "&", r"\begin{matrix}", rf"\text{{{HOSTILE}}}"],
)
def test_a_formula_that_cannot_be_converted_is_shown_as_it_is(latex: str) -> None:
    assert shown_formula(Formula(latex)).mathml is None


@pytest.mark.parametrize("latex", [r"\href{javascript:alert(1)}{x}", r"{\color{red} x}"])
def test_a_formula_of_a_stranger_is_inert(latex: str) -> None:
    formula = shown_formula(Formula(latex))
    assert formula.mathml is not None and "<mi>x</mi>" in formula.mathml
    assert not re.search("<(script|img)|href|style=|mathcolor", formula.mathml)


def test_settings_are_those_that_are_declared() -> None:
    plugins = {**registry.methods(), **registry.problems()}
    for card in all_cards():
        declared = plugins[card.id].settings
        assert [row.name for row in card.settings] == list(declared)
        for row in card.settings:
            setting = declared[row.name]
            assert (row.meaning, row.accepted) == (setting.meaning, setting.accepted)
            assert setting.parse(row.name, row.default) == setting.default, "a default is written as it can be given"


def test_every_shipped_method_conforms_and_answers_the_questions() -> None:
    for name in shipped("methods"):
        card = method_card(name)
        assert card.conforms and not card.refusal, name
        assert [question for question, _ in card.headline] == list(cards.QUESTIONS.values())
        assert all(cards.QUESTIONS[found.name] == question for question, found in card.headline)


@pytest.mark.parametrize("name", shipped("methods"))
def test_properties_are_what_the_battery_finds(name: str) -> None:
    assert method_card(name).findings == tuple(check_method(registry.find_method(name)))


def test_the_battery_runs_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    monkeypatch.setattr(conformance, "check_method", lambda method: calls.append(method) or check_method(method))
    cards.battery_of.cache_clear()
    assert method_card("ws") == method_card("ws")
    assert len(calls) == 1


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    with pytest.raises(UserError, match="pcgrad"):
        method_card("pcgrd")
    with pytest.raises(UserError, match="two-wells"):
        problem_card("two-welds")


PLUGIN = f'''
@register
class Hostile(Method):
    """First {HOSTILE}

    Second `paragraph`,
    on two lines.

        d = <b>g_1</b>
          + g_2
    """

    reference = "{HOSTILE}"
    strength: float = real(0.5, low=0.0, meaning="{HOSTILE}")

    def weights(self, step):
        return [1.0] * step.k
'''


def test_a_plugin_is_described_by_its_docstring_and_stays_text(plugin: Callable[[str], None]) -> None:
    plugin(PLUGIN)
    card = method_card("hostile")
    assert card.title == "Hostile" and card.formulas == () and card.details == () and card.reference == HOSTILE
    first, second, third = card.words
    assert "&lt;script&gt;" in first.text and not first.preformatted
    assert second.text == "Second <code>paragraph</code>, on two lines."
    assert third.text == "d = &lt;b&gt;g_1&lt;/b&gt;\n  + g_2" and third.preformatted
    assert card.settings == (SettingRow("strength", "0.5", "a number in [0, inf)", HOSTILE),)
    assert card.conforms
    assert "<script" not in shown(card) and "<img" not in shown(card) and "<b>" not in shown(card)


def test_a_plugin_states_title_words_formulas_and_reference(plugin: Callable[[str], None]) -> None:
    stated = r'''
    title = "Two <b>words</b>"
    words = """The first paragraph.

    The second."""
    formulas = (Formula(r"\alpha^2", "It says"), Formula(r"\left( <b>"))
    reference = Reference("A. Author", "A Title", year=2031, link="javascript:alert(1)")
'''
    plugin(PLUGIN.replace(f'    reference = "{HOSTILE}"\n', stated))
    card = method_card("hostile")
    assert [block.text for block in card.words] == ["The first paragraph.", "The second."]
    assert len(card.details) == 3
    page = shown(card)
    assert "<msup><mi>α</mi><mn>2</mn></msup>" in page and r"<code>\left( &lt;b&gt;</code>" in page
    assert "A. Author (2031). A Title." in page and "javascript:" not in page and "<b>" not in page


def test_a_derived_class_speaks_for_itself(plugin: Callable[[str], None]) -> None:
    plugin("from mobench.methods.pcd import PCD\n@register\nclass Mine(PCD):\n    '''Like PCD.'''\n")
    card, method = method_card("mine"), registry.find_method("mine")
    assert (card.title, card.formulas, method.look) == ("Mine", (), None)
    assert [block.text for block in card.words] == ["Like PCD."]


@pytest.mark.parametrize("formulas", ["Formula('x')", "'x'", "('x',)"])
def test_formulas_of_another_type_are_refused_in_one_line(plugin: Callable[[str], None], formulas: str) -> None:
    with pytest.raises(UserError, match=r"^Mine\.formulas takes a tuple of mobench\.Formula$"):
        plugin(f"class Mine(Method):\n    formulas = {formulas}\n")


def test_a_plugin_without_words_has_an_empty_definition(plugin: Callable[[str], None]) -> None:
    plugin("@register\nclass Silent(Method):\n    def weights(self, step):\n        raise ValueError('<b>no</b>')\n")
    card = method_card("silent")
    assert card.words == () and card.details == () and card.reference == ""
    assert not card.conforms
    assert any("<b>no</b>" in found.sentence for found in card.findings)
    assert "&lt;b&gt;no&lt;/b&gt;" in shown(card)


def test_costs_are_medians_with_quartiles() -> None:
    seconds = np.array([1.0, 2.0, 3.0, 4.0, 100.0])
    runs = pd.DataFrame(
        {
            "seconds_per_step": seconds,
            "method_seconds_per_step": seconds / 10,
            "backward_passes": [20] * 5,
            "steps": [10] * 5,
            "peak_memory": [1e6] * 4 + [np.nan],
        }
    )
    milliseconds, own, shared, passes, megabytes = spreads(runs)
    assert milliseconds == Spread(median=3e3, lower=2e3, upper=4e3)
    assert own == pytest.approx((3e5, 2e5, 4e5))
    assert shared == pytest.approx((27e5, 18e5, 36e5))
    assert (passes, megabytes) == (Spread(2.0, 2.0, 2.0), Spread(1.0, 1.0, 1.0))
    assert np.isnan(spreads(runs[["steps"]])).all(), "nothing was measured"
