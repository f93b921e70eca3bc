"""`mobench leaderboard verify`: is a submission whole, possible and repeatable?"""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from mobench.core.settings import Integer
from mobench.errors import UserError
from mobench.planning.overrides import parse_overrides

if TYPE_CHECKING:
    from mobench.submissions import Bundle
    from mobench.submissions.rerun import Rerun

KEYS = ("submissions", "sample", "seed", "plugins")
SUBMISSIONS = "leaderboard/submissions"
WIDTH = 79

EXAMPLES = """
examples:
  mobench leaderboard verify
  mobench leaderboard verify mine.jsonl.gz plugins=mine.py sample=10

keys:
  submissions=DIR        check every bundle there (default: leaderboard/submissions)
  sample=N               repeat so many cheap runs of each bundle (5; 0: none)
  seed=N                 which ones (drawn anew each time; it is printed)
  plugins=PATH[,PATH]    files of submitted methods; run only if their hash fits

Exit code: 0 when no bundle is refused, 1 when one is, 2 for a mistake in the
input. Code inside a bundle is never run.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("settings", nargs="*", metavar="FILE | key=value", help="bundles and settings, see below")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES


def execute(arguments: argparse.Namespace) -> int:
    """Check the bundles and print what was found."""
    named = [Path(text) for text in arguments.settings if not _is_setting(text)]
    overrides = parse_overrides([text for text in arguments.settings if _is_setting(text)], KEYS)
    sample = Integer(5, "runs to repeat", 0, 1000).parse("sample", overrides.get("sample", 5))
    seed = Integer(0, "which runs", 0).parse("seed", overrides.get("seed", secrets.randbelow(10**6)))
    if named and "submissions" in overrides:
        raise UserError("give either bundles or submissions=DIR, not both")
    for path in named:
        if not path.exists() and not path.is_symlink():
            raise UserError(f"{path}: there is no such file")
    from mobench.submissions import find_bundles
    from mobench.submissions.collecting import plugin_files

    folder = Path(str(overrides.get("submissions", SUBMISSIONS)))
    paths = named or find_bundles(folder)
    files = plugin_files(overrides.get("plugins", []))
    if not paths:
        print(f"{folder} holds no bundle.")
        return 0
    return _verify(paths, sample, seed, files)


def _is_setting(text: str) -> bool:
    return "=" in text and not Path(text).is_file()


def _verify(paths: Sequence[Path], sample: int, seed: int, files: Mapping[str, Path]) -> int:
    from mobench.store.validation import shown
    from mobench.submissions import BundleError, findings, read_bundle
    from mobench.submissions.name_conflicts import TakenNames
    from mobench.submissions.rerun import Rerun, rerun

    taken = TakenNames()
    refused = 0
    for path in paths:
        print(shown(path.name, WIDTH))
        try:
            bundle = read_bundle(path)
        except BundleError as error:
            refused += 1
            _print_findings([str(error)])
            continue
        found = findings(bundle) or taken.conflicts(bundle)
        _print_content(bundle)
        again = Rerun()
        if not found and sample:
            again = rerun(bundle, sample=sample, seed=seed, files=files)
            found += again.findings
        if found:
            refused += 1
            _print_findings(found)
        else:
            _print_passed(again, sample, seed)
    total = f"{len(paths)} bundle{'s' if len(paths) != 1 else ''}"
    print(f"{total}: {refused} refused" if refused else f"{total}: none refused")
    return 1 if refused else 0


def _print_content(bundle: Bundle) -> None:
    failed = sum(record.outcome.status == "failed" for record in bundle.records)
    _print_point(f"by {bundle.by}; {len(bundle.records)} runs, {failed} failed")
    for method in bundle.methods:
        origin = "ships with mobench" if method.source is None else f"a plugin, sha256 {method.source[:12]}…"
        _print_point(f"{method.label}: {origin}")
    for part in bundle.suites:
        sizes = (f"{name} {len(points)}" for name, points in part.sweeps.items())
        _print_point(f"{part.label}: configurations tried: {', '.join(sizes)}")


def _print_passed(again: Rerun, sample: int, seed: int) -> None:
    from mobench.submissions.rerun import ABSOLUTE, RELATIVE

    repeated = again.exact + again.close
    for obstacle in again.obstacles:
        _print_point(f"not repeated: {obstacle}")
    if again.exact:
        _print_point(f"repeated to the last bit: {again.exact} of {again.possible} cheap runs (seed={seed})")
    if again.close:
        _print_point(
            f"repeated within {ABSOLUTE:g} + {RELATIVE:g}·|value|: {again.close} of {again.possible} cheap runs "
            f"(seed={seed}; recorded on another setup)"
        )
    if repeated and again.obstacles:
        _print_point("PARTLY VERIFIED: checks passed, the repeated runs agree; others cannot be repeated here")
    elif repeated:
        _print_point("VERIFIED: checks passed, and the repeated runs agree")
    else:
        reason = "no run was to be repeated (sample=0)" if not sample else "a re-run was not possible"
        _print_point(f"CHECKED, NOT REPEATED: checks passed; {reason}")


def _print_findings(found: Sequence[str]) -> None:
    for text in found:
        _print_point(f"- {text}")
    _print_point("REFUSED")


def _print_point(text: str) -> None:
    print(fill(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False))
