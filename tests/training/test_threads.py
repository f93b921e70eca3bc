"""A run's numbers do not depend on how many threads its environment sets, and a user's own loop keeps its threads."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl  # type: ignore[import-untyped]
import torch

from mobench import Method, MultiObjective, Step, combine
from mobench.core.threads import one_thread
from mobench.training.loop import train
from tests.problems.compression.runs import few_steps, spec

TWO = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
ONE = dict.fromkeys(TWO, "1")
SCRIPT = """
import json
from mobench.training.loop import train
from tests.problems.compression.runs import few_steps, spec

runs = [spec("pcd", training=few_steps(20)), spec("ws", training=few_steps(20), penalty="l1-nuclear")]
print(json.dumps([[outcome.metrics, outcome.history["losses"]] for run in runs for outcome in train([run])]))
"""


def threads() -> set[int]:
    """Return the numbers of threads of torch and of every library with a pool."""
    return {torch.get_num_threads(), *(pool["num_threads"] for pool in threadpoolctl.threadpool_info())}


@pytest.fixture
def three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    with threadpoolctl.threadpool_limits(3):
        yield
    torch.set_num_threads(before)


def test_numbers_are_the_same_whatever_the_environment_says() -> None:
    printed = []
    for variables in (ONE, TWO):
        environment = {**os.environ, **variables, "PYTHONPATH": str(Path(__file__).parents[2])}
        done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert printed[0] == printed[1]


class Witness(Method):
    """Note how many threads there are."""

    name = "witness-of-threads"
    seen: set[int]

    def weights(self, step: Step) -> np.ndarray:
        step.gram  # noqa: B018 - what it costs is computed here
        Witness.seen = threads()
        return np.ones(step.k)


@pytest.mark.usefixtures("three_threads")
def test_training_has_one_thread_and_puts_back_what_was(monkeypatch: pytest.MonkeyPatch) -> None:
    from mobench.core import registry

    monkeypatch.setitem(registry._found["methods"], Witness.name, Witness)
    before = threads()
    assert train([spec(Witness.name, training=few_steps(2))])[0].status == "done"
    assert Witness.seen == {1}
    assert threads() == before != {1}
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert threads() == before


def own_loop_with_front_end(losses: Callable[[], list[torch.Tensor]], parameters: list[torch.Tensor]) -> None:
    MultiObjective(Witness(), parameters).backward(losses())


def own_loop_with_combine(losses: Callable[[], list[torch.Tensor]], parameters: list[torch.Tensor]) -> None:
    rows = [torch.cat([g.flatten() for g in torch.autograd.grad(loss, parameters)]) for loss in losses()]
    combine(Witness(), torch.stack(rows))


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("own_loop", [own_loop_with_front_end, own_loop_with_combine])
def test_a_loop_of_ones_own_keeps_its_threads(own_loop: Callable[..., None]) -> None:
    layer = torch.nn.Linear(300, 300, bias=False)
    images = torch.randn(8, 300)
    before = threads()
    own_loop(lambda: [layer(images).square().mean(), layer.weight.abs().sum()], list(layer.parameters()))
    assert Witness.seen == before == threads()


def test_a_library_that_a_run_brings_has_one_thread_in_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = next(pool["filepath"] for pool in threadpoolctl.threadpool_info() if pool["internal_api"] == "openblas")
    library = shutil.copy(known, tmp_path / "libopenblas_of_a_run.so")
    (tmp_path / "brings_threads.py").write_text(f"import ctypes\nlibrary = ctypes.CDLL({str(library)!r})\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    seen = []
    for _ in range(2):
        with one_thread():
            importlib.import_module("brings_threads")
            pools = threadpoolctl.threadpool_info()
            seen += [pool["num_threads"] for pool in pools if pool["filepath"] == str(library)]
    assert len(seen) == 2
    assert seen[1] == 1
