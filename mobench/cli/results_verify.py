"""`mobench results verify`: whether stored records are whole and unchanged."""

from __future__ import annotations

from pathlib import Path

from mobench.cli.command import RESULTS, Command
from mobench.core.plain_text import readable
from mobench.errors import UserError


class ResultsVerify(Command):
    """Check every stored record against its checksum, and name each file that is damaged.

    Nothing is changed: `mobench run` does the run of a damaged record again, and keeps the file beside the new one.
    Exit code: 0 when all are whole, 1 otherwise.
    """

    name = "results verify"
    examples = """
  mobench results verify
  mobench results verify results=out
"""

    results: str = RESULTS

    def execute(self) -> int:
        root = Path(self.results)
        if not root.is_dir():
            raise UserError(f"results={root}: there is no such folder")
        from mobench.store.folder import DamagedRecordError, Store

        damaged: list[DamagedRecordError] = []
        whole = sum(1 for _ in Store(root).records(on_damage=damaged.append))
        for error in damaged:
            print(readable(str(error)))
        print(f"{whole} whole records, {len(damaged)} damaged")
        return 1 if damaged else 0
