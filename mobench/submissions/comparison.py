"""Is a repeated run the same? To the last bit on the same setup, within a tolerance on another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mobench.store.record import Environment, RunRecord
from mobench.submissions.thinning import thinned

RELATIVE = 0.01
ABSOLUTE = 1e-6
"""On another setup two numbers agree if |a − b| ≤ 1e-6 + 0.01 · max(|a|, |b|)."""
POINTS = 3.0
"""Accuracies agree within so many percentage points: rounding grows while a network trains."""
LISTED = 3
_ACCURACY = re.compile(r"(?:[a-z]+_)?accuracy(?:@.*)?")


def same_setup(one: Environment, other: Environment) -> bool:
    """Say whether two runs must agree to the last bit: same versions, same processor, same device."""
    hardware = ("cpu", "device")
    return dict(one.versions) == dict(other.versions) and all(
        one.hardware.get(key) == other.hardware.get(key) for key in hardware
    )


def differences(recorded: RunRecord, repeated: RunRecord, *, exact: bool) -> list[str]:
    """Return in what a repeated run differs; times and memory are not compared.

    Curves are compared on the same setup only: elsewhere a path may part early and still end alike.
    """
    first, second = thinned(recorded).outcome, thinned(repeated).outcome
    if first.status != second.status:
        reason = f": {second.error}" if second.error else ""
        return [f"recorded as {first.status}, repeated as {second.status}{reason}"]
    found = list(_compared(dict(first.metrics), dict(second.metrics), exact))
    for kind in ("mean", "total"):
        pair = [
            {f"diagnostic {name} ({kind})": values[kind] for name, values in outcome.diagnostics.items()}
            for outcome in (first, second)
        ]
        found += _compared(pair[0], pair[1], exact)
    if exact and first.backward_passes != second.backward_passes:
        found.append(f"{first.backward_passes} backward passes recorded, {second.backward_passes} repeated")
    if exact and first.history != second.history:
        found.append("the curves differ")
    more = [f"and {len(found) - LISTED} more differences"] if len(found) > LISTED else []
    return found[:LISTED] + more


def _compared(recorded: Mapping[str, Any], repeated: Mapping[str, Any], exact: bool) -> Iterator[str]:
    for name in sorted({*recorded, *repeated}):
        if name not in recorded or name not in repeated:
            yield f"{name} is {'recorded' if name in recorded else 'repeated'} alone"
        elif not _agree(name, recorded[name], repeated[name], exact):
            yield f"{name} recorded as {recorded[name]!r}, repeated as {repeated[name]!r}"


def _agree(name: str, one: float | None, other: float | None, exact: bool) -> bool:
    if one is None or other is None or exact:
        return one == other
    absolute = POINTS if _ACCURACY.fullmatch(name) else ABSOLUTE
    return abs(one - other) <= absolute + RELATIVE * max(abs(one), abs(other))
