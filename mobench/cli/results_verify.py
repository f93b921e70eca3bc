"""`mobench results verify`: whether stored records are whole, unchanged and ours."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from mobench.cli.command import RESULTS, Command
from mobench.core.settings import flag
from mobench.errors import UserError

if TYPE_CHECKING:
    from mobench.store.integrity import Report


class ResultsVerify(Command):
    """Check every stored record against its checksum, set aside what is no record, and say what to repeat.

    Exit code: 0 when all is whole, 1 when files were set aside or runs are missing.
    """

    name = "results verify"
    examples = """
  mobench results verify
  mobench results verify results=out --dry-run
"""

    results: str = RESULTS
    dry_run: bool = flag(False, meaning="only say what is wrong, move nothing")
    migrate: bool = flag(False, meaning="write records of an earlier schema again, with a checksum")
    json: bool = flag(False, meaning="print the report as JSON")

    def execute(self) -> int:
        root = Path(self.results)
        if not root.is_dir():
            raise UserError(f"results={root}: there is no such folder")
        if self.dry_run and self.migrate:
            raise UserError("--dry-run changes nothing and --migrate does; give one of them")
        from mobench.store.folder import Store
        from mobench.store.integrity import verify

        report = verify(Store(root), set_aside=not self.dry_run, migrate=self.migrate)
        if self.json:
            _print_json(report)
        else:
            self._print(report)
        return 1 if report.bad or report.missing else 0

    def _print(self, report: Report) -> None:
        for finding in report.bad:
            print(f"{finding.kind}: {finding.path}: {finding.reason}")
        counts = report.counts
        print(f"{report.whole} whole records, {len(report.bad)} files that are none")
        if any(finding.kind != "packed" for finding in report.bad):
            done = "would be" if self.dry_run else "were"
            print(f"They {done} set aside: their names {'would end' if self.dry_run else 'end'} with .damaged")
        if counts["newer"]:
            print(f"{counts['newer']} records are of a newer mobench: install it to read them")
        if counts["older"]:
            done = "were written again" if self.migrate else "have no checksum; --migrate writes them again"
            print(f"{counts['older']} records of an earlier schema {done}")
        for missing in report.missing:
            print(f"to repeat: {missing.runs} of {missing.planned} runs of {missing.suite} ({missing.profile})")
            print(f"  mobench run suite={missing.suite} profile={missing.profile} results={self.results}")


def _print_json(report: Report) -> None:
    import orjson

    content = {
        "whole": report.whole,
        "findings": [{**asdict(finding), "path": str(finding.path)} for finding in report.findings],
        "missing": [asdict(missing) for missing in report.missing],
    }
    sys.stdout.write(orjson.dumps(content, option=orjson.OPT_INDENT_2).decode() + "\n")
