"""Which methods leave a lockstep group: those for which all others would wait.

Runs in lockstep wait for the slowest method at every step. Their numbers do not depend on their neighbours, so a
method may leave early and begin again in a group of its own without any effect on results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

FIRST_LOOK = 1
"""After so many steps, and each time their number has doubled, the group looks at who is slow."""
WAITING_SECONDS = 10.0
"""A method leaves only if the others would wait for it longer than this until the end of their runs."""
TIMES = 10.0
"""A method leaves only if a step of one of its runs takes so many times as long as that of one of the others' runs."""


def leaving(own: Mapping[str, Sequence[float]], shared: float, steps_left: int) -> set[str]:
    """Return the methods that leave, slowest first looked at; at least one stays.

    `own` has the seconds that a step takes inside each run of a method, `shared` those of everything else that the
    group does in a step.
    """
    staying = {method: list(seconds) for method, seconds in own.items()}
    gone: set[str] = set()
    while len(staying) > 1:
        slowest = max(staying, key=lambda method: fmean(staying[method]))
        rest = [seconds for method, each in staying.items() if method != slowest for seconds in each]
        usual = (shared + sum(rest)) / len(rest)
        slow = staying[slowest]
        if fmean(slow) <= TIMES * usual or sum(slow) * steps_left <= WAITING_SECONDS:
            break
        del staying[slowest]
        gone.add(slowest)
    return gone
