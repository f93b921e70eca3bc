import math

import pytest

from mobench import Method, UserError, choice, flag, integer, real, reals
from mobench.core.settings import Configurable, check_settings


class Machine(Configurable):
    power: float = real(1.0, low=0.0, high=2.0, low_open=True, meaning="how strong")
    shares: float | tuple[float, ...] = reals(0.1, low=0.0, high=1.0, meaning="one or several")
    count: int = integer(3, low=1, high=9, meaning="how many")
    colour: str = choice("red", ("red", "green"), meaning="which")
    loud: bool = flag(False, meaning="whether")


def test_defaults_and_canonical_values():
    assert Machine().configuration() == {"power": 1.0, "shares": 0.1, "count": 3, "colour": "red", "loud": False}
    made = Machine(power="1e-3", shares=[1, 0.5], count=4.0, loud="true")
    assert made.configuration() == {"power": 1e-3, "shares": (1.0, 0.5), "count": 4, "colour": "red", "loud": True}
    assert isinstance(Machine(power=2).power, float)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"power": 0}, ["machine.power=0", "(0, 2]"]),
        ({"power": math.nan}, ["machine.power=nan"]),
        ({"power": math.inf}, ["machine.power=inf"]),
        ({"power": True}, ["machine.power=true"]),
        ({"power": "strong"}, ["machine.power=strong", "a number in (0, 2]"]),
        ({"shares": [0.5, 2]}, ["machine.shares=[0.5,2]", "list"]),
        ({"shares": []}, ["machine.shares=[]"]),
        ({"count": 2.5}, ["machine.count=2.5", "whole number from 1 up to 9"]),
        ({"count": 10}, ["machine.count=10"]),
        ({"count": 10**5000}, ["machine.count=0x", "…", "whole number from 1 up to 9"]),
        ({"power": 10**400}, ["machine.power=1000", "…"]),
        ({"power": None}, ["machine.power=None"]),
        ({"colour": "gren"}, ["machine.colour", "'gren'", "Did you mean 'green'?", "green, red"]),
        ({"loud": 1}, ["machine.loud=1", "true or false"]),
        ({"powr": 1}, ["setting of machine", "'powr'", "Did you mean 'power'?"]),
    ],
)
def test_refusals_name_key_value_and_what_is_accepted(values, words):
    with pytest.raises(UserError) as caught:
        Machine(**values)
    for word in words:
        assert word in str(caught.value)


def test_settings_are_inherited_and_extended():
    class Better(Machine):
        extra: int = integer(0, meaning="more")

    assert list(Better.settings) == [*Machine.settings, "extra"]
    assert "extra" not in Machine.settings


def test_a_method_is_named_after_its_class_and_errors_use_that_name():
    class Plain(Method):
        knob: float = real(0.5, low=0.0, high=1.0, meaning="a knob")

        def weights(self, step):
            return [1.0]

    assert Plain.name == "plain"
    with pytest.raises(UserError, match=r"plain\.knob=2"):
        Plain(knob=2)


def test_check_settings_fills_in_defaults():
    assert check_settings(Machine, {"count": 5})["power"] == 1.0


def test_infinity_is_accepted_only_where_a_declaration_says_so():
    class Bounded(Configurable):
        limit: float = real(1.0, low=0.0, infinite=True, meaning="how much")

    assert [Bounded(limit=value).limit for value in (2, "inf", math.inf)] == [2.0, math.inf, math.inf]
    assert Bounded.settings["limit"].accepted == "a number in [0, inf]"
    for value in (-math.inf, math.nan, -1):
        with pytest.raises(UserError, match=r"takes a number in \[0, inf\]"):
            Bounded(limit=value)


def test_any_name_may_be_a_setting():
    class Odd(Configurable):
        copy: int = integer(1, meaning="pydantic's models have a method of this name")
        model_config: int = integer(2, meaning="and this attribute")

    assert Odd(copy=3).configuration() == {"copy": 3, "model_config": 2}


def test_settings_of_several_bases_are_joined():
    class Loud(Configurable):
        volume: int = integer(11, meaning="how loud")

    class Both(Machine, Loud):
        pass

    assert set(Both.settings) == {*Machine.settings, "volume"}
    assert Both(volume=3, count=4).configuration()["volume"] == 3


def test_an_implicit_setting_shows_only_where_it_is_not_at_its_default():
    class Newer(Machine):
        added: int = integer(3, meaning="came later", implicit=True)

    assert Newer(added=3).configuration() == Machine().configuration()
    assert Newer(added=4).configuration() == {**Machine().configuration(), "added": 4}
    with pytest.raises(UserError, match=r"newer\.added=x"):
        Newer(added="x")
