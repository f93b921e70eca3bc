"""What there is to say about a method or a problem: words, formulas, reference, settings, measured properties, cost.

Texts come partly from plugins and are plain text throughout; only `Formula.mathml` is markup, and it is our own.
"""

from .cards import MethodCard, ProblemCard, method_card, problem_card
from .cost import Cost, Spread, cost_of
from .parts import Block, Formula, Reference, SettingRow
from .properties import Measured, Property

__all__ = [
    "Block",
    "Cost",
    "Formula",
    "Measured",
    "MethodCard",
    "ProblemCard",
    "Property",
    "Reference",
    "SettingRow",
    "Spread",
    "cost_of",
    "method_card",
    "problem_card",
]
