"""What a run records, and what is measured natively pruned."""

from __future__ import annotations

import pytest
import torch

from mobench.core.streams import Streams
from mobench.problems.compression import data
from mobench.problems.compression.evaluation import Pruner, sparse_forms
from mobench.problems.compression.metrics import measured, sparse_metrics
from mobench.problems.compression.networks import build, penalised
from mobench.problems.compression.penalties import GroupLasso, proximal_step
from mobench.problems.compression.volumes import CHANCE
from tests.problems.compression.runs import few_steps, spec, trained


def test_a_run_records_what_the_problem_declares() -> None:
    run = spec(training=few_steps(8))
    outcome = trained(run)
    declared = {metric.name for metric in run.build_problem().metrics()}
    assert declared <= {*outcome.metrics, *outcome.timings}
    assert "accuracy@native" in outcome.metrics and "latency_ms@native" in outcome.timings


def test_chance_level_is_the_share_of_the_largest_class() -> None:
    splits = data.load("digits")
    largest = int(torch.bincount(splits.test.labels).max())
    assert CHANCE["digits"] == 100 * largest / len(splits.test)


def test_natively_pruned_means_without_negligible_filters() -> None:
    model = build("digits-cnn", 10, Streams(0).torch("init"))
    weights = [weight for _, weight in penalised(model)]
    with torch.no_grad():
        weights[0][:5] *= 1e-4 / weights[0][:5].flatten(1).norm(dim=1).view(-1, 1, 1, 1) * 0.99
        weights[1][7] *= 1e-4 / weights[1][7].norm() * 1.01
    pruner = Pruner(model, "digits-cnn", fold=False)
    native = [*pruner.each(())]
    assert [pruned.end for pruned in native] == ["@native"]
    removed = native[0].plan.removed
    assert [len(filters) for filters in removed.values()] == [5]
    assert next(iter(removed.values())) == (0, 1, 2, 3, 4)


def test_sparsity_is_a_share_of_all_parameters() -> None:
    model = build("digits-cnn", 10, Streams(0).torch("init"))
    images = data.load("digits").test
    names = [name for name, _ in penalised(model)]
    total = sum(parameter.numel() for parameter in model.parameters())
    small = sum(parameter.numel() for name, parameter in model.named_parameters() if name not in names)
    already = sum(int((parameter == 0).sum()) for name, parameter in model.named_parameters() if name not in names)
    found = measured(sparse_metrics(True, (0.5, 0.999)), sparse_forms(model, names, (0.5, 0.999), images, images))
    assert found["nonzero"] == pytest.approx(1 - already / total)
    assert found["nonzero@50"] == pytest.approx(0.5 - already / total, abs=1 / total)
    assert found["nonzero@99.9"] == pytest.approx((small - already) / total)


def test_a_method_may_handle_the_penalty_by_its_proximal_map_alone() -> None:
    """One step of the primary alone, then the proximal map of λ·lr times the penalty, its scale included."""
    training = few_steps(1, lr=0.1, schedule="constant")
    alone = trained(spec("plain", scale=2.0, training=training))
    found = trained(spec("proximal", knobs={"weight": 1.5}, scale=2.0, prox=7.0, training=training))
    changed = 0
    for name, _ in penalised(build("digits-cnn", 10, Streams(0).torch("init"))):
        expected = alone.artifact[name].clone(memory_format=torch.channels_last)
        proximal_step([GroupLasso([expected], [0])], 1.5 * 2.0 * 0.1)
        assert torch.equal(found.artifact[name], expected)
        changed += int((expected != alone.artifact[name]).sum())
    assert changed > 0


def test_plain_training_takes_no_proximal_step(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[float] = []
    shrink = "mobench.problems.compression.stacked_penalties.StackedGroupLasso.shrink"
    monkeypatch.setattr(shrink, lambda penalty, thresholds: calls.append(float(thresholds)))
    trained(spec("plain", prox=0.1, training=few_steps(2)))
    assert calls == []
    trained(spec("ws", prox=0.1, training=few_steps(2)))
    assert len(calls) == 2
