"""What a conformance check reports: named findings, required or measured."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from mobench.core.settings import Configurable
from mobench.errors import UserError

SubjectT = TypeVar("SubjectT")

FAILURES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    TypeError,
    UserError,
    ValueError,
)
"""What code under test may raise; a check that ends in one of these has not passed."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check."""

    holds: bool | None
    """Whether the property holds; None where the value is all there is to say."""
    value: float | str | None
    """The measured figure, None where there is none."""
    sentence: str
    """The finding in words."""
    nearly: bool = field(default=False, kw_only=True)
    """Whether a property that does not hold is missed by little: by the value, which is then a distance."""


@dataclass(frozen=True)
class Finding(Verdict):
    """A verdict with the name of its property."""

    name: str
    required: bool
    """A required property that does not hold makes a plugin non-conforming; a measured one describes it."""
    lacking: str = ""
    """Why the plugin by its own declaration does not have the property; empty where it declares nothing."""

    @property
    def answer(self) -> str:
        """Whether the property holds, in a word: yes, no, `nearly (2e-5)`, or a dash where the value says all."""
        if self.nearly:
            return f"nearly ({self.value:.0e})".replace("e-0", "e-")
        return {True: "yes", False: "no", None: "–"}[self.holds]

    @property
    def failed(self) -> bool:
        """Whether this finding makes its subject non-conforming."""
        return self.required and not self.holds and not self.lacking


Check = Callable[[SubjectT], Verdict]


def examine(
    subject: SubjectT, required: Mapping[str, Check[SubjectT]], measured: Mapping[str, Check[SubjectT]]
) -> list[Finding]:
    """Run every check on `subject`; what a check raises becomes its finding."""
    return [
        *(_finding(name, True, check, subject) for name, check in required.items()),
        *(_finding(name, False, check, subject) for name, check in measured.items()),
    ]


def _finding(name: str, required: bool, check: Check[SubjectT], subject: SubjectT) -> Finding:
    try:
        verdict = check(subject)
    except FAILURES as error:
        verdict = Verdict(False, None, f"raised {type(error).__name__}: {error}")
    return Finding(verdict.holds, verdict.value, verdict.sentence, name, required, nearly=verdict.nearly)


def conforms(findings: Iterable[Finding]) -> bool:
    """Say whether every required property holds."""
    return not any(finding.failed for finding in findings)


@contextmanager
def global_randomness(seed: int) -> Iterator[None]:
    """Seed the global generators for a while: code that follows its own streams does not notice."""
    import torch

    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)


def declared_settings(plugin: Configurable) -> Verdict:
    """Every default is accepted by its own declaration, and a plugin's settings rebuild it."""
    for name, setting in plugin.settings.items():
        key = f"{plugin.label()}.{name}"
        if setting.parse(key, setting.default) != setting.default:
            return Verdict(False, None, f"the default of {key} changes when it is given explicitly")
        if not setting.meaning:
            return Verdict(False, None, f"{key} does not say what it means")
    rebuilt = type(plugin)(**plugin.configuration())
    if rebuilt.configuration() != plugin.configuration():
        return Verdict(False, None, "built again from its own settings it differs")
    return Verdict(True, None, f"{len(plugin.settings)} settings, each with an accepted default and a meaning")
