"""The survey of all methods for the atlas: their updates on the same random gradients, compared as unit vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np

from mobench.conformance.finding import FAILURES
from mobench.conformance.scenes import Scene, WatchedStep, Watcher
from mobench.core.method import Matrix, Method, Vector
from mobench.core.settings import Setting
from mobench.core.threads import one_thread
from mobench.errors import UserError
from mobench.scoring.atlas import Atlas, Classes, Column, Comparison, Condition, label_of, method_of, several_methods
from mobench.training.step import take_step

EQUAL, NEARLY = 1e-10, 1e-5
"""Unit vectors, and updates relative to their length, that differ by no more count as equal, or as nearly equal."""

SCREENED = 24
"""After so many first steps the methods that have shown to be different from all others are done."""

DRAWS, RUNS, STEPS = 1000, 4, 120
"""First steps, runs and their length, which is more than twice any default period of a method."""


def search_points(setting: Setting) -> list[Any]:
    """Return the limits of a setting and three points inside, which its constructor may refuse.

    Every choice; between two limits an even spread, else the power of ten of the default and those beside it.
    """
    if setting.choices or setting.kind == "flag":
        return list(setting.choices or (False, True))
    if setting.kind not in ("real", "reals", "integer"):
        return []
    low, high = setting.interval[:2] if setting.interval else (1.0, math.inf)
    if math.isfinite(low) and math.isfinite(high):
        return [float(point) for point in np.linspace(low, high, 5)]
    scale = 10.0 ** math.floor(math.log10(abs(setting.default))) if setting.default else 1.0
    points = [*(limit for limit in (low, high) if math.isfinite(limit)), scale / 10.0, scale, 10.0 * scale]
    return [round(point) for point in points] if setting.kind == "integer" else points


def forms_of(method: type[Method]) -> dict[str, Method]:
    """Return a method by label: at its defaults, and with one setting at a time at each of `search_points`."""
    varied = [{name: point} for name, setting in method.settings.items() for point in search_points(setting)]
    made: dict[str, Method] = {}
    for settings in ({}, *varied):
        try:
            form = method(**settings)
        except UserError:
            continue
        made.setdefault(label_of(method, {name: getattr(form, name) for name in form.settings}), form)
    return made


def survey(
    methods: Iterable[type[Method]],
    counts: Sequence[int] = (2, 3, 6),
    draws: int = DRAWS,
    runs: int = RUNS,
    report: Callable[[str], None] = lambda words: None,
) -> Atlas:
    """Compare all methods with each other, on random gradients of every kind."""
    compared, left_out = [], {}
    for method in methods:
        if method.takes_proximal_steps:
            left_out[method.name] = "no direction: it takes proximal steps on the secondaries after the update"
        else:
            compared.append(method)
    labelled = {label: form for method in compared for label, form in forms_of(method).items()}
    forms = dict(sorted(labelled.items(), key=lambda form: "(" in form[0]))
    columns: list[Column] = []
    with one_thread(), np.errstate(all="ignore"):
        for condition in (Condition(*kind) for kind in product(counts, (True, False), (False, True))):
            report(condition.words)
            columns += _columns(condition, forms, draws, runs, left_out)
    return Atlas(draws, runs, STEPS, tuple(method.name for method in compared), left_out, tuple(columns))


def _columns(
    condition: Condition, forms: Mapping[str, Method], draws: int, runs: int, left_out: dict[str, str]
) -> tuple[Column, Column]:
    """Compare first steps, then, of the methods that agree there, whole runs."""
    rng = np.random.default_rng([condition.k, condition.conflict, condition.equal])
    firsts = [random_run(condition, rng, 1) for _ in range(draws)]
    whole = [random_run(condition, rng, STEPS) for _ in range(runs)]
    columns = []
    for shown in (firsts[:SCREENED], firsts, whole):
        updates = {label: _updates(label, form, shown, left_out) for label, form in forms.items()}
        answers = {label: update for label, update in updates.items() if update is not None}
        column, related = _relations(condition, shown is whole, answers)
        columns.append(column)
        forms = {label: form for label, form in forms.items() if label in related}
    return columns[1], columns[2]


def random_run(condition: Condition, rng: np.random.Generator, steps: int) -> list[tuple[Scene, Scene]]:
    """Return the scenes of a run, each with that of another batch; losses fall to a few percent in `STEPS` steps."""
    losses = rng.uniform(0.5, 2.0, size=condition.k)
    scenes = []
    for _ in range(steps):
        after = losses * np.exp(rng.normal(-0.03, 0.1, size=condition.k))
        here, elsewhere = (random_gradients(condition, rng) for _ in range(2))
        other = losses * np.exp(rng.normal(0.0, 0.1, size=condition.k))
        bounds = np.zeros(condition.k)
        scenes.append((Scene(here, losses, bounds, after), Scene(elsewhere, other, bounds, other)))
        losses = after * np.exp(rng.normal(0.0, 0.1, size=condition.k))
    return scenes


def random_gradients(condition: Condition, rng: np.random.Generator) -> Matrix:
    """Return K×(K+4) random gradients; without conflict each has a common part, as large as it takes."""
    k, n = condition.k, condition.k + 4
    while True:
        units = _units(rng.normal(size=(k, n)))
        common = _units(rng.normal(size=(1, n)))
        while not condition.conflict and (units @ units.T).min() < 0.0:
            units = _units(units + rng.uniform(0.0, 0.3) * common)
        if ((units @ units.T).min() < 0.0) == condition.conflict:
            lengths = 10.0 ** rng.uniform(-1.0, 1.0, size=1 if condition.equal else k)
            return np.asarray(units * np.broadcast_to(lengths, k)[:, None])


def _updates(
    label: str, method: Method, runs: Sequence[Sequence[tuple[Scene, Scene]]], left_out: dict[str, str]
) -> Matrix | None:
    """Return the method's update at every step of every run; None where it refuses, of which the defaults tell why."""
    updates = []
    try:
        for seed, run in enumerate(runs):
            method.reset(run[0][0].k, np.random.default_rng(seed))
            for iteration, (scene, other) in enumerate(run):
                watcher = Watcher(scene)
                take_step(method, WatchedStep(scene, watcher, iteration, STEPS, other), watcher)
                updates.append(watcher.update)
                if method.overrides("observe"):
                    method.observe(scene.after.copy())
    except FAILURES as error:
        if label == method.name:
            left_out[f"{label} at K = {runs[0][0][0].k}"] = f"{type(error).__name__}: {error}"
        return None
    return np.array(updates)


def _units(rows: Matrix) -> Matrix:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0.0, lengths, 1.0))


def _relations(condition: Condition, whole_run: bool, updates: Mapping[str, Matrix]) -> tuple[Column, set[str]]:
    """Return the relations between methods, and the labels of all that are related."""
    units = {label: _units(rows) for label, rows in updates.items()}

    def apart(one: str, other: str) -> tuple[Vector, Vector]:
        """Return by how much unit vectors differ step by step, and by how much from opposite ones."""
        pair = units[one], units[other]
        return np.linalg.norm(pair[0] - pair[1], axis=1), np.linalg.norm(pair[0] + pair[1], axis=1)

    def one_line(one: str, other: str) -> bool:
        return bool(np.minimum(*apart(one, other)).max() <= NEARLY)

    def one_direction(one: str, other: str) -> bool:
        return bool(apart(one, other)[0].max() <= EQUAL)

    def one_update(one: str, other: str) -> bool:
        lengths = np.linalg.norm(updates[one], axis=1)
        return bool((np.linalg.norm(updates[one] - updates[other], axis=1) <= EQUAL * lengths).all())

    lines = [line for line in _grouped(updates, one_line) if len({method_of(label) for label in line}) > 1]
    classes, opposite, nearly = [], [], []
    for line in lines:
        directions = _grouped(line, one_direction)
        classes += [tuple(map(tuple, _grouped(direction, one_update))) for direction in directions]
        for first, second in combinations(directions, 2):
            pair = next((pair for pair in product(first, second) if len(set(map(method_of, pair))) > 1), None)
            if pair is None:
                continue
            same, reverse = apart(*pair)
            if np.minimum(same, reverse).max() <= EQUAL:
                opposite.append(Comparison(*pair, float((reverse < same).mean())))
            elif (same <= reverse).all():
                nearly.append(Comparison(*pair, float(same.max())))
    kept: Classes = several_methods(classes)
    column = Column(condition, whole_run, kept, tuple(opposite), tuple(nearly))
    return column, {label for line in lines for label in line}


def _grouped(labels: Iterable[str], same: Callable[[str, str], bool]) -> list[list[str]]:
    """Return groups of labels, each of which is the same as one before it in its group."""
    groups: list[list[str]] = []
    for label in labels:
        group = next((group for group in groups if any(same(member, label) for member in group)), None)
        if group is None:
            groups.append([label])
        else:
            group.append(label)
    return groups
