"""Compare the speed of two revisions on this machine, and exit with 1 if the head is slower.

    python -m benchmarks.compare [BASE [HEAD]] [--bench REGEX] [--rounds 5] [--confirm 24] [--slower] [--json FILE]

Both revisions are installed into environments of their own and run the head's benchmarks in turn.
After the first rounds, benchmarks whose ratio is suspicious are measured again in new rounds, and
these alone decide, so that picking them is no evidence against them. `statistics.py` says how.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.compare import statistics, table
from benchmarks.compare.measure import Case, Pair
from benchmarks.compare.revisions import installed
from benchmarks.compare.statistics import Rounds, Verdict
from mobench.errors import UserError

PASSES = 3
"""How often a suspicious benchmark runs in a round."""
STAGE = 6
"""After so many rounds, what is suspicious no more is given up."""


def main(given: Sequence[str] | None = None) -> int:
    """Run the comparison: 1 if a benchmark got slower or fails on the head, 2 for a mistake in the input."""
    arguments = _arguments(given)
    try:
        return _compare(arguments)
    except UserError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2


def _compare(arguments: argparse.Namespace) -> int:
    repository = arguments.repository.resolve()
    with (
        tempfile.TemporaryDirectory(prefix="mobench-compare-") as folder,
        installed(repository, arguments.base, Path(folder, "base")) as base,
        installed(repository, arguments.head, Path(folder, "head")) as head,
    ):
        pair = Pair(base, head)
        cases = pair.cases(arguments.bench or None)
        print(f"{base.name} {base.commit[:8]} against {head.name} {head.commit[:8]}, {len(cases)} benchmarks")
        calibrated = pair.calibrated(cases)
        measured, verdicts = decide(pair, calibrated, arguments.rounds, arguments.confirm, slower=arguments.slower)
    print(table.text(base, head, cases, measured, verdicts))
    if arguments.json:
        document = table.document(base, head, cases, measured, verdicts)
        arguments.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    worse = [name for name, verdict in verdicts.items() if statistics.is_regression(verdict)]
    print(f"slower by {statistics.THRESHOLD - 1:.0%} or more at p < {statistics.LEVEL:g}, or failing: {len(worse)}")
    for name in worse:
        print(f"  {name}")
    return 1 if worse else 0


def decide(
    pair: Pair, cases: Sequence[Case], rounds: int, confirm: int, *, slower: bool = False
) -> tuple[dict[str, Rounds], dict[str, Verdict]]:
    """Screen all benchmarks, measure the suspicious ones again, and judge these by the new rounds alone.

    After every few of the new rounds, those that are suspicious no more are given up. That can only
    miss a change, never report one that is not there: they keep their place in Holm's correction. With `slower`
    those that look faster are not measured again, and stay without a verdict.
    """
    measured = _run(pair, cases, rounds, "round")
    suspects = set(statistics.suspicious(measured))
    if slower:
        suspects = {name for name in suspects if statistics.ratio(measured[name]) > 1}
    for name in sorted(suspects):
        print(f"  {statistics.ratio(measured[name]):.2f} × {name}", file=sys.stderr, flush=True)
    verdicts = {
        name: Verdict("same", statistics.ratio(seen), float("nan"), rounds)
        for name, seen in measured.items()
        if seen.failure is None
    }
    again: dict[str, Rounds] = {}
    left, needed = set(suspects), max(confirm, statistics.rounds_needed(len(suspects))) if suspects else 0
    for done in range(0, needed, STAGE):
        chosen = [case for case in cases if case.name in left]
        what = f"measuring {len(chosen)} again, from round {done + 1} of {needed}: round"
        new = _run(pair, chosen, min(STAGE, needed - done), what, PASSES)
        again |= {name: seen.after(again.get(name)) for name, seen in new.items()}
        left &= set(statistics.suspicious({name: again[name] for name in left}))
        if not left:
            break
    measured |= again
    decisive = {name: seen for name, seen in measured.items() if name in suspects or seen.failure is not None}
    return measured, verdicts | statistics.judge(decisive, given_up=suspects - left)


def _run(pair: Pair, cases: Sequence[Case], count: int, what: str, passes: int = 1) -> dict[str, Rounds]:
    measured: dict[str, Rounds] = {}
    for number, seen in enumerate(pair.rounds(cases, count, passes), 1):
        print(f"{what} {number} of {count}", file=sys.stderr, flush=True)
        measured = dict(seen)
    return measured


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("base", nargs="?", default="main", help="the revision to compare with (main)")
    parser.add_argument("head", nargs="?", default="HEAD", help="the revision in question (HEAD)")
    parser.add_argument("--bench", metavar="REGEX", help="only benchmarks whose name and parameters match")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of all benchmarks (5)")
    parser.add_argument("--confirm", type=int, default=24, help="further rounds of suspicious benchmarks (24)")
    parser.add_argument("--slower", action="store_true", help="leave it open whether what looks faster is")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything to this file")
    parser.add_argument("--repository", type=Path, default=Path(__file__).parents[2], help="another clone")
    return parser.parse_args(given)


def clean_up_when_ended() -> None:
    """Let SIGTERM end the program like an exception, so that worktrees, folders and processes go as well."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


if __name__ == "__main__":
    clean_up_when_ended()
    sys.exit(main())
