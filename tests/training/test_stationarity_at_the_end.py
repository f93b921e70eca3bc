"""How stationary the end of a run is: recorded for every run, whatever its problem."""

import numpy as np
import pytest
import torch

from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.core.streams import Streams
from mobench.core.threads import one_thread
from mobench.problems.compression.task import CompressionTask
from mobench.training.loop import Group, train
from mobench.training.optimizer import Training
from tests.problems.compression.runs import few_steps, spec


def test_at_a_conflict_equilibrium_the_pareto_residual_is_zero_and_the_others_are_not():
    training = Training(optimizer="sgd", lr=0.05, steps=3).configuration()
    problems = [find_problem("double-well")(k=3, spread=spread) for spread in (0.0, 0.1)]
    specs = [RunSpec.of(problem, find_method("mgda")(), training, 0) for problem in problems]
    pinned, moving = (outcome.metrics for outcome in train(specs))
    assert pinned["pareto_residual"] <= 1e-12
    assert pinned["primary_gradient_norm"] == pytest.approx(1.536 * 2**0.5)
    assert pinned["cms_residual"] == pinned["primary_gradient_norm"]
    assert 1e-3 < moving["pareto_residual"] < moving["cms_residual"]


def test_of_a_network_they_are_those_of_one_more_batch_that_costs_the_run_nothing():
    run = spec("ws", training=few_steps(3))
    with one_thread():
        group = Group([run])
        group.run(None, 0.0)
        passes = group.workload.backward_passes(0)
        outcome = group.outcome(group.members[0])
        twin = CompressionTask(run.build_problem(), Streams(run.seed))
        twin.model.load_state_dict(group.workload.tasks[0].model.state_dict())
        batch = twin.held_out_batch()
        loss, _ = twin.held_out_losses(batch)
        first = torch.cat([g.flatten() for g in torch.autograd.grad(loss, twin.parameters)]).double().numpy()
        value = sum(weight.flatten(1).norm(dim=1).sum() for weight in twin.penalised)
        second = [
            torch.zeros_like(p) if g is None else g
            for g, p in zip(
                torch.autograd.grad(value, twin.parameters, allow_unused=True), twin.parameters, strict=True
            )
        ]
    second = torch.cat([g.flatten() for g in second]).double().numpy()
    norms = [np.linalg.norm(first), np.linalg.norm(second)]
    along = np.clip((second @ second - first @ second) / ((first - second) @ (first - second)), 0.0, 1.0)
    assert outcome.metrics["primary_gradient_norm"] == pytest.approx(norms[0], rel=1e-4)
    assert outcome.metrics["cms_residual"] == pytest.approx(max(norms), rel=1e-4)
    assert outcome.metrics["pareto_residual"] == pytest.approx(
        np.linalg.norm(along * first + (1 - along) * second), rel=1e-4
    )
    assert outcome.backward_passes == passes
