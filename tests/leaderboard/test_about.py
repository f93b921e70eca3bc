"""Cards of methods and problems: complete for what ships, measured, and inert for whatever a plugin says."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jinja2
import numpy as np
import pandas as pd
import pytest

from mobench.conformance import check_method
from mobench.core import registry
from mobench.errors import UserError
from mobench.leaderboard import about
from mobench.leaderboard.about import properties
from mobench.leaderboard.about.written import written

MATHML = "{http://www.w3.org/1998/Math/MathML}"
ELEMENTS = {
    *("math", "mrow", "mi", "mo", "mn", "mtext", "mspace", "msub", "msup", "msubsup"),
    *("mfrac", "msqrt", "mover", "munder", "munderover", "mstyle"),
}
ATTRIBUTES = {
    *("accent", "display", "displaystyle", "fence", "form", "linethickness", "lspace", "rspace", "scriptlevel"),
    *("separator", "stretchy", "symmetric", "width"),
}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def shipped(kind: str) -> list[str]:
    found: dict[str, Any] = getattr(registry, kind)()
    return [id_ for id_, plugin in found.items() if plugin.__module__.startswith(f"mobench.{kind}.")]


def all_cards() -> list[about.MethodCard | about.ProblemCard]:
    return [*map(about.method_card, shipped("methods")), *map(about.problem_card, shipped("problems"))]


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Load a plugin's source for one test."""
    monkeypatch.setattr(registry, "_found", {kind: dict(getattr(registry, kind)()) for kind in ("methods", "problems")})

    def load(source: str) -> None:
        file = tmp_path / "plugin.py"
        file.write_text(source, encoding="utf-8")
        registry.load_plugins([file])

    return load


def test_everything_that_ships_is_described() -> None:
    assert set(written("methods")) == set(shipped("methods"))
    assert set(written("problems")) == set(shipped("problems"))
    for card in all_cards():
        assert card.title and card.formulas and card.documentation, card.id
        assert sum(len(paragraph.split()) for paragraph in card.definition) >= 30, card.id
        reference = card.reference
        assert reference.authors and reference.title and reference.year, card.id
        assert reference.authors in reference.text and reference.title in reference.text, card.id
        assert not reference.link or re.fullmatch(r"https://(arxiv\.org/abs|doi\.org)/[\w./-]+", reference.link)


def test_references_are_those_of_the_methods() -> None:
    """The method's own reference names the same first author, year and title."""
    for name in shipped("methods"):
        stated, card = registry.find_method(name).reference, about.method_card(name).reference
        first = card.authors.split(" and ")[0].split(",")[0]
        assert stated.startswith(first) and f"({card.year})" in stated and card.title in stated, name


def test_formulas_are_mathml_and_nothing_else() -> None:
    for card in all_cards():
        for formula in card.formulas:
            tree = ElementTree.fromstring(str(formula.mathml))
            assert tree.tag == f"{MATHML}math" and tree.get("display") == "block"
            for element in tree.iter():
                assert element.tag.removeprefix(MATHML) in ELEMENTS, (card.id, element.tag)
                assert set(element.attrib) <= ATTRIBUTES, (card.id, element.attrib)
                assert "\\" not in (element.text or ""), (card.id, formula.latex)
            assert formula.says


def test_settings_are_those_that_are_declared() -> None:
    for card in all_cards():
        find = registry.find_method if isinstance(card, about.MethodCard) else registry.find_problem
        declared = find(card.id).settings
        assert [row.name for row in card.settings] == list(declared)
        for row in card.settings:
            setting = declared[row.name]
            assert (row.meaning, row.accepted) == (setting.meaning, setting.accepted)
            assert setting.parse(row.name, row.default) == setting.default, "a default is written as it can be given"


@pytest.mark.parametrize("name", shipped("methods"))
def test_properties_are_what_the_battery_finds(name: str) -> None:
    measured = about.method_card(name).measured
    findings = check_method(registry.find_method(name))
    for shown, found in zip(measured.findings, findings, strict=True):
        for field in ("name", "holds", "value", "sentence", "required"):
            assert getattr(shown, field) == getattr(found, field), (name, field)
        assert shown.answer == {True: "yes", False: "no", None: "–"}[found.holds]
    assert measured.conforms and not measured.refusal
    assert [found.question for found in measured.headline] == list(properties.QUESTIONS.values())
    assert {found.name for found in measured.described} == {found.name for found in findings if not found.required}


def test_the_battery_runs_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    monkeypatch.setattr(properties, "check_method", lambda method: calls.append(method) or check_method(method))
    properties.measure.cache_clear()
    assert about.method_card("ws") == about.method_card("ws")
    assert len(calls) == 1


def test_cards_cannot_be_changed() -> None:
    card = about.problem_card("two-wells@1")
    with pytest.raises(dataclasses.FrozenInstanceError):
        card.title = "another"  # type: ignore[misc]
    assert card == about.problem_card("two-wells")
    assert card.objectives == ("wells", "square")
    assert card.hypervolume_bounds is not None and card.hypervolume_bounds.reference == (5.0, 5.0)


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    with pytest.raises(UserError, match="pcgrad"):
        about.method_card("pcgrd")
    with pytest.raises(UserError, match="two-wells"):
        about.problem_card("two-welds")


PLUGIN = f'''
from mobench.core.method import Method
from mobench.core.registry import register
from mobench.core.settings import real

@register
class Hostile(Method):
    """First {HOSTILE}

    Second paragraph,
    on two lines.

        d = <b>g_1</b>
          + g_2
    """

    reference = "{HOSTILE}"
    strength: float = real(0.5, low=0.0, meaning="{HOSTILE}")

    def weights(self, step):
        return [1.0] * step.k
'''


def texts(value: Any) -> Iterator[tuple[type, str]]:
    """Yield every text inside a card."""
    if isinstance(value, str):
        yield type(value), value
    elif isinstance(value, tuple):
        for item in value:
            yield from texts(item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from texts(getattr(value, field.name))


def test_a_plugin_is_described_by_itself_and_stays_text(plugin: Callable[[str], None]) -> None:
    plugin(PLUGIN)
    card = about.method_card("hostile")
    assert card.title == "Hostile" and card.formulas == () and card.reference == about.Reference(HOSTILE)
    assert card.definition == (f"First {HOSTILE}", "Second paragraph, on two lines.")
    assert card.documentation[-1] == about.Block("d = <b>g_1</b>\n  + g_2", preformatted=True)
    assert card.settings == (about.SettingRow("strength", HOSTILE, "0.5", "a number in [0, inf)"),)
    assert card.measured.conforms
    assert all(kind is str for kind, _ in texts(card)), "nothing of a plugin is marked as safe"
    page = jinja2.Environment(autoescape=True).from_string("{% for text in texts %}<p>{{ text }}</p>{% endfor %}")
    shown = page.render(texts=[text for _, text in texts(card)])
    assert "&lt;script&gt;" in shown and not re.search(r"<(?!/?p>)", shown)


def test_a_plugin_cannot_take_what_is_written_about_another(plugin: Callable[[str], None]) -> None:
    plugin(PLUGIN.replace("class Hostile(Method):", 'class Hostile(Method):\n    name = "hostile-pcd"'))
    written("methods")["hostile-pcd"] = written("methods")["pcd"]
    try:
        assert about.method_card("hostile-pcd").formulas == ()
    finally:
        del written("methods")["hostile-pcd"]


def test_a_plugin_without_words_has_an_empty_definition(plugin: Callable[[str], None]) -> None:
    plugin(
        "from mobench.core.method import Method\nfrom mobench.core.registry import register\n"
        "@register\nclass Silent(Method):\n    def weights(self, step):\n        raise ValueError('<b>no</b>')\n"
    )
    card = about.method_card("silent")
    assert card.definition == () and card.documentation == () and card.reference.text == ""
    assert not card.measured.conforms
    assert any("<b>no</b>" in found.sentence for found in card.measured.findings)


def test_costs_are_medians_with_quartiles_of_each_problem() -> None:
    seconds = np.array([1.0, 2.0, 3.0, 4.0, 100.0])
    table = pd.DataFrame(
        {
            "method": ["mgda"] * 6 + ["ws"] * 5,
            "status": ["done"] * 5 + ["failed"] + ["done"] * 5,
            "problem_label": ["plane"] * 6 + ["plane"] * 4 + ["net"],
            "seconds_per_step": [*seconds, 1e9, *seconds],
            "method_seconds_per_step": [*seconds / 10, 1e9, *seconds / 10],
            "peak_memory": [1e6] * 6 + [np.nan] * 5,
            "backward_passes": [20] * 6 + [10] * 5,
            "steps": [10] * 11,
        }
    )
    (cost,) = about.cost_of(table, "mgda")
    assert (cost.problem, cost.runs) == ("plane", 5)
    assert cost.seconds_per_step == about.Spread(median=3.0, lower=2.0, upper=4.0)
    assert cost.method_seconds_per_step == about.Spread(median=0.3, lower=0.2, upper=0.4)
    assert cost.peak_memory == about.Spread(1e6, 1e6, 1e6)
    assert cost.backward_passes == about.Spread(2.0, 2.0, 2.0)
    net, plane = about.cost_of(table, "ws")
    assert (net.problem, net.runs, plane.runs) == ("net", 1, 4)
    assert net.peak_memory is None
    assert about.cost_of(table, "famo") == () == about.cost_of(pd.DataFrame(), "ws")
