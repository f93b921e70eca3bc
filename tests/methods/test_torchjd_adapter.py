"""TorchJD's classes as methods: found by inspection, equal to ours where the definition is, and driven by real runs."""

import inspect
from pathlib import Path

import numpy as np
import pytest
import torch
import torchjd.aggregation
import torchjd.scalarization

import mobench
from benchmarks.peers.agreement import PAIRS, Pair, largest_difference
from mobench.cli import main
from mobench.core.registry import Namespace, find_method, methods, namespaces, register_namespace
from mobench.errors import UserError
from tests.methods.method_steps import Rows, started, step_of

ROWS = np.random.default_rng(0).standard_normal((3, 7))


def test_every_class_that_can_be_built_of_numbers_is_offered() -> None:
    offered = set(namespaces()["torchjd"].members())
    aggregators = {
        name
        for name in torchjd.aggregation.__all__
        if issubclass(kind := getattr(torchjd.aggregation, name), torchjd.aggregation.Aggregator)
        and not inspect.isabstract(kind)
    } - {"WeightedAggregator", "GramianWeightedAggregator"}  # they take a weighting
    scalarizers = set(torchjd.scalarization.__all__) - {"Scalarizer"}
    assert aggregators <= offered and {"MoDo", "SDMGrad"} <= offered
    assert {name if name not in aggregators else f"scalarization.{name}" for name in scalarizers} <= offered


def test_arguments_become_checked_settings() -> None:
    settings = find_method("torchjd:UPGrad").settings
    assert list(settings) == ["pref_vector", "norm_eps", "reg_eps"]
    assert settings["norm_eps"].default == 0.0001 and "division by zero" in settings["norm_eps"].meaning
    assert find_method("torchjd:AlignedMTL").settings["scale_mode"].choices == ("min", "median", "rmse")
    with pytest.raises(UserError, match=r"torchjd:UPGrad\.norm_eps=much is not accepted"):
        find_method("torchjd:UPGrad")(norm_eps="much")
    with pytest.raises(UserError, match="norm_eps must be non-negative"):
        find_method("torchjd:UPGrad")(norm_eps=-1.0)
    with pytest.raises(UserError, match=r"torchjd:CAGrad\.c has no default in TorchJD; give torchjd\.CAGrad\.c="):
        find_method("torchjd:CAGrad")()
    with pytest.raises(UserError, match=r"pref_vector=.* has 2 values for 3 objectives"):
        started("torchjd:UPGrad", 3, pref_vector=(1.0, 2.0))


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair.ours != "nashmtl"], ids=lambda pair: pair.ours)
def test_ours_and_theirs_agree_or_it_is_said_why_not(pair: Pair) -> None:
    assert (pair.bound > 1e-6) == bool(pair.why)
    assert largest_difference(pair, 7) <= pair.bound


def test_settings_reach_torchjd() -> None:
    aggregator = torchjd.aggregation.UPGrad(pref_vector=torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    rows = torch.from_numpy(ROWS)
    found = mobench.combine("torchjd:UPGrad", rows, pref_vector=(1.0, 2.0, 3.0))
    torch.testing.assert_close(found, aggregator(rows))


def test_random_ones_follow_the_method_s_own_stream() -> None:
    step = step_of(np.random.default_rng(0).standard_normal((3, 200)))
    first, again, other = (started("torchjd:GradDrop", 3, seed).direction(step) for seed in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_what_a_scalarizer_trains_is_trained_and_restored() -> None:
    def weights(method: mobench.Method, losses: list[float]) -> np.ndarray:
        return np.asarray(method.weights(mobench.Step(np.array(losses), Rows(np.eye(3)))))

    method = started("torchjd:UW", 3, trained_lr=0.05)
    before = weights(method, [1.0, 4.0, 0.1])
    after = weights(method, [1.0, 4.0, 0.1])
    assert after[1] < before[1] and after[2] > before[2]
    restored = started("torchjd:UW", 3, trained_lr=0.05)
    restored.load_state_dict(method.state_dict())
    np.testing.assert_array_equal(weights(method, [1.0, 1.0, 1.0]), weights(restored, [1.0, 1.0, 1.0]))


def test_epochs_end_for_a_scalarizer_that_counts_them_also_after_a_restart() -> None:
    steps = [mobench.Step(np.array(losses), Rows(np.eye(2))) for losses in ([2.0, 2.0], [2.0, 2.0], [2.0, 1.0])]
    method, restored = started("torchjd:DWA", 2, period=1), started("torchjd:DWA", 2, period=1)
    for step in steps:
        np.testing.assert_array_equal(method.weights(step), [1.0, 1.0])
        method.load_state_dict(method.state_dict())
    restored.load_state_dict(method.state_dict())
    powers = np.exp([1.0 / 2.0, 0.5 / 2.0])
    for one in (method, restored):
        np.testing.assert_allclose(one.weights(steps[0]), 2.0 * powers / powers.sum())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("torchjd:UpGrad", "unknown method of torchjd 'UpGrad'.*UPGrad"),
        ("torchjdd:UPGrad", "unknown namespace of methods 'torchjdd'.*torchjd"),
    ],
)
def test_a_wrong_name_is_refused_with_the_nearest(name: str, message: str) -> None:
    with pytest.raises(UserError, match=f"(?s){message}"):
        find_method(name)
    assert name not in methods()


def test_any_package_can_have_a_namespace() -> None:
    class Half(mobench.Method):
        """Half of the sum."""

        name = "elsewhere:half"

        def weights(self, step: mobench.Step) -> list[float]:
            return [0.5] * step.k

    register_namespace(Namespace("elsewhere", lambda: ["half"], lambda name: Half))
    assert "elsewhere:half" in methods() and "elsewhere:third" not in methods()
    assert methods()["elsewhere:half"] is Half
    np.testing.assert_allclose(mobench.combine("elsewhere:half", torch.eye(2)), [0.5, 0.5])


def test_a_run_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["run", "suite=plane", "profile=quick", "methods=torchjd:UPGrad,upgrad", "training.steps=20", "jobs=1"]
    keys = ["torchjd.UPGrad.norm_eps=0.0", "torchjd.UPGrad.reg_eps=0.0", f"results={tmp_path}", "--quiet"]
    assert main([*line, *keys]) == 0
    assert main(["results", "suite=plane", "profile=quick", f"results={tmp_path}", "format=csv"]) == 0
    assert "torchjd:UPGrad" in capsys.readouterr().out
