"""The check of suites that commands do before any work."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mobench.planning.suite import Suite


def refuse_mistakes(suites: Iterable[Suite], *, entries: bool = False) -> None:
    """Check that everything the suites name exists; `entries`: also the problems, methods and settings they run."""
    from mobench.planning.check import check_entries, check_suite

    for suite in suites:
        if entries:
            check_entries(suite)
        check_suite(suite, plot_options() if suite.plots else {})


def plot_options() -> dict[str, dict[str, Any]]:
    """Return the options of every plot by its name, with their defaults."""
    from mobench.core.registry import plots

    return {name: plot.options() for name, plot in plots().items()}
