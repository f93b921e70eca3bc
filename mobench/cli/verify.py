"""`mobench leaderboard verify`: is a submission whole, possible and repeatable?"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, ClassVar

from mobench.cli.command import Command, names
from mobench.core.resources import resources
from mobench.core.settings import integer, real, text
from mobench.errors import UserError

if TYPE_CHECKING:
    from mobench.submissions import Bundle
    from mobench.submissions.rerun import Rerun
    from mobench.submissions.verdict import Verdict
    from mobench.submissions.verdict_file import KeptVerdict

    Row = tuple[str, str, str]

SUBMISSIONS = "leaderboard/submissions"
WIDTH = 79


class Verify(Command):
    """Check bundles that were sent in.

    Exit code: 0 when no bundle is refused, 1 when one is, 2 for a mistake in the input. Code inside a bundle is
    never run.
    """

    name = "leaderboard verify"
    loads = "packages"
    words = ("files",)
    spelling: ClassVar = {"data_root": "data.root"}
    examples = """
  mobench leaderboard verify
  mobench leaderboard verify mine.jsonl.gz plugins=mine.py budget=600
  mobench leaderboard verify plugins=leaderboard/submissions verified=verified
  mobench leaderboard verify verdicts=leaderboard/verdicts.json
"""

    files: list[str] = names(meaning="the bundles to check", shown="FILE …")
    submissions: str | None = text(
        None, meaning=f"check every bundle there; left out, without files: {SUBMISSIONS}", shown="DIR"
    )
    budget: float = real(
        300.0, low=0.0, meaning="repeat runs of each bundle for so many seconds, drawn from all; 0: none"
    )
    seed: int | None = integer(None, low=0, meaning="which ones; left out: drawn anew each time, and printed")
    plugins: list[str] = names(meaning="files of submitted methods; run only if their hash fits", shown="PATH[,PATH]")
    verified: str | None = text(
        None, meaning="keep the repeated runs there, for `leaderboard build`; runs that are there count", shown="DIR"
    )
    verdicts: str | None = text(
        None, meaning="write what came of reference bundles there, for `leaderboard build`", shown="FILE"
    )
    data_root: str | None = text(
        None, meaning="folder that holds the data sets; nothing is fetched (default: data)", shown="DIR"
    )

    def execute(self) -> int:
        named = [Path(file) for file in self.files]
        if named and self.submissions is not None:
            raise UserError("give either bundles or submissions=DIR, not both")
        for path in named:
            if not path.exists() and not path.is_symlink():
                raise UserError(f"{path}: there is no such file")
        from mobench.submissions import find_bundles
        from mobench.submissions.collecting import plugin_files
        from mobench.submissions.verdict_file import read_verdicts, write_verdicts

        if self.verdicts is not None and Path(self.verdicts).exists():
            read_verdicts(Path(self.verdicts))  # a file of something else is left alone
        folder = Path(self.submissions or SUBMISSIONS)
        paths = named or find_bundles(folder)
        files = plugin_files(self.plugins)
        if not paths:
            print(f"{folder} holds no bundle.")
            return 0
        here = resources()
        if self.data_root is not None:
            if not Path(self.data_root).is_dir():
                raise UserError(f"data.root={self.data_root}: there is no such folder")
            here.data_root = self.data_root
        here.data_download = "false"  # what others send in does not decide what is fetched
        here.export()
        seed = secrets.randbelow(10**6) if self.seed is None else self.seed
        with tempfile.TemporaryDirectory(prefix="mobench-verify-") as scratch:
            refused, kept = _verify(paths, self.budget, seed, files, Path(self.verified or scratch))
        if self.verdicts is not None:
            write_verdicts(Path(self.verdicts), kept)
        total = f"{len(paths)} bundle{'s' if len(paths) != 1 else ''}"
        print(f"{total}: {refused} refused" if refused else f"{total}: none refused")
        return 1 if refused else 0


def _verify(
    paths: Sequence[Path], budget: float, seed: int, files: Mapping[str, Path], folder: Path
) -> tuple[int, dict[str, KeptVerdict | None]]:
    """Return how many bundles are refused, and what is kept of reference bundles that were repeated or are refused."""
    from mobench.store.folder import Store
    from mobench.store.validation import shown
    from mobench.submissions import BundleError, read_bundle
    from mobench.submissions.name_conflicts import TakenNames
    from mobench.submissions.reference import checked
    from mobench.submissions.rerun import rerun
    from mobench.submissions.verdict import verdicts
    from mobench.submissions.verdict_file import KeptVerdict

    taken, store = TakenNames(), Store(folder)
    refused = 0
    kept: dict[str, KeptVerdict | None] = {}
    for path in paths:
        print(shown(path.name, WIDTH))
        try:
            bundle = read_bundle(path)
        except BundleError as error:
            refused, kept[path.name] = refused + 1, None
            _print_findings([str(error)])
            continue
        looked_at = checked(bundle)
        bundle = looked_at.bundle
        found = list(looked_at.findings) or taken.conflicts(bundle)
        _print_content(bundle)
        for words in looked_at.left_out:
            _print_point(f"left out: {words}")
        if found:
            refused, kept[path.name] = refused + 1, None
            _print_findings(found)
            continue
        again = rerun(bundle, store, budget=budget, seed=seed, files=files)
        repeated = {record.id: record for record in store.records({run.id for run in bundle.records})}
        judged = verdicts(bundle, repeated)
        differing = [finding for verdict in judged.values() for finding in verdict.findings]
        if differing:
            refused, kept[path.name] = refused + 1, None
            _print_findings(list(dict.fromkeys(differing)))
            continue
        if bundle.is_reference and repeated:
            kept[path.name] = KeptVerdict.of(bundle, judged.values(), repeated)
        _print_passed(judged, again, budget, seed, always=bundle.is_reference)
    return refused, kept


def _print_content(bundle: Bundle) -> None:
    failed = sum(record.outcome.status == "failed" for record in bundle.records)
    _print_point(f"by {bundle.by}; {len(bundle.records)} runs, {failed} failed")
    if bundle.is_reference:
        _print_point(f"a reference of mobench {bundle.mobench}: {len(bundle.methods)} methods that ship with it")
    for method in () if bundle.is_reference else bundle.methods:
        origin = "ships with mobench" if method.source is None else f"a plugin, sha256 {method.source[:12]}…"
        _print_point(f"{method.label}: {origin}")
    for part in bundle.suites:
        sizes = (f"{name} {len(points)}" for name, points in part.sweeps.items())
        tried = f"{len(part.runs)} runs" if bundle.is_reference else f"configurations tried: {', '.join(sizes)}"
        _print_point(f"{part.label}: {tried}")


def _print_passed(judged: Mapping[Row, Verdict], again: Rerun, budget: float, seed: int, always: bool) -> None:
    """Print the verdicts; `always` says that results are ranked whatever was repeated."""
    for obstacle in again.obstacles:
        _print_point(f"not repeated: {obstacle}")
    if again.drawn:
        _print_point(f"drawn from {again.possible} runs and repeated now: {again.drawn} (seed={seed})")
    for (suite, profile, method), verdict in judged.items():
        ranked = "" if always or verdict.ranked else "; not ranked"
        _print_point(f"{method} on {suite} ({profile}): {verdict.words}{ranked}")
    repeated = [verdict for verdict in judged.values() if verdict.repeated]
    if not repeated:
        reason = "no run was to be repeated (budget=0)" if not budget else "a re-run was not possible"
        _print_point(f"CHECKED, NOT REPEATED: checks passed; {reason}")
    elif not all(verdict.proven for verdict in repeated):
        _print_point("AGREES: checks passed; runs on another setup agree within a tolerance, which proves less")
    elif again.obstacles or len(repeated) < len(judged):
        _print_point("PARTLY VERIFIED: checks passed, the repeated runs agree to the last bit; others were not drawn")
    else:
        _print_point("VERIFIED: checks passed, and the repeated runs agree to the last bit")


def _print_findings(found: Sequence[str]) -> None:
    for finding in found:
        _print_point(f"- {finding}")
    _print_point("REFUSED")


def _print_point(text: str) -> None:
    print(fill(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False))
