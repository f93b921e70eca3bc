"""A trainer whose runs do what their spec says: succeed, raise, crash, hang or save a checkpoint."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mobench.core.outcome import Outcome
from mobench.core.spec import RunSpec


def spec(seed: int, act: str = "succeed", **settings: Any) -> RunSpec:
    return RunSpec("toy@1", {}, "actor@1", {"act": act, **settings}, {}, seed, {})


def specs(count: int, act: str = "succeed", **settings: Any) -> list[RunSpec]:
    return [spec(seed, act, **settings) for seed in range(count)]


def counted(root: Path, count: int) -> list[RunSpec]:
    """Return runs that leave a mark beside `root` each time they are trained."""
    return specs(count, "count", log=str(root.parent / "log"))


def train_slowly(group: Sequence[RunSpec], checkpoint: Path | None = None) -> list[Outcome]:
    time.sleep(0.05)
    return train(group, checkpoint)


def train(group: Sequence[RunSpec], checkpoint: Path | None = None) -> list[Outcome]:
    return [_act(member, checkpoint) for member in group]


def _act(run: RunSpec, checkpoint: Path | None) -> Outcome:
    act, settings = run.method_settings["act"], run.method_settings
    if act == "raise":
        raise ArithmeticError(f"seed {run.seed} cannot be trained")
    if act == "quit":
        sys.exit(3)
    if act == "interrupt":
        raise KeyboardInterrupt
    if act == "exit":
        os._exit(settings["code"])
    if act == "kill":
        for _ in range(settings.get("times", 1)):
            os.kill(os.getpid(), settings["signal"])
    if act == "segfault":
        ctypes.string_at(0)
    if act == "sleep":
        time.sleep(settings["seconds"])
    if act == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(settings["seconds"])
    if act == "checkpoint" and checkpoint is not None:
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        resumed = checkpoint.exists()
        checkpoint.write_text("state")
        if settings.get("then") == "hang" and not resumed:
            time.sleep(60)
        if settings.get("then") == "killed" and not resumed:
            os.kill(os.getpid(), signal.SIGKILL)
        if settings.get("then") == "die":
            os._exit(9)
        return outcome(run, resumed=float(resumed))
    if act == "infinite":
        return outcome(run, loss=float("inf"))
    if act == "count":  # leaves a mark per time it is trained
        with Path(settings["log"]).open("a") as log:
            log.write(f"{run.seed}\n")
    return outcome(run)


def outcome(run: RunSpec, **metrics: float) -> Outcome:
    return Outcome(
        "done",
        metrics={"value": run.seed * 0.5, **metrics},
        history={"step": [0, 1], "losses": [[1.0, 2.0], [0.5, 1.5]]},
        diagnostics={"active": {"mean": 0.5, "total": 1.0}},
        timings={"seconds": 0.01},
        backward_passes=2,
    )
