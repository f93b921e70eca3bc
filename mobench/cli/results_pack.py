"""`mobench results pack` and `unpack`: the records of a finished suite as one file, and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mobench.cli.command import RESULTS, Command, names
from mobench.core.settings import text
from mobench.errors import StorageError, UserError

if TYPE_CHECKING:
    from mobench.store.folder import Store
    from mobench.store.packing import Packed
    from mobench.store.suite_manifest import SuiteManifest

SUITE = names(meaning="suites that were run here", shown="NAME[,NAME]")


class ResultsPack(Command):
    """Put the records of finished suites into one file each, byte for byte; everything reads them there.

    The file is results/packs/SUITE.PROFILE.pack. It is checked before the records' own files are deleted.
    """

    name = "results pack"
    words = ("suite",)
    examples = """
  mobench results pack suite=escape
  mobench results unpack suite=escape
"""

    suite: list[str] = SUITE
    profile: str | None = text(None, meaning="only this profile", shown="NAME")
    results: str = RESULTS

    def execute(self) -> int:
        from mobench.store.packing import pack

        self.need("suite")
        return _each(self.results, self.suite, self.profile, pack, "packed into")


class ResultsUnpack(Command):
    """Turn packs back into a file per record, byte for byte, and delete them."""

    name = "results unpack"
    words = ("suite",)
    examples = """
  mobench results unpack suite=escape profile=quick
"""

    suite: list[str] = SUITE
    profile: str | None = text(None, meaning="only this profile", shown="NAME")
    results: str = RESULTS

    def execute(self) -> int:
        from mobench.store.packing import unpack

        self.need("suite")
        return _each(self.results, self.suite, self.profile, unpack, "unpacked from")


def _each(
    results: str,
    suites: list[str],
    profile: str | None,
    turn: Callable[[Store, SuiteManifest], Packed],
    done: str,
) -> int:
    from mobench.store.folder import Store

    root = Path(results)
    if not root.is_dir():
        raise UserError(f"results={root}: there is no such folder")
    store = Store(root)
    for manifest in store.find_manifests(suites, profile):
        try:
            packed = turn(store, manifest)
        except OSError as error:
            raise StorageError.of(root, error) from error
        print(f"{packed.records:,} records {done} {packed.file} ({packed.size / 1e6:.1f} MB)")
    return 0
