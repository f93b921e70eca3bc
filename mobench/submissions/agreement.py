"""Whether a repeated run is the recorded one, and how near is near enough. All tolerances stand here.

On the CPU, and on the setup of the record, a repeated run is the same to the last bit; so it is on a GPU with
deterministic algorithms. Elsewhere it agrees within a tolerance, on a GPU also within the spread of its seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import stdev

from mobench.core.columns import AMONG_METRICS, AT_THE_END, FALLBACK
from mobench.core.metric import Metric
from mobench.core.outcome import Outcome
from mobench.store.record import Environment, RunRecord
from mobench.submissions.collecting import thinned
from mobench.submissions.curves import CURVES, KeptCurve

RELATIVE = 0.01
ABSOLUTE = 1e-6
"""On another setup two numbers agree if |a − b| ≤ 1e-6 + 0.01 · max(|a|, |b|)."""
POINTS = 3.0
"""Percentages agree within so many points instead of 1e-6: rounding grows while a network trains."""
DEVIATIONS = 3.0
FEWEST_SEEDS = 3
"""Numbers of a run on a GPU also agree within so many standard deviations over its seeds, of which it takes three."""
WAYS = ("deterministic", "channels_last", "capability", "tf32_convolutions", "tf32_products", "jobs_per_gpu")
"""How a device computed; an earlier record does not say, and on a CPU most of it has no meaning."""
DEVICE_VERSIONS = ("cuda", "cudnn", "driver")
"""What a device computed with, in the same way."""
LISTED = 3
"""How many differences of a run are spelled out."""


def same_setup(one: Environment, other: Environment) -> bool:
    """Say whether two runs must agree to the last bit: same versions, same processor, same device, same arithmetic.

    On a GPU they must only if both used deterministic algorithms alone: others add in an order that changes. Builds of
    one version of torch, `2.6.0+cpu` and `2.6.0+cu124`, are different ones. What a record does not say is no
    difference: leaving it out asks for more, not for less.
    """
    repeatable = not on_gpu(one) or all(found.hardware.get("deterministic") for found in (one, other))
    keys = ("cpu", "device", *(key for key in WAYS if key in one.hardware and key in other.hardware))
    alike = all(one.hardware.get(key) == other.hardware.get(key) for key in keys)
    return repeatable and alike and _same_versions(one.versions, other.versions)


def _same_versions(one: Mapping[str, str | None], other: Mapping[str, str | None]) -> bool:
    optional = [name for name in DEVICE_VERSIONS if name in one and name in other]
    needed = sorted({*one, *other} - {*DEVICE_VERSIONS, "torch"})
    builds = [str(versions.get("torch")).partition("+") for versions in (one, other)]
    same_torch = builds[0][0] == builds[1][0] and (builds[0] == builds[1] or not all(local for *_, local in builds))
    return same_torch and all(one.get(name) == other.get(name) for name in (*needed, *optional))


def on_gpu(environment: Environment) -> bool:
    """Say whether a run was computed on a GPU."""
    return str(environment.hardware.get("device", "cpu")).startswith("cuda")


def seed_spread(records: Iterable[RunRecord], record: RunRecord) -> dict[str, float]:
    """Return the standard deviation over seeds of the metrics of a run's configuration, if it was run on a GPU.

    There a repeated run comes from the same distribution: it may differ like another seed. At least three are needed.
    """
    if not on_gpu(record.environment):
        return {}
    kin = [
        other.outcome.metrics
        for other in records
        if other.outcome.status == "done" and other.spec.configuration == record.spec.configuration
    ]
    names = set.intersection(*(set(metrics) for metrics in kin)) if len(kin) >= FEWEST_SEEDS else set()
    return {name: stdev(metrics[name] for metrics in kin) for name in names}


def differences(
    recorded: RunRecord,
    repeated: RunRecord,
    metrics: Mapping[str, Metric],
    spread: Mapping[str, float] | None = None,
    curves: Mapping[str, KeptCurve] = CURVES,
    *,
    exact: bool,
) -> list[str]:
    """Return in what a repeated run differs; times and memory are not compared.

    Curves are compared on the same setup only: elsewhere a path may part early and still end alike. So are gradients
    at the end, which are those of one batch.
    """
    first, second = thinned(recorded, curves).outcome, thinned(repeated, curves).outcome
    if first.status != second.status:
        reason = f": {second.error}" if second.error else ""
        return [f"recorded as {first.status}, repeated as {second.status}{reason}"]
    absolute = {name: POINTS for name, metric in metrics.items() if metric.unit == "%"}
    for name, deviation in (spread or {}).items():
        absolute[name] = max(absolute.get(name, ABSOLUTE), DEVIATIONS * deviation)
    left_out = frozenset() if exact else {metric.name for metric in AT_THE_END}
    numbers = [
        {name: value for name, value in part.items() if name not in left_out}
        for part in (first.metrics, _known_to(first, second))
    ]
    found = list(_compared(numbers[0], numbers[1], absolute, exact))
    for kind in ("mean", "total"):
        one, other = (
            {
                f"diagnostic {name} ({kind})": values[kind]
                for name, values in outcome.diagnostics.items()
                if not name.startswith(FALLBACK)
            }
            for outcome in (first, second)
        )
        found += _compared(one, other, {}, exact)
    if exact and first.backward_passes != second.backward_passes:
        found.append(f"{first.backward_passes} backward passes recorded, {second.backward_passes} repeated")
    if exact and first.history != second.history:
        found.append("the curves differ")
    more = [f"and {len(found) - LISTED} more differences"] if len(found) > LISTED else []
    return found[:LISTED] + more


def _known_to(first: Outcome, second: Outcome) -> dict[str, float]:
    """Return the metrics of a repeated run, without those of the engine that an earlier record does not have."""
    return {name: value for name, value in second.metrics.items() if name in first.metrics or name not in AMONG_METRICS}


def _compared(
    recorded: Mapping[str, float | None],
    repeated: Mapping[str, float | None],
    absolute: Mapping[str, float],
    exact: bool,
) -> Iterator[str]:
    for name in sorted({*recorded, *repeated}):
        if name not in recorded or name not in repeated:
            yield f"{name} is {'recorded' if name in recorded else 'repeated'} alone"
        elif not _agree(recorded[name], repeated[name], absolute.get(name, ABSOLUTE), exact):
            yield f"{name} recorded as {recorded[name]!r}, repeated as {repeated[name]!r}"


def _agree(one: float | None, other: float | None, absolute: float, exact: bool) -> bool:
    if one is None or other is None or exact:
        return one == other
    return abs(one - other) <= absolute + RELATIVE * max(abs(one), abs(other))
