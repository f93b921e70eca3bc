"""The shared battery over every registered method, and what it measures of the seven that ship."""

from functools import cache
from typing import Any

import pytest

from mobench.conformance import Finding, check_method
from mobench.core.registry import find_method, methods

Case = tuple[str, dict[str, Any]]

VARIANTS: list[Case] = [
    ("pcd", {"tau": 0.0}),
    ("pcd", {"tau": (0.1, 0.2)}),
    ("pcd", {"epsilon_form": "relative"}),
    ("pcd", {"normalization": "unit"}),
    ("pcd", {"normalization": "none"}),
    ("pcd", {"rescale": "none", "tau": 0.5}),
    ("pcd", {"infeasible": "no-ascent"}),
    ("ws", {"form": "penalty", "weight": 3.0}),
    ("mgda", {"normalization": "l2"}),
    ("mgda", {"normalization": "loss"}),
    ("mgda", {"normalization": "loss+"}),
    ("cagrad", {"c": 0.9, "rescale": "1+c"}),
    ("famo", {"unknown_bound": -5.0}),
    ("auxinash", {"p": 0.9, "max_norm": 0.5}),
    ("nashmtl", {"every": 3, "max_norm": 10.0}),
    ("fairgrad", {"alpha": 1.0}),
    ("fairgrad", {"alpha": 0.5}),
    ("alignedmtl", {"scale": "rmse"}),
    ("graddrop", {"leak": 0.3}),
    ("sdmgrad", {"pull": 0.0}),
    ("dwa", {"period": 2}),
    ("epo", {"preference": (1.0, 2.0, 3.0), "tolerance": 10.0}),
    ("pmgda", {"sigma": 1.0}),
    ("lagrangian", {"restart": True, "threshold": 0.5}),
    ("augmented-lagrangian", {"multipliers": False, "rho": 10.0}),
    ("lexicographic", {"threshold": (1.0, 0.5)}),
    ("gradnorm", {"layer": "all", "lr": 0.5}),
    ("stch", {"preference": (1.0, 2.0, 3.0), "smoothing": 0.01}),
    ("ws", {"weight": (0.2, 0.3, 0.5)}),
    ("nashmtl", {"unsolved": "previous"}),
    ("auxinash", {"unsolved": "previous"}),
    ("fairgrad", {"unsolved": "previous", "alpha": 100.0}),
    ("moco", {"form": "softmax"}),
    ("sdmgrad", {"batches": "two"}),
    ("auxinash", {"powers": "hypergradient"}),
    ("dbgd", {"phi": "loss"}),
    ("dbgd", {"barrier": "secondaries"}),
    ("png", {"e": 0.0}),
    ("bloop", {"rho": 1.0, "weight": (0.5, 2.0)}),
]
CASES: list[Case] = [(name, {}) for name in methods()] + VARIANTS


def label(case: Case) -> str:
    name, settings = case
    return ",".join([name, *(f"{key}={value}" for key, value in settings.items())])


@cache
def _findings(case: str) -> dict[str, Finding]:
    (name, settings) = next(each for each in CASES if label(each) == case)
    return {finding.name: finding for finding in check_method(find_method(name), settings)}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", [label(case) for case in CASES])
def test_required_properties_hold(case: str) -> None:
    assert [finding for finding in _findings(case).values() if finding.failed] == []


GUARANTEES = (
    "symmetric in all objectives",
    "scale-invariant direction",
    "length follows the gradients",
    "no objective ascends",
)


@pytest.mark.parametrize("name", methods())
def test_a_method_has_each_guarantee_or_says_why_not(name: str) -> None:
    found = _findings(name)
    assert {each for each in GUARANTEES if not found[each].holds} == set(find_method(name).lacks) & set(GUARANTEES)
    assert all(len(why) > 20 for why in find_method(name).lacks.values())


MEASURED = {
    "reads only losses": {"ws", "famo"},
    "symmetric in all objectives": {"mgda", "pcgrad", "cagrad", "famo"},
    "symmetric in the secondaries": {"pcd", "ws", "mgda", "pcgrad", "cagrad", "famo", "auxinash"},
    "scale-invariant direction": {"famo", "auxinash"},
    "length follows the gradients": {"pcd", "ws", "mgda", "pcgrad", "cagrad", "famo"},
    "no objective ascends": {"mgda", "auxinash"},
    "no secondary ascends": {"pcd", "mgda", "auxinash"},
    "stops where gradients cancel": {"mgda", "cagrad", "famo", "auxinash"},
    "stops where zero is in the hull": {"mgda", "auxinash"},
    "stops at a stationary primary": {"pcd", "mgda"},
}


@pytest.mark.parametrize("measured", MEASURED)
def test_what_the_seven_methods_are_at_their_defaults(measured: str) -> None:
    seven = ("pcd", "ws", "mgda", "pcgrad", "cagrad", "famo", "auxinash")
    assert {name for name in seven if _findings(name)[measured].holds} == MEASURED[measured]


@pytest.mark.parametrize(
    ("case", "measured", "holds"),
    [
        ("pcd,epsilon_form=relative", "scale-invariant direction", True),
        ("pcd,normalization=unit", "scale-invariant direction", True),
        ("pcd,normalization=none", "scale-invariant direction", False),
        ("pcd,tau=0.0", "no objective ascends", True),
        ("pcd,tau=0.0", "stops where gradients cancel", True),
        ("pcd,tau=(0.1, 0.2)", "symmetric in the secondaries", False),
        ("pcd,tau=(0.1, 0.2)", "no secondary ascends", True),
        ("pcd,rescale=none,tau=0.5", "stops at a stationary primary", False),
        ("pcd,rescale=none,tau=0.5", "length follows the gradients", False),
        ("mgda,normalization=l2", "scale-invariant direction", True),
        ("mgda,normalization=loss", "scale-invariant direction", True),
        ("mgda,normalization=loss+", "scale-invariant direction", False),
        ("mgda,normalization=l2", "no objective ascends", True),
        ("mgda,normalization=loss", "no objective ascends", True),
        ("mgda,normalization=loss+", "no objective ascends", True),
        ("fairgrad,alpha=1.0", "scale-invariant direction", True),
        ("sdmgrad,pull=0.0", "no objective ascends", True),
        ("sdmgrad,pull=0.0", "stops where zero is in the hull", True),
    ],
)
def test_what_options_change(case: str, measured: str, holds: bool) -> None:
    assert _findings(case)[measured].holds is holds


def test_pcds_additive_epsilon_is_nearly_scale_invariant_and_a_weighted_sum_is_not() -> None:
    pcd, ws = (_findings(name)["scale-invariant direction"].value for name in ("pcd", "ws"))
    assert isinstance(pcd, float) and isinstance(ws, float)
    assert 1e-9 < pcd < 1e-3 < 1.0 < ws
    answers = [_findings(name)["scale-invariant direction"].answer for name in ("pcd", "ws", "famo")]
    assert answers == ["nearly (2e-5)", "no", "yes"]
    assert _findings("pcd")["length on orthonormal gradients"].answer == "–"
    assert not any(found.nearly for found in _findings("ws").values()), "a share of zero is no small distance"


@pytest.mark.parametrize(
    ("name", "degree"),
    [
        ("auxinash", 0),
        ("nashmtl", 0),
        ("fairgrad", -1 / 3),
        ("fairgrad,alpha=0.5", 1 / 3),
        ("mgda,normalization=loss", 0),
        ("mgda,normalization=loss+", -1),
        ("pcd", 1),
    ],
)
def test_degree_of_the_updates_length(name: str, degree: int) -> None:
    assert _findings(name)["length follows the gradients"].value == pytest.approx(degree, abs=1e-9)


@pytest.mark.parametrize(("name", "read"), [("ws", "nothing"), ("famo", "losses, lower bounds"), ("pcgrad", "gram")])
def test_what_is_read(name: str, read: str) -> None:
    assert _findings(name)["reads only losses"].value == read


def test_pcgrad_is_symmetric_in_distribution_only() -> None:
    finding = _findings("pcgrad")["symmetric in all objectives"]
    assert "mean over 500 draws" in finding.sentence
