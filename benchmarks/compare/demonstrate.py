"""Show that the comparison catches a slowdown of 20 % in one solver, and is silent without a change.

    python -m benchmarks.compare.demonstrate [--solver mgda] [--repeats 10] [--bench solvers]

The slowdown is committed to a clone in a temporary folder: there, the solver does every fifth call
twice. The unchanged revision is then compared with itself, as often as asked.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.compare.__main__ import clean_up_when_ended
from benchmarks.compare.__main__ import main as compare

SOLVERS = {
    "auxinash": ("bargain", "nash_bargain"),
    "cagrad": ("conflict", "conflict_averse"),
    "mgda": ("hull", "min_norm_point"),
    "pcd": ("projection", "project_primary"),
    "pcgrad": ("surgery", "surgery"),
}
"""The module and the function of each method's solver."""

SLOWER = """

import itertools

_at_full_speed, _fifth = {function}, itertools.cycle((False, False, False, False, True))


def {function}(*arguments):  # every fifth call is done twice
    if next(_fifth):
        _at_full_speed(*arguments)
    return _at_full_speed(*arguments)
"""


def slow_down(clone: Path, solver: str) -> str:
    """Commit a solver that takes 20 % longer, and return the commit."""
    module, function = SOLVERS[solver]
    file = clone / "mobench" / "solvers" / f"{module}.py"
    file.write_text(file.read_text(encoding="utf-8") + SLOWER.format(function=function), encoding="utf-8")
    _git(clone, "-c", "user.name=demonstration", "-c", "user.email=", "commit", "--quiet", "-am", "Slow down a solver")
    return _git(clone, "rev-parse", "HEAD")


def main(given: Sequence[str] | None = None) -> int:
    """Return 0 if the slowdown is caught and no repeat of the unchanged revision gives an alarm."""
    arguments = _arguments(given)
    with tempfile.TemporaryDirectory(prefix="mobench-demonstrate-") as folder:
        clone = Path(folder, "clone")
        _git(Path(__file__).parents[2], "clone", "--quiet", ".", str(clone))
        unchanged = _git(clone, "rev-parse", "HEAD")
        options = ["--repository", str(clone), "--bench", arguments.bench]
        options += ["--rounds", str(arguments.rounds), "--confirm", str(arguments.confirm)]
        print(f"{arguments.solver} slowed down by 20 %:", flush=True)
        caught = compare([unchanged, slow_down(clone, arguments.solver), *options]) == 1
        alarms = 0
        for repeat in range(1, arguments.repeats + 1):
            print(f"unchanged, repeat {repeat} of {arguments.repeats}:", flush=True)
            alarms += compare([unchanged, unchanged, *options]) != 0
    print(f"slowdown of 20 % caught: {'yes' if caught else 'NO'}")
    print(f"false alarms without a change: {alarms} of {arguments.repeats}")
    return 0 if caught and not alarms else 1


def _git(folder: Path, *arguments: str) -> str:
    answer = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return answer.stdout.strip()


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare.demonstrate", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--solver", choices=tuple(SOLVERS), default="mgda", help="which one to slow down (mgda)")
    parser.add_argument("--repeats", type=int, default=10, help="comparisons without a change (10)")
    parser.add_argument("--bench", metavar="REGEX", default="solvers", help="which benchmarks to run (solvers)")
    parser.add_argument("--rounds", type=int, default=5, help="as of the comparison (5)")
    parser.add_argument("--confirm", type=int, default=24, help="as of the comparison (24)")
    return parser.parse_args(given)


if __name__ == "__main__":
    clean_up_when_ended()
    sys.exit(main())
