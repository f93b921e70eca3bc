"""The interactive figure: its maths, run in a real browser, against the Python methods.

How far two directions may differ, both computed from the same Gram matrix: on random inputs by 1e-9 of
the direction's own length. Where gradients nearly cancel, d is the small difference of two long
vectors, and the last bit of an inner product moves it by more than that. There, and where Python takes
the inner products in its own way, 1e-9 is taken of Σ_i |w_i| ‖g_i‖, the lengths of the terms whose
sum d is. A direction that is zero is compared in the same way.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch
from playwright.sync_api import Page

import mobench
from mobench.core.registry import methods
from tests.leaderboard.browser import browser
from tests.leaderboard.figure import SHIPPED, Case, address, page, python_weights

__all__ = ["address", "browser", "page"]


def random_settings(name: str, rng: np.random.Generator) -> Case:
    """Draw every knob the method has for two objectives."""
    match name:
        case "auxinash":
            return {"p": rng.uniform(0.01, 0.99), "max_norm": 10 ** rng.uniform(-1, 1)}
        case "cagrad":
            return {"c": rng.uniform(0, 0.99), "rescale": str(rng.choice(["none", "1+c^2", "1+c"]))}
        case "famo":
            return {"floor": 10 ** rng.uniform(-9, -1)}
        case "mgda":
            return {"normalization": str(rng.choice(["none", "l2", "loss", "loss+"]))}
        case "pcd":
            tau = float(rng.choice([0.0, 0.02, 1.0, rng.uniform()]))
            chosen = {"tau": tau, "rescale": str(rng.choice(["primary", "none"]))}
            kind = str(rng.choice(["ema", "ema", "unit", "none"]))
            if kind != "ema":
                return {**chosen, "normalization": kind}
            return {
                **chosen,
                "beta": rng.uniform(0.5, 0.9999),
                "epsilon": float(rng.choice([0.0, 1e-8, 10 ** rng.uniform(-12, 1)])),
                "epsilon_form": str(rng.choice(["additive", "relative"])),
            }
        case "pcgrad":
            return {}
        case "ws" if rng.uniform() < 0.5:
            return {"weight": rng.uniform(), "form": "convex"}
        case "ws":
            return {"weight": 10 ** rng.uniform(-3, 3), "form": "penalty"}
    raise AssertionError(f"the figure does not know {name}")


def polar(length: float, angle: float) -> list[float]:
    return [length * math.cos(angle), length * math.sin(angle)]


def cases_of(pairs: list[tuple[list[float], list[float]]], seed: int) -> list[Case]:
    """Return one case for each pair of gradients and each method, with random knobs and losses."""
    rng = np.random.default_rng(seed)
    return [
        {
            "method": name,
            "gradients": pair,
            "settings": random_settings(name, rng),
            "losses": (10 ** rng.uniform(-6, 6, 2)).tolist(),
        }
        for pair in pairs
        for name in methods()
        if name in SHIPPED
    ]


def random_pairs(count: int) -> list[tuple[list[float], list[float]]]:
    """Return pairs of every angle with lengths from 1e-6 to 1e6; the last 1e-3 rad before opposites are degenerate.

    Every other pair has lengths within a factor of ten, where more than one gradient matters.
    """
    rng = np.random.default_rng(0)
    lengths, angles = 10 ** rng.uniform(-6, 6, (count, 2)), rng.uniform(-math.pi, math.pi, count)
    lengths[::2, 1] = lengths[::2, 0] * 10 ** rng.uniform(-1, 1, len(lengths[::2]))
    between = rng.uniform(-math.pi + 1e-3, math.pi - 1e-3, count)
    return [(polar(a, s), polar(b, s + t)) for (a, b), s, t in zip(lengths, angles, between, strict=True)]


def degenerate_pairs() -> list[tuple[list[float], list[float]]]:
    """Return zero, parallel, opposite, orthogonal and nearly dependent pairs, also of huge ratios."""
    zero, unit, slanted = [0.0, 0.0], [1.0, 0.0], [0.6, 0.8]
    exact = [(zero, zero), (zero, slanted), (slanted, zero), (unit, [0.0, 2.0]), (slanted, slanted)]
    for base, factor in itertools.product((unit, slanted), (1e-12, 1e-6, 0.5, 1.0, 3.0, 1e6, 1e12)):
        for sign in (1.0, -1.0):
            exact.append((base, [sign * factor * entry for entry in base]))
    exact += [([1e-150, 0.0], [0.0, 1.0]), ([-1.0, 1.0], [1e-160, 0.0]), ([1e70, 0.0], [-1.0, 1.0])]
    rng = np.random.default_rng(1)
    for _ in range(150):
        angle, off = rng.uniform(-math.pi, math.pi), 10 ** rng.uniform(-12, -1)
        lengths = [1.0, 1.0] if rng.uniform() < 0.5 else (10 ** rng.uniform(-6, 6, 2)).tolist()
        around = off if rng.uniform() < 0.3 else math.pi - off
        exact.append((polar(lengths[0], angle), polar(lengths[1], angle + around)))
    return exact


def in_page(page: Page, cases: list[Case]) -> list[Case]:
    """Return weights and direction of each case as the page computes them."""
    words = {"max_norm": "maxNorm", "epsilon_form": "epsilonForm"}
    sent = [
        {**case, "settings": {words.get(name, name): value for name, value in case["settings"].items()}}
        for case in cases
    ]
    script = """cases => cases.map(({method, gradients, settings, losses}) =>
        mobenchDirections.combine(method, gradients[0], gradients[1], settings, losses))"""
    answers: list[Case] = page.evaluate(script, sent)
    return answers


def test_the_figure_knows_every_shipped_method(page: Page) -> None:
    shipped = {name for name, plugin in methods().items() if plugin.__module__.startswith("mobench.methods.")}
    assert set(page.evaluate("mobenchDirections.methods")) == set(SHIPPED) == shipped


def test_directions_agree_on_a_thousand_random_inputs(page: Page) -> None:
    cases = cases_of(random_pairs(1000), seed=2)
    assert len(cases) == 7000
    worst = dict.fromkeys(SHIPPED, 0.0)
    for case, answer in zip(cases, in_page(page, cases), strict=True):
        direction, rows = np.array(answer["direction"]), np.array(case["gradients"])
        weights = python_weights(case)
        expected = weights @ rows
        length = float(np.linalg.norm(expected))
        assert length > 0.0, case
        worst[case["method"]] = max(worst[case["method"]], float(np.linalg.norm(direction - expected)) / length)

        given = {"losses": case["losses"], "lower_bounds": [0.0, 0.0], **case["settings"]}
        combined = mobench.combine(case["method"], torch.from_numpy(rows), **given).numpy()
        terms = float(np.abs(weights) @ np.linalg.norm(rows, axis=1))
        assert np.linalg.norm(direction - combined) <= 1e-9 * terms, case
    assert max(worst.values()) < 1e-9, worst


def test_directions_agree_where_gradients_are_degenerate(page: Page) -> None:
    cases = cases_of(degenerate_pairs() * 3, seed=3)
    for case, answer in zip(cases, in_page(page, cases), strict=True):
        rows, expected = np.array(case["gradients"]), python_weights(case)
        lengths = np.hypot(*rows.T)
        terms = float(np.abs(expected) @ lengths)
        assert np.linalg.norm(np.array(answer["direction"]) - expected @ rows) <= 1e-9 * terms, case


def test_weights_agree_at_the_default_settings(page: Page) -> None:
    cases = cases_of(random_pairs(100), seed=4)
    bare = [{**case, "settings": {}} for case in cases]
    for case, answer in zip(bare, in_page(page, bare), strict=True):
        np.testing.assert_allclose(answer["weights"], python_weights(case), rtol=1e-9, err_msg=case["method"])
