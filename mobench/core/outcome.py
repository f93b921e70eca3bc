"""What training a run gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, Strict

from mobench.core.plain_text import last_line, readable

Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
"""A finite number; neither a text that looks like one nor true or false."""
Count = Annotated[int, Strict(), Field(ge=0, le=2**53)]
"""A whole number that a float holds exactly."""
Status = Literal["done", "failed"]

_MeanOrTotal = Annotated[str, Field(pattern="^(mean|total)$")]
Diagnostic = Annotated[Mapping[_MeanOrTotal, Number | None], Field(min_length=2)]
"""What a method noted about itself, as `mean` and `total` over the steps; None where not finite."""


@dataclass(frozen=True)
class Outcome:
    """What training a run gave. A failed run has an error and is never scored."""

    status: Status
    metrics: Mapping[str, Number] = field(default_factory=dict)
    history: Mapping[str, list[Any]] = field(default_factory=dict)
    """Sampled curves, columns of equal length; None where a value is missing or not finite."""
    diagnostics: Mapping[str, Diagnostic] = field(default_factory=dict)
    timings: Mapping[str, Number | None] = field(default_factory=dict)
    backward_passes: Count = 0
    error: str | None = None
    failed_at_step: Count | None = None
    artifact: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """Tensors worth keeping, e.g. trained weights; stored beside the record, not in it."""

    @classmethod
    def failure(cls, error: str, seconds: float) -> Outcome:
        """Return the outcome of a run that gave nothing but an error."""
        return cls("failed", error=readable(error), timings={"seconds": seconds})

    @property
    def reason(self) -> str:
        """The last line of the error: what went wrong, without the way there."""
        return last_line(self.error or "")
