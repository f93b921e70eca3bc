"""`mobench leaderboard verify`: is a submission whole, possible and repeatable?"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from mobench.cli.command import Command, names
from mobench.core.resources import resources
from mobench.core.settings import integer, text
from mobench.errors import UserError

if TYPE_CHECKING:
    from mobench.submissions import Bundle
    from mobench.submissions.rerun import Rerun

SUBMISSIONS = "leaderboard/submissions"
WIDTH = 79


class Verify(Command):
    """Check bundles that were sent in.

    Exit code: 0 when no bundle is refused, 1 when one is, 2 for a mistake in the input. Code inside a bundle is
    never run.
    """

    name = "leaderboard verify"
    words = ("files",)
    examples = """
  mobench leaderboard verify
  mobench leaderboard verify mine.jsonl.gz plugins=mine.py sample=10
"""

    files: list[str] = names(meaning="the bundles to check", shown="FILE …")
    submissions: str | None = text(
        None, meaning=f"check every bundle there; left out, without files: {SUBMISSIONS}", shown="DIR"
    )
    sample: int = integer(5, low=0, high=1000, meaning="repeat so many cheap runs of each bundle; 0: none")
    seed: int | None = integer(None, low=0, meaning="which ones; left out: drawn anew each time, and printed")
    plugins: list[str] = names(meaning="files of submitted methods; run only if their hash fits", shown="PATH[,PATH]")

    def execute(self) -> int:
        named = [Path(file) for file in self.files]
        if named and self.submissions is not None:
            raise UserError("give either bundles or submissions=DIR, not both")
        for path in named:
            if not path.exists() and not path.is_symlink():
                raise UserError(f"{path}: there is no such file")
        from mobench.submissions import find_bundles
        from mobench.submissions.collecting import plugin_files

        folder = Path(self.submissions or SUBMISSIONS)
        paths = named or find_bundles(folder)
        files = plugin_files(self.plugins)
        if not paths:
            print(f"{folder} holds no bundle.")
            return 0
        here = resources()
        here.data_download = "false"  # what others send in does not decide what is fetched
        here.export()
        seed = secrets.randbelow(10**6) if self.seed is None else self.seed
        return _verify(paths, self.sample, seed, files)


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
            f"(seed={seed}; recorded on another setup or a GPU)"
        )
    if repeated and again.obstacles:
        _print_point("PARTLY VERIFIED: checks passed, the repeated runs agree; others cannot be repeated here")
    elif repeated:
        _print_point("VERIFIED: checks passed, and the repeated runs agree")
    else:
        reason = "no run was to be repeated (sample=0)" if not sample else "a re-run was not possible"
        _print_point(f"CHECKED, NOT REPEATED: checks passed; {reason}")


def _print_findings(found: Sequence[str]) -> None:
    for finding in found:
        _print_point(f"- {finding}")
    _print_point("REFUSED")


def _print_point(text: str) -> None:
    print(fill(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False))
