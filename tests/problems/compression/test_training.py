"""Training a compressible network: what a seed fixes, and what each setting does and does not change."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from mobench.core.outcome import Outcome
from mobench.core.spec import RunSpec
from mobench.core.streams import Streams
from mobench.problems.compression.export_run import rebuilt
from mobench.problems.compression.networks import penalised
from mobench.problems.compression.penalties import proximal_step
from mobench.problems.compression.task import KINDS, CompressionTask
from mobench.running.executor import execute
from mobench.store.folder import Store
from mobench.training.loop import Group, Member, train
from tests.problems.compression.runs import few_steps, machine, spec, trained


def same_weights(first: Outcome, second: Outcome) -> bool:
    return all(torch.equal(tensor, second.artifact[name]) for name, tensor in first.artifact.items())


def penalised_weights(run: RunSpec, outcome: Outcome) -> dict[str, Tensor]:
    model = rebuilt(run.build_problem(), outcome.artifact)
    return {name: weight.detach() for name, weight in penalised(model)}


@pytest.mark.parametrize("penalty", ["group-lasso", "l1-nuclear"])
def test_a_seed_fixes_every_bit(penalty: str) -> None:
    run = spec(penalty=penalty, training=few_steps(15))
    first, again = trained(run), trained(run)
    assert first.metrics == again.metrics
    assert first.history == again.history
    assert same_weights(first, again)


def test_two_methods_at_one_seed_start_from_the_same_losses() -> None:
    losses = [trained(spec(method, training=few_steps(1))).history["losses"][0] for method in ("pcd", "ws", "mgda")]
    assert losses[0] == losses[1] == losses[2]


def test_scale_multiplies_every_secondary_and_nothing_else() -> None:
    plain, scaled = (trained(spec(penalty="l1-nuclear", scale=scale, training=few_steps(1))) for scale in (1.0, 4.0))
    assert np.array(scaled.history["losses"][0]) == pytest.approx(np.array(plain.history["losses"][0]) * [1, 4, 4])
    before, after = (np.array(outcome.history["gradient_norms"][0]) for outcome in (plain, scaled))
    assert after == pytest.approx(before * [1, 4, 4])


def test_rescaled_secondaries_leave_scale_free_pcd_where_it_was_and_move_a_weighted_sum() -> None:
    knobs: dict[str, dict[str, Any]] = {"pcd": {"epsilon_form": "relative"}, "ws": {}}
    for method, unchanged in (("pcd", True), ("ws", False)):
        # A power of two scales floating-point numbers without rounding, so equality can be exact.
        plain, scaled = (
            trained(spec(method, knobs=knobs[method], scale=scale, training=few_steps(15))) for scale in (1.0, 1024.0)
        )
        assert same_weights(plain, scaled) == unchanged
        assert (plain.metrics["log10/group-lasso"] == scaled.metrics["log10/group-lasso"]) == unchanged


@pytest.mark.parametrize("penalty", ["group-lasso", "l1-nuclear"])
def test_a_proximal_step_follows_the_update_with_threshold_lambda_times_lr(penalty: str) -> None:
    training = few_steps(1, lr=0.1, schedule="constant")
    off, on = (spec(penalty=penalty, prox=strength, training=training) for strength in (0.0, 2.0))
    before, after = (penalised_weights(run, trained(run)) for run in (off, on))
    kinds = off.build_problem().objectives()[1:]
    for name, contiguous in before.items():
        weight = contiguous.to(memory_format=torch.channels_last)  # norms are summed in the order of training
        proximal_step([KINDS[kind]([weight], [0]) for kind in kinds], 2.0 * 0.1)
        # A spectrum is shrunk in float64 where networks step together, and here in float32.
        tolerance = 0.0 if penalty == "group-lasso" else 1e-6
        torch.testing.assert_close(weight, after[name], rtol=0.0, atol=tolerance)


def test_only_a_proximal_step_makes_exact_zeros() -> None:
    training = few_steps(10, lr=0.05)
    off, on = (trained(spec(prox=strength, training=training)).metrics for strength in (0.0, 3.0))
    assert off["parameter_sparsity"] == off["group_sparsity"] == 0
    assert on["group_sparsity"] > 0.1 and on["parameter_sparsity"] > 0.01


def test_a_second_look_at_the_losses_moves_no_statistics() -> None:
    task = CompressionTask(spec().build_problem(), Streams(0))
    batch = next(task.batches())
    loss = float(task.losses(batch)[0].detach())
    before = {name: buffer.clone() for name, buffer in task.model.named_buffers()}
    after = task.losses_after(batch)
    assert after[0] == loss, "the batch's own statistics are to be used, as in training"
    assert all(torch.equal(buffer, before[name]) for name, buffer in task.model.named_buffers())
    task.losses(batch)
    assert not all(torch.equal(buffer, before[name]) for name, buffer in task.model.named_buffers())


def test_a_second_look_is_the_same_after_an_evaluation() -> None:
    task = spec("plain").build_problem().start(Streams(0))
    assert isinstance(task, CompressionTask)
    batch = next(task.batches())
    before = task.losses_after(batch)
    task.epoch_metrics()
    assert task.losses_after(batch) == before


def test_famo_looks_twice_and_its_statistics_count_each_batch_once() -> None:
    artifact = trained(spec("famo", training=few_steps(6))).artifact
    counts = {int(tensor) for name, tensor in artifact.items() if name.endswith("num_batches_tracked")}
    assert counts == {6}


def test_learned_powers_see_validation_images_and_resume_bit_identically(tmp_path: Path, monkeypatch) -> None:
    run = spec("auxinash", knobs={"powers": "learned", "power_every": 3}, training=few_steps(14))
    whole = trained(run)
    fixed = trained(spec("auxinash", training=few_steps(14)))
    assert whole.diagnostics["power"]["mean"] != 0.5
    assert (fixed.backward_passes, whole.backward_passes) == (14, 19), "one pass more at steps 0, 3, 6, 9 and 12"
    assert whole.history["losses"][0] == fixed.history["losses"][0]
    counts = [outcome.artifact[name] for outcome in (whole, fixed) for name in outcome.artifact if "tracked" in name]
    assert set(map(int, counts)) == {14}, "validation images leave no trace in the statistics"
    step = Group.step

    def die_at_8(self: Group, alive: list[Member], sample: bool) -> None:
        if self.iteration == 8:
            raise KeyboardInterrupt
        step(self, alive, sample)

    monkeypatch.setattr(Group, "step", die_at_8)
    with pytest.raises(KeyboardInterrupt):
        train([run], tmp_path / "run.pt", checkpoint_seconds=0.0)
    monkeypatch.setattr(Group, "step", step)
    (resumed,) = train([run], tmp_path / "run.pt", checkpoint_seconds=1e9)
    assert resumed.timings["steps"] == 14
    assert resumed.history == whole.history
    assert same_weights(resumed, whole)


def test_bf16_trains_with_weights_in_float32() -> None:
    # Without oneDNN: its AMX kernels end the process on virtual machines that announce AMX and forbid it.
    with torch.backends.mkldnn.flags(enabled=False):
        outcome = trained(spec(precision="bf16", training={"epochs": 2}))
    assert {tensor.dtype for tensor in outcome.artifact.values()} == {torch.float32, torch.int64}
    assert outcome.metrics["accuracy"] > 80
    first = trained(spec(training=few_steps(1))).history["losses"][0][0]
    assert outcome.history["losses"][0][0] != first
    assert outcome.history["losses"][0][0] == pytest.approx(first, rel=2e-2)


def test_channels_last_is_the_same_training_up_to_rounding() -> None:
    run = spec(penalty="l1-nuclear", training={"epochs": 2})
    contiguous = trained(run)
    with machine(channels_last=True):
        task = CompressionTask(run.build_problem(), Streams(0))
        assert task.penalised[1].is_contiguous(memory_format=torch.channels_last)
        other = trained(run)
    for name in ("losses", "gradient_norms"):
        assert other.history[name][0] == pytest.approx(contiguous.history[name][0], rel=1e-4)
    assert other.metrics["accuracy"] == pytest.approx(contiguous.metrics["accuracy"], abs=3.0)


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler on the CPU")
def test_a_compiled_network_trains_the_same() -> None:
    run, again = (spec("pcd", training=few_steps(2), **more) for more in ({}, {"compile": True}))
    assert run.id != again.id and "compile" not in run.problem_settings
    eager, compiled = trained(run), trained(again)
    assert compiled.timings["compile_seconds"] > 0 and "compile_seconds" not in eager.timings
    assert compiled.metrics.keys() == eager.metrics.keys()
    assert np.array(compiled.history["losses"]) == pytest.approx(np.array(eager.history["losses"]), rel=1e-5)
    assert compiled.artifact.keys() == eager.artifact.keys()


@pytest.mark.parametrize("settings", [{}, {"penalty": "l1-nuclear"}, {"penalty": "l1-nuclear", "prox": 1e-3}])
def test_a_loss_that_leaves_the_finite_numbers_fails_at_that_step_and_the_rest_goes_on(
    settings: dict[str, Any], tmp_path: Any
) -> None:
    store = Store(tmp_path / "results")
    wild = spec(training=few_steps(50, lr=1e36, schedule="constant"), **settings)
    tame = spec(training=few_steps(2), **settings)
    tally = execute([[wild], [tame]], store, jobs=0)
    assert (tally.done, tally.failed) == (1, 1)
    outcome = store.load(wild.id).outcome
    assert outcome.status == "failed" and outcome.reason.startswith("mobench.errors.NonFiniteError")
    assert outcome.failed_at_step is not None and 0 < outcome.failed_at_step < 50
    assert outcome.history["step"] == list(range(outcome.failed_at_step)), "the way there is kept"
    assert outcome.metrics == {}
    assert not store.artifact(wild.id).exists() and store.artifact(tame.id).exists()
