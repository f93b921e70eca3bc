"""Methods that break one rule each: the battery names it."""

from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from mobench.conformance import Finding, check_method, conforms
from mobench.conformance.finding import examine
from mobench.conformance.measured import MEASURED
from mobench.conformance.required import REQUIRED
from mobench.conformance.subject import subject
from mobench.core.method import Method, Step
from mobench.core.settings import integer, real, reals
from mobench.errors import UserError


class Mean(Method):
    """A conforming method to break."""

    def weights(self, step: Step) -> Any:
        return np.full(step.k, 1.0 / step.k)


class Unseeded(Mean):
    def weights(self, step: Step) -> Any:
        return np.random.default_rng().random(step.k)


class GlobalGenerator(Mean):
    def weights(self, step: Step) -> Any:
        return np.random.rand(step.k)


class TorchGenerator(Mean):
    def weights(self, step: Step) -> Any:
        return torch.rand(step.k).double().numpy()


class NeverForgets(Mean):
    count = 0

    def weights(self, step: Step) -> Any:
        self.count += 1
        return np.full(step.k, float(self.count))


class HiddenState(Mean):
    """Its count lives where `state_dict` cannot see it."""

    count = 0

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        HiddenState.count = 0

    def weights(self, step: Step) -> Any:
        HiddenState.count += 1
        return np.full(step.k, float(HiddenState.count))


class UnsafeState(Mean):
    """Its state is a class, which a checkpoint's safe loader refuses."""

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.seen: Any = object

    def weights(self, step: Step) -> Any:
        return np.full(step.k, 1.0)


EVERYWHERE = {"degenerate input", "determinism", "inputs", "non-finite input", "reset", "state"}
"""What writes into a step's arrays, which are read-only, fails wherever it is asked."""


class WritesTheGram(Mean):
    def weights(self, step: Step) -> Any:
        gram = step.gram
        gram /= gram.max() + 1.0
        return np.ones(step.k)


class WritesTheLosses(Mean):
    def weights(self, step: Step) -> Any:
        losses = step.losses
        losses -= 1.0
        return np.ones(step.k)


class DividesByZero(Mean):
    def weights(self, step: Step) -> Any:
        with np.errstate(all="ignore"):
            return 1.0 / np.sqrt(np.diagonal(step.gram))


class SwallowsNaN(Mean):
    def weights(self, step: Step) -> Any:
        return np.nan_to_num(step.losses)


class WrongCount(Mean):
    def weights(self, step: Step) -> Any:
        return [1.0, 1.0]


class Raises(Mean):
    def weights(self, step: Step) -> Any:
        raise KeyError("nothing here")


class BadDefault(Mean):
    strength: float = real(2.0, low=0.0, high=1.0, meaning="out of its own range")


class NoMeaning(Mean):
    strength: float = real(1.0, meaning="")


def failures(method: type[Method], **settings: Any) -> dict[str, Finding]:
    return {finding.name: finding for finding in check_method(method, settings) if finding.failed}


def test_a_simple_method_conforms() -> None:
    findings = check_method(Mean)
    assert conforms(findings)
    assert [finding.required for finding in findings] == sorted((f.required for f in findings), reverse=True)
    assert all(finding.sentence for finding in findings)


@pytest.mark.parametrize(
    ("method", "broken"),
    [
        (Unseeded, {"determinism", "reset", "state"}),
        (GlobalGenerator, {"determinism", "reset", "state"}),
        (TorchGenerator, {"determinism", "reset", "state"}),
        (NeverForgets, {"reset"}),
        (HiddenState, {"state"}),
        (UnsafeState, {"state"}),
        (WritesTheGram, EVERYWHERE),
        (WritesTheLosses, EVERYWHERE),
        (DividesByZero, {"degenerate input"}),
        (SwallowsNaN, {"non-finite input"}),
        (BadDefault, {"settings"}),
        (NoMeaning, {"settings"}),
    ],
)
def test_one_broken_rule_is_named(method: type[Method], broken: set[str]) -> None:
    assert set(failures(method)) == broken


@pytest.mark.parametrize(("method", "word"), [(WrongCount, "MethodError"), (Raises, "nothing here")])
def test_what_a_method_raises_is_its_finding(method: type[Method], word: str) -> None:
    assert word in failures(method)["determinism"].sentence


class OnePerObjective(Mean):
    """Settings that fix the number of objectives, at four here."""

    shares: Any = reals(1.0, low=0.0, meaning="one weight per objective")

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        if isinstance(self.shares, tuple) and len(self.shares) != k:
            raise UserError("onePerObjective.shares takes one number per objective")

    def weights(self, step: Step) -> Any:
        return self.shares if isinstance(self.shares, tuple) else [self.shares] * step.k


def test_settings_may_fix_the_number_of_objectives() -> None:
    findings = {finding.name: finding for finding in check_method(OnePerObjective, {"shares": [1, 2, 3, 4]})}
    assert conforms(findings.values())
    assert findings["symmetric in the secondaries"].holds is False
    assert findings["length on orthonormal gradients"].value == pytest.approx(np.sqrt(30))


class Nothing(Mean):
    most: int = integer(0, meaning="most objectives")

    def reset(self, k: int, rng: np.random.Generator) -> None:
        raise UserError("nothing fits")


def test_settings_that_fit_no_number_of_objectives_are_the_users_mistake() -> None:
    with pytest.raises(UserError, match="from 2 to 12: nothing fits"):
        check_method(Nothing)


def test_unknown_settings_are_the_users_mistake() -> None:
    with pytest.raises(UserError, match="strengt"):
        check_method(Mean, {"strengt": 1})


class SignOfTheMean(Method):
    """A direction that is no combination of the gradients."""

    def direction(self, step: Step) -> torch.Tensor:
        return step.gradients.mean(0).sign()


def test_a_method_with_its_own_direction_is_measured_by_it() -> None:
    findings = {finding.name: finding for finding in check_method(SignOfTheMean)}
    assert findings["reads only losses"].value == "gradients"
    assert findings["length follows the gradients"].value == pytest.approx(0.0)
    assert findings["length on orthonormal gradients"].value == pytest.approx(np.sqrt(3))
    assert [name for name, finding in findings.items() if finding.failed] == []  # the step refuses what is not finite


class MixesPrecisions(Method):
    """The mean in float64, which gradients in float32 cannot be multiplied with."""

    def direction(self, step: Step) -> torch.Tensor:
        return torch.full((step.k,), 1.0 / step.k, dtype=torch.float64) @ step.gradients


class ComparesWithZero(Mean):
    """The sum at length one, zero where its length is that of the rounding in float64."""

    def weights(self, step: Step) -> Any:
        square = float(step.gram.sum())
        return np.ones(step.k) * (0.0 if square <= 1e-20 else square**-0.5)


def test_a_weakness_in_single_precision_is_a_finding_of_its_own() -> None:
    for method, name in ((MixesPrecisions, "determinism"), (ComparesWithZero, "stops where gradients cancel")):
        in_double = examine(subject(method, {}), REQUIRED, MEASURED)
        assert conforms(in_double) and {finding.name: finding for finding in in_double}[name].holds
        found = {finding.name: finding for finding in check_method(method)}
        assert found[name].holds is False
        assert found[name].sentence.startswith("in float32, not in float64: ")
    assert set(failures(MixesPrecisions)) == EVERYWHERE
    assert not failures(ComparesWithZero)


class EqualProjections(Method):
    """IMTL-G: w ∝ G⁺ (‖g_1‖, …, ‖g_K‖), which a change of an objective's scale does not turn."""

    def weights(self, step: Step) -> Any:
        weights = np.linalg.pinv(step.gram, hermitian=True) @ np.sqrt(np.diagonal(step.gram))
        return weights / (weights.sum() or 1.0)


class NearlyEqualProjections(EqualProjections):
    """The same with an addend that only rescaled gradients notice."""

    def weights(self, step: Step) -> Any:
        return super().weights(step) + 1e-6 / np.sqrt(np.diagonal(step.gram) + 1e-30)


def test_an_invariance_is_judged_by_what_rounding_explains() -> None:
    found = {
        method: {finding.name: finding for finding in check_method(method)}["scale-invariant direction"]
        for method in (EqualProjections, NearlyEqualProjections)
    }
    exact, nearly = found[EqualProjections], found[NearlyEqualProjections]
    assert exact.holds is True and isinstance(exact.value, float)
    assert nearly.holds is False and isinstance(nearly.value, float) and nearly.value < 1e-2
    for finding in (exact, nearly):
        assert f"(by {finding.value:.2g}; rounding explains 2.4e-07)" in finding.sentence


class SaysSo(Unseeded):
    """It is not repeatable, and declares that."""

    lacks: ClassVar = {"determinism": "draws are new", "reset": "draws are new", "state": "draws are new"}


class Modest(Mean):
    """It has what it declares to lack."""

    lacks: ClassVar = {"symmetric in all objectives": "it does not know that it is"}


class Misspelt(Mean):
    lacks: ClassVar = {"determinsm": "never mind"}


def test_a_required_property_that_is_declared_lacking_is_named_and_not_held_against_the_method() -> None:
    findings = {finding.name: finding for finding in check_method(SaysSo)}
    assert conforms(findings.values())
    assert findings["determinism"].holds is False and findings["determinism"].lacking == "draws are new"


@pytest.mark.parametrize(
    ("method", "word"), [(Modest, "symmetric in all objectives, which holds"), (Misspelt, "no such property")]
)
def test_a_wrong_declaration_is_reported(method: type[Method], word: str) -> None:
    broken = failures(method)
    assert set(broken) == {"declarations"} and word in broken["declarations"].sentence


def test_declarations_are_about_the_defaults_and_not_inherited() -> None:
    class Tilted(Mean):
        lacks: ClassVar = {"symmetric in all objectives": "the first counts more"}
        tilt: float = real(2.0, meaning="weight of the first")

        def weights(self, step: Step) -> Any:
            return [self.tilt, *[1.0] * (step.k - 1)]

    class Other(Tilted):
        pass

    assert not failures(Tilted) and not failures(Tilted, tilt=1.0)
    assert Other.lacks == {}
