"""Short compression runs for the tests of the whole chain, on the digits."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mobench.cli import main
from mobench.core.outcome import Outcome
from mobench.core.registry import find_method, find_problem
from mobench.core.resources import Resources
from mobench.core.spec import RunSpec
from mobench.training.loop import train
from mobench.training.optimizer import Training

PROBLEM = "compression@2"


def spec(
    method: str = "pcd", *, knobs: dict[str, Any] | None = None, training: dict[str, Any] | None = None, **settings: Any
) -> RunSpec:
    """Describe a run of one epoch at seed 0; `settings` are the problem's."""
    known = {"tau": 0.1} if method == "pcd" else {}
    chosen = {"optimizer": "adam", "lr": 0.02, "epochs": 1, "schedule": "cosine", **(training or {})}
    return RunSpec.of(
        find_problem(PROBLEM)(**settings),
        find_method(method)(**{**known, **(knobs or {})}),
        Training(**chosen).configuration(),
        0,
    )


def few_steps(count: int, **more: Any) -> dict[str, Any]:
    """Return training settings for so many steps."""
    return {"epochs": 0, "steps": count, **more}


def trained(run: RunSpec) -> Outcome:
    """Train in this process; the run must succeed."""
    (outcome,) = train([run])
    assert outcome.status == "done", outcome.error
    return outcome


@contextlib.contextmanager
def machine(**settings: Any) -> Iterator[None]:
    """Train under these resources."""
    import os

    from mobench.core.resources import VARIABLE

    before = os.environ.get(VARIABLE)
    Resources(**settings).export()
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        if before is not None:
            os.environ[VARIABLE] = before


def mobench(*arguments: str, code: int = 0) -> str:
    """Run a command in this process; return what it prints, on standard error for exit code 2."""
    out, err = io.StringIO(), io.StringIO()
    with machine(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        returned = main(arguments)
    assert returned == code, out.getvalue() + err.getvalue()
    return (err if code == 2 else out).getvalue()


def write_suite(folder: Path, **problem: Any) -> Path:
    """Write a suite with one run of PCD on the digits, or on what `problem` says."""
    settings = ", ".join(f"{key}: {value}" for key, value in problem.items())
    file = folder / "tiny.yaml"
    file.write_text(
        f"""
title: One short run
problems: {{{PROBLEM}: {{{settings}}}}}
methods: {{pcd: {{tau: 0.1}}}}
seeds: [0]
training: {{optimizer: adam, lr: 0.02, epochs: 3, schedule: cosine}}
""",
        encoding="utf-8",
    )
    return file
