"""Compression beyond pruning: exact gradients, measured as declared, teachers shared by seed, ids that stay."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from mobench.core.registry import find_problem
from mobench.core.streams import Streams
from mobench.core.threads import one_thread
from mobench.errors import UserError
from mobench.planning.plan import make_plan
from mobench.planning.suite import load_suite
from mobench.problems.compression.distillation import distillation_loss
from mobench.problems.compression.metrics import BITS
from mobench.problems.compression.quantisation import Quantisation, quantise
from mobench.problems.compression.stacked_penalties import StackedQuantisation
from mobench.problems.compression.task import CompressionTask
from tests.problems.compression.runs import few_steps, spec, trained


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_the_gradient_meets_difference_quotients_also_at_the_largest_weight(bits: int) -> None:
    generator = torch.Generator().manual_seed(bits)
    weights = [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in ((6, 2, 3, 3), (5, 4))]
    penalty = Quantisation(weights, (0, 1), 3.0, bits=bits)
    penalty.update()
    assert penalty.value == pytest.approx(penalty.evaluate(), rel=1e-14)
    for index, weight in enumerate(weights):
        slope = penalty.gradient(index)
        assert slope is not None
        flat, h = weight.view(-1), 1e-7
        for place in {int(flat.abs().argmax()), *range(flat.numel())}:
            before = flat[place].item()
            flat[place] = before + h
            ahead = penalty.evaluate()
            flat[place] = before - h
            behind = penalty.evaluate()
            flat[place] = before
            assert slope.view(-1)[place].item() == pytest.approx((ahead - behind) / (2 * h), abs=2e-7)


def test_the_error_does_not_depend_on_the_scale_and_is_zero_on_the_grid_and_for_no_weights() -> None:
    weight = torch.randn(7, 5, generator=torch.Generator().manual_seed(0))
    values = [Quantisation([factor * weight], [0], bits=3).evaluate() for factor in (1.0, 2.0**-20)]
    assert values[0] == pytest.approx(values[1], rel=1e-6) and values[0] > 1e-3
    for still in (weight.clone(), torch.zeros(3, 3)):
        quantise([still], 3)
        assert len(still.unique()) <= 7
        penalty = Quantisation([still], [0], bits=3)
        penalty.update()
        slope = penalty.gradient(0)
        assert penalty.value == pytest.approx(0.0, abs=1e-12) and slope is not None and slope.abs().max() < 1e-5


def test_distillation_is_the_divergence_from_the_teacher() -> None:
    generator = torch.Generator().manual_seed(0)
    student, teacher = torch.randn(2, 4, 3, dtype=torch.float64, generator=generator)
    p, q = (torch.softmax(logits / 2.0, 1) for logits in (teacher, student))
    assert distillation_loss(student, teacher, 2.0).item() == pytest.approx(
        4.0 * float((p * (p / q).log()).sum(1).mean())
    )
    assert distillation_loss(student, student, 2.0).item() == pytest.approx(0.0, abs=1e-12)


def test_training_for_few_bits_keeps_accuracy_at_them() -> None:
    runs = [
        trained(spec("ws", knobs={"form": "penalty", "weight": weight}, penalty="quantisation", bits=2,
                     training={"epochs": 6, "lr": 0.05})).metrics
        for weight in (0.0, 3.0)
    ]  # fmt: skip
    plain, drawn = runs
    assert drawn["loss/quantisation"] < 0.5 * plain["loss/quantisation"]
    assert drawn["selection_quantised_accuracy@2bit"] > plain["selection_quantised_accuracy@2bit"] + 10.0
    shares = [drawn[f"bits_kept@{bits}bit"] for bits in BITS]
    assert shares == sorted(shares, reverse=True) and 0.0625 < shares[-1] < 0.12


def test_runs_of_one_seed_have_one_teacher_and_another_seed_has_another() -> None:
    problem = find_problem("compression")(penalty="distillation", teacher_epochs=2)
    with one_thread():
        first, again, other = (CompressionTask(problem, Streams(seed)) for seed in (0, 0, 1))
        images, _ = next(iter(first.splits.val.batches(100)))
        answers = [task.teacher(images) for task in (first, again, other)]
    assert torch.equal(answers[0], answers[1]) and not torch.allclose(answers[0], answers[2])
    assert not any(parameter.requires_grad for parameter in first.teacher.parameters())
    assert first.start_values[0] > 0.0


def test_what_belongs_to_another_set_of_secondaries_is_refused() -> None:
    make = find_problem("compression")
    with pytest.raises(UserError, match=r"bits=3 is not accepted with penalty=group-lasso; it belongs to penalty=quan"):
        make(bits=3)
    with pytest.raises(UserError, match=r"temperature=2.0 is not accepted with penalty=quantisation"):
        make(penalty="quantisation", temperature=2.0)
    with pytest.raises(UserError, match=r"prox=0.001 is not accepted with penalty=quantisation"):
        make(penalty="quantisation", prox=1e-3)
    with pytest.raises(UserError, match=r"proximal.*compression"):
        plan_of("quantisation")
    with pytest.raises(UserError, match=r"proximal.*compression"):
        plan_of("distillation")


def plan_of(penalty: str) -> None:
    changed = {"problems": {"compression@2": {"penalty": penalty}}, "methods": {"proximal": {}}}
    make_plan(replace(load_suite("compression", "quick"), **changed), {})


def test_ids_of_earlier_runs_stay() -> None:
    assert spec().id == "69ff9ab44fbbf2453b666d26af03c5858a0d7c0dfa0200c4554bc1244fa75964"
    assert spec(penalty="quantisation", bits=2).id != spec(penalty="quantisation").id


def test_a_run_with_a_teacher_goes_on_from_a_checkpoint() -> None:
    problem = find_problem("compression")(penalty="distillation", teacher_epochs=1)
    with one_thread():
        task = CompressionTask(problem, Streams(0))
        batch = next(task.batches())
        before = [float(loss) for loss in task.losses_after(batch)]
        state = task.state_dict()
        fresh = CompressionTask(problem, Streams(0))
        fresh.load_state_dict(state)
        assert [float(loss) for loss in fresh.losses_after(batch)] == before
    assert trained(spec(penalty="distillation", teacher_epochs=1, training=few_steps(2))).status == "done"


@pytest.mark.parametrize("bits", [2, 4])
def test_several_networks_at_once_have_the_errors_and_slopes_of_each(bits: int) -> None:
    generator = torch.Generator().manual_seed(0)
    theta = torch.randn(4, 80, generator=generator, dtype=torch.float64)
    theta[2, :48] = 0.0  # a layer of zeros
    theta[3, 50] = torch.nan
    shapes = {0: (slice(0, 48), (4, 3, 2, 2)), 1: (slice(48, 80), (8, 4, 1, 1))}

    def layers(row: torch.Tensor) -> dict[int, torch.Tensor]:
        return {index: row[part].view(shape) for index, (part, shape) in shapes.items()}

    stacked = StackedQuantisation(theta, layers(theta[0]), 3.0, bits=bits)
    values, slopes = stacked.read(), torch.zeros_like(theta)
    stacked.write(slopes)
    for value, slope, row in zip(values[:3], slopes[:3], theta[:3], strict=True):
        alone = Quantisation(list(layers(row).values()), (0, 1), 3.0, bits=bits)
        alone.update()
        assert float(value) == pytest.approx(alone.evaluate(), rel=1e-12)
        for index, wanted in layers(slope).items():
            torch.testing.assert_close(wanted, alone.gradient(index), rtol=1e-10, atol=1e-12)
    assert values.isnan().tolist() == [False, False, False, True]
