"""A method's properties as the shared battery measures them; nothing here is claimed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from mobench.conformance import Finding, check_method
from mobench.core.method import Method
from mobench.errors import UserError

QUESTIONS = {
    "scale-invariant direction": "Scale-invariant?",
    "symmetric in all objectives": "Permutation-symmetric?",
    "no objective ascends": "Guarantees progress on every objective?",
    "stops where gradients cancel": "Stops at a conflict equilibrium?",
    "reads only losses": "One backward pass, from the losses alone?",
}
"""The measured properties that head a method's card, as questions."""


@dataclass(frozen=True)
class Property:
    """One finding of the battery."""

    name: str
    question: str
    """The property as a question; its name where it is none of `QUESTIONS`."""
    holds: bool | None
    """None where the value is all there is to say."""
    value: float | str | None
    sentence: str
    required: bool
    """Required of every method, not a description of this one."""

    @property
    def answer(self) -> str:
        """Say yes, no or –."""
        return {True: "yes", False: "no", None: "–"}[self.holds]


@dataclass(frozen=True)
class Measured:
    """Everything the battery found about one method at its default settings."""

    findings: tuple[Property, ...]
    refusal: str = ""
    """Why nothing could be measured; empty where something was."""

    @property
    def headline(self) -> tuple[Property, ...]:
        """The properties of `QUESTIONS`, in that order."""
        by_name = {found.name: found for found in self.findings}
        return tuple(by_name[name] for name in QUESTIONS if name in by_name)

    @property
    def described(self) -> tuple[Property, ...]:
        """All that describes the method without judging it."""
        return tuple(found for found in self.findings if not found.required)

    @property
    def conforms(self) -> bool:
        """Whether all that is required of a method holds."""
        return not self.refusal and all(found.holds for found in self.findings if found.required)


@cache
def measure(method: type[Method]) -> Measured:
    """Run the battery on the method, once in a process."""
    try:
        findings = check_method(method)
    except UserError as error:
        return Measured((), str(error))
    return Measured(tuple(map(_property, findings)))


def _property(found: Finding) -> Property:
    question = QUESTIONS.get(found.name, found.name)
    return Property(found.name, question, found.holds, found.value, found.sentence, found.required)
