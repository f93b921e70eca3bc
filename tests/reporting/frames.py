"""Small results tables made by hand."""

from __future__ import annotations

import pandas as pd

from mobench.core.registry import plots
from mobench.planning.suite import Suite
from mobench.reporting.plots import figure_of, house_style
from mobench.reporting.plots.style import color_contenders
from mobench.scoring.contender import with_contenders
from mobench.scoring.results import SuiteResults

METHODS = ("pcd", "ws", "mgda")


def run(method, seed, *, instance="a", status="done", problem="toy@1", settings=None, **columns):
    settings = settings or {}
    inside = ", ".join(f"{name}={value}" for name, value in settings.items())
    label = f"{method}({inside})" if inside else method
    return {
        "id": f"{problem}{instance}{label}{seed}",
        "problem": problem,
        "method": method,
        "method_label": label,
        "problem_label": problem,
        "seed": seed,
        "status": status,
        "configuration": f"{instance}/{label}",
        "instance": instance,
        **{f"method.{name}": value for name, value in settings.items()},
        **columns,
    }


def sweep(method, knob, values_by_setting, *, metrics=("chosen_on", "reported"), **common):
    """Return runs of a sweep: `{setting: [(select, value) per seed]}`; None is a failed seed."""
    rows = []
    for setting, seeds in values_by_setting.items():
        for seed, pair in enumerate(seeds):
            settings = {knob: setting} if knob else {}
            if pair is None:
                rows.append(run(method, seed, status="failed", settings=settings, **common))
            else:
                rows.append(run(method, seed, settings=settings, **dict(zip(metrics, pair, strict=True)), **common))
    return rows


def table(*parts, split=()):
    return with_contenders(pd.DataFrame([row for part in parts for row in part]), split)


def results(runs, problem=None, **more):
    """Return a table as the results of a suite in which every run is of the given problem."""
    built = {} if problem is None else dict.fromkeys(runs["instance"], problem)
    return SuiteResults(Suite(name="s", profile="p", title="t", methods=dict.fromkeys(METHODS)), runs, built, **more)


def plot_of(name, found, best=()):
    """Return a plot in which the best contenders, by default the first, are in colour."""
    methods = {name: found.methods[name] for name in found.order}
    return color_contenders(plots()[name](), methods, best or list(methods))


def drawn(name, found, frame=None, best=(), **options):
    """Return the figure of a plot, drawn in our style, of these numbers or of those that it reads."""
    plot = plot_of(name, found, best)
    with house_style():
        figure = figure_of(plot, plot.data(found, **options) if frame is None else frame, found.metrics)
        figure.canvas.draw()
    return figure


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]
