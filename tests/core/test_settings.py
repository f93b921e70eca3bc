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
    assert check_settings("x", Machine.settings, {"count": 5})["power"] == 1.0


def test_an_implicit_setting_shows_only_where_it_is_not_at_its_default():
    class Newer(Machine):
        added: int = integer(3, meaning="came later", implicit=True)

    assert Newer(added=3).configuration() == Machine().configuration()
    assert Newer(added=4).configuration() == {**Machine().configuration(), "added": 4}
    with pytest.raises(UserError, match=r"newer\.added=x"):
        Newer(added="x")
