"""The shipped suites of the field: complete, with equal sweeps, and no configuration that is another in disguise."""

import pytest

from mobench.core.registry import methods
from mobench.planning.plan import make_plan
from mobench.planning.suite import included, load_suite, suite_files

FIELD = (
    "toy",
    "fronts",
    "fronts-three",
    "physics",
    "two-digits",
    "multi-output",
    "fairness",
    "celeba",
    "quantisation",
    "distillation",
)
BASELINES = {"plain"}
LATER = {"bloop", "cosine-gate", "dbgd", "modo", "png"}
"""Methods that came after the shipped results were made; they join the suites when all of these are run again."""
NEEDS_DATA = {"celeba"}
"""Suites that no machine can run without data that does not ship."""


def test_all_has_every_suite_that_ships():
    leaves = {name for name in suite_files() if not load_suite(name, "quick").include}
    assert sorted(included("all", "quick")) == sorted(leaves - NEEDS_DATA)


@pytest.mark.parametrize("name", FIELD)
def test_every_method_is_there(name):
    applicable = {method for method, kind in methods().items() if not kind.takes_proximal_steps}
    assert applicable - {*load_suite(name).methods} <= BASELINES | LATER


@pytest.mark.parametrize("profile", [None, "quick"])
@pytest.mark.parametrize("name", FIELD)
def test_sweeps_are_equal_and_no_two_configurations_do_the_same(name, profile):
    suite = load_suite(name, profile)
    tried: dict[str, set[str]] = {}
    for spec in make_plan(suite, {}).specs:
        settings = dict(spec.method_settings)
        preference = settings.get("preference")
        if preference is not None:  # only the shares count
            given = list(preference) if isinstance(preference, (list, tuple)) else [1.0]
            settings["preference"] = [round(part / sum(given), 9) for part in given]
        tried.setdefault(spec.method.partition("@")[0], set()).add(str(settings))
    planned = {method: _count(entry) for method, entry in suite.methods.items()}
    assert {method: len(found) for method, found in tried.items()} == planned
    counted = {method: len(entry) if isinstance(entry, list) else 1 for method, entry in suite.methods.items()}
    each = {count / counted[method] for method, count in planned.items() if method not in BASELINES}
    assert len(each - {1}) <= 1, "every form of a method that has a knob has as many values"


def _count(entry):
    total = 0
    for variant in entry if isinstance(entry, list) else [entry]:
        count = 1
        for value in variant.values():
            count *= len(value) if isinstance(value, list) else 1
        total += count
    return total
