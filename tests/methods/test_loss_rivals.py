"""DWA, UW, GradNorm, GLS and STCH: weights from losses and lengths, and what they train themselves."""

from pathlib import Path

import numpy as np
import pytest
import torch

from mobench.core.method import Step, checked_weights
from mobench.core.trained import Trained
from mobench.errors import UserError
from mobench.training.checkpoint import load_checkpoint, save_checkpoint
from tests.methods.method_steps import Rows, started, step_of


def step_with(losses: list[float], lengths: list[float] | None = None, bounds: list[float] | None = None) -> Step:
    return step_of(np.diag(lengths or [1.0] * len(losses)), losses, bounds)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_trained_numbers_move_as_torch_s_optimizers_move_them(optimizer: str) -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal(4)
    ours = Trained(values.tolist(), 0.05, optimizer, decay=0.01)  # type: ignore[arg-type]
    theirs = torch.nn.Parameter(torch.from_numpy(values.copy()))
    kind = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
    torch_optimizer = kind([theirs], lr=0.05, weight_decay=0.01)
    for _ in range(50):
        gradient = rng.standard_normal(4)
        ours.step(gradient.tolist())
        theirs.grad = torch.from_numpy(gradient)
        torch_optimizer.step()
    np.testing.assert_allclose(ours.values, theirs.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", ["uw", "gradnorm", "famo"])
def test_trained_numbers_are_checkpointed_as_numbers(name: str, tmp_path: Path) -> None:
    method = started(name, 3)
    for losses in ([1.0, 2.0, 3.0], [0.9, 2.1, 1.0]):
        checked_weights(method, step_with(losses, [1.0, 3.0, 0.1]))
        method.observe(np.array(losses) * [0.5, 0.9, 1.0])
    save_checkpoint(tmp_path / "state", method.state_dict())
    restored = started(name, 3, seed=4)
    restored.load_state_dict(load_checkpoint(tmp_path / "state"))
    final = [checked_weights(each, step_with([1.0, 1.0, 1.0])) for each in (method, restored)]
    np.testing.assert_array_equal(*final)
    assert np.ptp(final[0]) > 0, "something has been trained"


def test_a_state_without_what_is_trained_is_refused() -> None:
    method = started("uw", 2)
    state = method.state_dict()
    del state["levels"]
    with pytest.raises(UserError, match="another version of uw: it says nothing of levels"):
        method.load_state_dict(state)
    with pytest.raises(UserError, match="the state of 2 trained numbers"):
        method.load_state_dict(started("uw", 3).state_dict())


def test_dwa_compares_two_periods() -> None:
    method = started("dwa", 2, period=2, temperature=0.5)
    seen = [checked_weights(method, step_with(losses)) for losses in ([4.0, 1.0], [2.0, 1.0], [1.5, 0.5], [1.5, 0.5])]
    np.testing.assert_array_equal(seen, np.ones((4, 2)))
    ratios = np.exp(np.array([1.5 / 3.0, 0.5 / 1.0]) / 0.5)
    np.testing.assert_allclose(checked_weights(method, step_with([9.0, 9.0])), 2 * ratios / ratios.sum())
    checked_weights(method, step_with([9.0, 9.0]))
    ratios = np.exp(np.array([9.0 / 1.5, 9.0 / 0.5]) / 0.5)
    np.testing.assert_allclose(checked_weights(method, step_with([1.0, 1.0])), 2 * ratios / ratios.sum(), atol=1e-9)


def test_uw_comes_to_rest_at_half_the_inverse_losses() -> None:
    method = started("uw", 3, lr=0.05)
    np.testing.assert_array_equal(checked_weights(method, step_with([4.0, 1.0, 0.2])), np.full(3, 0.5))
    for _ in range(3000):
        weights = checked_weights(method, step_with([5.0, 2.0, 0.2], bounds=[1.0, -np.inf, 0.0]))
    np.testing.assert_allclose(weights, [0.5 / 4.0, 0.5 / 2.0, 0.5 / 0.2], rtol=1e-3)


def test_gradnorm_balances_lengths_and_favours_who_lags_behind() -> None:
    equal = started("gradnorm", 2, alpha=0.0, lr=0.005)
    for _ in range(3000):
        weights = checked_weights(equal, step_with([1.0, 1.0], [4.0, 1.0]))
    assert weights.sum() == pytest.approx(2.0)
    np.testing.assert_allclose(weights * [4.0, 1.0], [1.6, 1.6], rtol=0.02)
    lagging = started("gradnorm", 2, alpha=1.0, lr=0.005)
    checked_weights(lagging, step_with([1.0, 1.0]))
    for _ in range(3000):
        weights = checked_weights(lagging, step_with([0.2, 0.6]))
    np.testing.assert_allclose(weights, [0.5, 1.5], rtol=0.02)


class Layered(Rows):
    """Two shared layers, and a head that only the first objective reaches."""

    parts = ("first", slice(0, 1)), ("second", slice(1, 2)), ("head", slice(2, 3))

    def layers(self) -> dict[str, slice]:
        return dict(self.parts)

    def layer_grams(self) -> dict[str, np.ndarray]:
        return {name: self.rows[:, part] @ self.rows[:, part].T for name, part in self.parts}


@pytest.mark.parametrize(("layer", "lengths"), [("last-shared", [3.0, 1.0]), ("all", [np.sqrt(110.0), np.sqrt(5.0)])])
def test_gradnorm_measures_the_last_layer_that_all_objectives_reach(layer: str, lengths: list[float]) -> None:
    rows = np.array([[1.0, 3.0, 10.0], [2.0, 1.0, 0.0]])
    method = started("gradnorm", 2, layer=layer)
    np.testing.assert_allclose(method._norms(Step(np.ones(2), Layered(rows))), lengths)  # type: ignore[attr-defined]


def test_gls_is_the_gradient_of_the_geometric_mean() -> None:
    losses = torch.tensor([2.0, 0.5, 3.0], dtype=torch.float64, requires_grad=True)
    losses.prod().pow(1 / 3).backward()
    np.testing.assert_allclose(checked_weights(started("gls", 3), step_with(losses.tolist())), losses.grad)


def test_stch_is_the_gradient_of_its_scalarisation() -> None:
    preference, smoothing = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64), 0.4
    losses = torch.tensor([2.0, 0.5, 3.0], dtype=torch.float64, requires_grad=True)
    (smoothing * torch.logsumexp(preference * (losses - 0.25) / smoothing, 0)).backward()
    method = started("stch", 3, smoothing=smoothing, preference=[2.0, 3.0, 5.0])
    step = step_with(losses.tolist(), bounds=[0.25] * 3)
    np.testing.assert_allclose(checked_weights(method, step), losses.grad)


def test_one_preference_for_each_objective() -> None:
    with pytest.raises(UserError, match=r"stch\.preference=\[1.0, 2.0\] has 2 values for 3 objectives"):
        started("stch", 3, preference=[1.0, 2.0])
