"""A program that trains each of the given runs twice, once through a real kill: `killed_run.py FOLDER < runs.json`.

It prints, for every run, whether the training died of SIGKILL, and what the whole and the resumed run ended with.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch

from mobench.core.method import Method
from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.core.streams import Streams
from mobench.training import loop
from mobench.training.optimizer import Training

STEPS, LAST = 24, 13
"""The length of a run, and the step in which it is killed."""


def spec_of(method: str, settings: dict[str, Any]) -> RunSpec:
    training = Training(optimizer="adam", lr=5e-3, steps=STEPS).configuration()
    return RunSpec.of(find_problem("multi-output")(), find_method(method)(**settings), training, 0)


def end_of(spec: RunSpec, checkpoint: Path | None) -> dict[str, Any]:
    fresh = spec.build_method()
    fresh.reset(4, Streams(spec.seed).numpy("method"))
    group = loop.Group([spec])
    if checkpoint is not None:
        group = loop._resumed(group, checkpoint)
    group.run(None, 1e9)
    (member,) = group.members
    outcome = group.outcome(member)
    assert outcome.status == "done", outcome.error
    weights = b"".join(tensor.detach().numpy().tobytes() for tensor in group.workload.parameters)
    return {
        "weights": hashlib.sha256(weights).hexdigest(),
        "fresh": str(fresh.state_dict()),
        "state": str(member.method.state_dict()),
        "losses": [outcome.metrics[name] for name in sorted(outcome.metrics)],
        "method_seconds": outcome.timings["method_seconds_per_step"],
        "steps": member.steps,
    }


def die_at(kind: type[Method], step: int) -> None:
    """Make every method object of the class kill its process in the given step, after it has changed its own state."""
    hook = "direction" if kind.overrides("direction") else "weights"
    original = getattr(kind, hook)

    def deadly(self: Method, seen: Any) -> Any:
        found = original(self, seen)
        if seen.iteration == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(kind, hook, deadly)


def main(folder: Path, runs: list[tuple[str, dict[str, Any]]]) -> None:
    torch.set_num_threads(1)
    for number, (method, settings) in enumerate(runs):
        spec, checkpoint = spec_of(method, settings), folder / f"{number}.ckpt"
        child = os.fork()
        if not child:
            die_at(find_method(method), LAST)
            loop.train([spec], checkpoint, 0.0)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        found = {
            "killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL,
            "saved": checkpoint.exists(),
            "resumed": end_of(spec, checkpoint),
            "whole": end_of(spec, None),
        }
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.load(sys.stdin))
