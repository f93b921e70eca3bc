"""How exact and how fast the K×K solvers are, beside TorchJD 0.18.

    python benchmarks/peers/solvers.py [--cases 1000] [--json FILE]

Accuracy: the direction error ‖d − d*‖/‖d*‖ against an independent solution in 60-digit arithmetic,
which takes the float64 Gram matrix as exact. Independent gradients have lengths from 1e-6 to 1e6.
Near-dependent ones are dependent up to an angle of 1 to 1e-6; half of them have such lengths, half
lengths within a factor of four. `error/cond` divides by the condition number of C, the Gram matrix
of the unit gradients.

Speed: both sides in turn on the same matrices, lengths within a factor of ten, one thread. A solver
is called 20 times in a row on a matrix, the peer once. TorchJD's PCD weighting also normalises and
rescales, which the solver does not; the row "PCD's QP" compares the programs alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy is loaded
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.peers import solver_accuracy, solver_speed  # noqa: E402

EXACT = 1e-8
GROWTH = 1e-15
FASTER = 10.0
TIMED = ("PCD", "MGDA", "CAGrad", "Nash")
"""The methods for which the ratio is promised."""


def say(line: str) -> None:
    """Show progress on a terminal, and nothing in a log."""
    if sys.stderr.isatty():
        print(f"\r{line:<60}", end="", file=sys.stderr, flush=True)


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1e}"


def accuracy_table(rows: list[solver_accuracy.Accuracy]) -> list[str]:
    lines = [
        "Direction error against 60 digits; TorchJD: median, in direction only",
        f"{'':11}{'largest error of mobench':>28}{'largest':>12}{'TorchJD, lengths':>24}",
        f"{'method':8}{'K':>3}{'independent':>13}{'near-dependent':>15}{'error/cond':>12}{'similar':>12}{'1e±6':>12}",
    ]
    for row in rows:
        lines.append(
            f"{row.method:8}{row.k:>3}{number(row.independent_error):>13}{number(row.dependent_error):>15}"
            f"{number(row.growth):>12}{number(row.peer_similar):>12}{number(row.peer_spread):>12}"
        )
    return lines


def speed_table(rows: list[solver_speed.Speed]) -> list[str]:
    lines = ["Microseconds per call, median", f"{'method':10}{'K':>3}{'mobench':>12}{'TorchJD':>12}{'ratio':>10}"]
    for row in rows:
        lines.append(f"{row.method:10}{row.k:>3}{row.mobench:>12.1f}{row.torchjd:>12.0f}{row.ratio:>10.0f}")
    return lines


def verdicts(accuracy: list[solver_accuracy.Accuracy], speed: list[solver_speed.Speed]) -> dict[str, bool]:
    return {
        f"every error on independent gradients is at most {EXACT:g}": all(
            row.independent_error <= EXACT for row in accuracy
        ),
        f"every error is at most {GROWTH:g} times the condition number": all(row.growth <= GROWTH for row in accuracy),
        f"{', '.join(TIMED)} are at least {FASTER:g} times faster": all(
            row.ratio >= FASTER for row in speed if row.method in TIMED
        ),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000, help="Gram matrices per K and family (1000)")
    parser.add_argument("--peer-cases", type=int, default=100, help="Gram matrices per K for TorchJD's errors (100)")
    parser.add_argument("--timed-cases", type=int, default=50, help="Gram matrices per K in the timing (50)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args()

    speed = solver_speed.measure(options.timed_cases, say)
    accuracy = solver_accuracy.measure(options.cases, options.peer_cases, say)
    say("")
    checks = verdicts(accuracy, speed)
    print(*accuracy_table(accuracy), "", *speed_table(speed), "", sep="\n")
    for claim, holds in checks.items():
        print(f"{'yes' if holds else 'NO ':3}  {claim}")
    if options.json:
        options.json.write_text(json.dumps(record(accuracy, speed, checks), indent=2) + "\n")
    return 0 if all(checks.values()) else 1


def record(
    accuracy: list[solver_accuracy.Accuracy], speed: list[solver_speed.Speed], checks: dict[str, bool]
) -> dict[str, Any]:
    return {
        "accuracy": [row.as_dict() for row in accuracy],
        "speed": [row.as_dict() for row in speed],
        "checks": checks,
        "versions": {name: version(name) for name in ("numpy", "scipy", "quadprog", "torch", "torchjd")},
        "python": platform.python_version(),
        "processor": platform.processor() or platform.machine(),
    }


if __name__ == "__main__":
    sys.exit(main())
