"""How a run computes is a setting: deterministic algorithms, mixed precision, compiling."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mobench import UserError
from mobench.planning.plan import make_plan
from mobench.planning.suite import load_suite
from mobench.running.environment import environment, on_device
from mobench.training.arithmetic import deterministic_algorithms
from mobench.training.checkpoint import load_checkpoint, save_checkpoint
from tests.problems.compression.runs import few_steps, machine, spec, trained


def test_deterministic_algorithms_are_those_of_the_run_alone() -> None:
    with deterministic_algorithms(True):
        assert torch.are_deterministic_algorithms_enabled()
        with pytest.raises(RuntimeError, match="deterministic"):
            torch.zeros(2, 2).put_(torch.tensor([0, 0]), torch.ones(2))
    assert not torch.are_deterministic_algorithms_enabled()
    with deterministic_algorithms(False):
        assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize("before", [True, False])
def test_deterministic_algorithms_do_not_fill_new_memory(before: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.utils.deterministic, "fill_uninitialized_memory", before)
    with deterministic_algorithms(True):
        assert not torch.utils.deterministic.fill_uninitialized_memory
    assert torch.utils.deterministic.fill_uninitialized_memory is before


def flags() -> tuple[bool, bool]:
    return torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32


@pytest.mark.parametrize(("asked", "during"), [("true", (True, True)), ("false", (False, False)), ("auto", None)])
def test_tf32_is_as_the_run_says_and_afterwards_as_before(
    asked: str, during: tuple[bool, bool] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mobench.training import loop

    seen: list[tuple[bool, bool]] = []
    step = loop.Group.step

    def watched(group: loop.Group, *rest: object) -> None:
        seen.append(flags())
        step(group, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(loop.Group, "step", watched)
    before = flags()
    group_of_one = spec("ws", training=few_steps(1, tf32=asked))
    trained(group_of_one)
    assert (seen, flags()) == ([during or before], before)


def test_tf32_is_part_of_what_a_run_is_where_it_is_asked_for() -> None:
    suite = load_suite("compression", "quick")
    plain, auto, without = (
        make_plan(suite, {"methods": ["mgda"], **more}).specs
        for more in ({}, {"training.tf32": "auto"}, {"training.tf32": "false"})
    )
    assert [spec.id for spec in auto] == [spec.id for spec in plain] != [spec.id for spec in without]
    assert all("tf32" not in spec.training for spec in plain)
    with pytest.raises(UserError, match=r"training\.tf32"):
        make_plan(suite, {"training.tf32": "tru"})


def test_a_run_with_deterministic_algorithms_is_the_same_run_on_the_cpu_and_says_how_it_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mobench.training import loop

    seen: list[bool] = []
    step = loop.Group.step

    def watched(group: loop.Group, *rest: object) -> None:
        seen.append(torch.are_deterministic_algorithms_enabled())
        step(group, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(loop.Group, "step", watched)
    run = spec("ws", training=few_steps(2))
    plain = trained(run)
    with machine(deterministic=True):
        strict = trained(run)
        recorded = on_device(environment(), "cpu").hardware
    assert seen == [False, False, True, True]
    assert strict.metrics == plain.metrics
    assert recorded["deterministic"] is True and recorded["channels_last"] is True


def test_precision_and_compile_are_part_of_what_a_run_is() -> None:
    suite = load_suite("compression", "quick")
    plain, bf16, compiled = (
        make_plan(suite, {"methods": ["mgda"], **more}).specs
        for more in ({}, {"precision": "bf16"}, {"compile": "true"})
    )
    assert {spec.problem_settings["precision"] for spec in bf16} == {"bf16"}
    assert {spec.problem_settings["compile"] for spec in compiled} == {True}
    assert len({spec.id for part in (plain, bf16, compiled) for spec in part}) == 3 * len(plain)
    with pytest.raises(UserError, match="precision=bf16 has no effect in suite plane"):
        make_plan(load_suite("plane"), {"precision": "bf16"})


def test_a_checkpoint_of_another_device_is_read_on_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(torch.serialization, "location_tag", lambda storage: "cuda:0")
        save_checkpoint(tmp_path / "state.pt", {"parameters": [torch.arange(3.0)]})
    (weights,) = load_checkpoint(tmp_path / "state.pt")["parameters"]
    assert weights.device.type == "cpu" and weights.tolist() == [0.0, 1.0, 2.0]
