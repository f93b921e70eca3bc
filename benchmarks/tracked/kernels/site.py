"""Building a small leaderboard site."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from mobench.leaderboard.site import SiteOptions, build_site
from mobench.planning.plan import make_groups
from mobench.running.executor import execute
from mobench.store.folder import Store

from . import Kernel, built_once
from .runner import tiny_plan


@cache
def results(folder: Path) -> Path:
    """Return a results folder with the sixty runs of a tiny suite."""
    plan, store = tiny_plan(1), Store(folder / "results")
    execute(make_groups(plan.specs), store, jobs=0)
    store.add_manifest(plan.suite, [spec.id for spec in plan.specs])
    return store.root


@built_once
def build(folder: Path) -> Kernel:
    """Build the site of `results` over that of the call before."""
    options = SiteOptions(results=results(folder), out=folder / "site")
    return lambda: build_site(options, say=_silent)


def kilobytes(folder: Path) -> float:
    """Return the size of all files of the site."""
    build(folder)()
    return sum(file.stat().st_size for file in (folder / "site").rglob("*") if file.is_file()) / 1000


def _silent(line: str) -> None:
    """Say nothing."""
