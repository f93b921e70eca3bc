"""Turn the records of a finished suite into one file, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mobench.errors import UserError
from mobench.store import lease
from mobench.store.folder import DamagedRecordError, Store
from mobench.store.pack import contents, pack_file, write_file, write_pack
from mobench.store.suite_manifest import SuiteManifest


@dataclass(frozen=True)
class Packed:
    """What a command did."""

    file: Path
    records: int
    size: int
    """Bytes of the pack."""


def pack(store: Store, manifest: SuiteManifest) -> Packed:
    """Put the records of a suite and profile into one file, and delete their own files."""
    _refuse_unfinished(store, manifest)
    file = pack_file(store.packs_folder, manifest.suite, manifest.profile)
    stamps = {id_: store.stamp(id_) for id_ in manifest.runs}
    count = write_pack(file, _whole(store, manifest))
    for id_, stamp in stamps.items():
        if stamp is not None and store.stamp(id_) == stamp:  # nobody has repeated the run meanwhile
            store.path(id_).unlink(missing_ok=True)
    return Packed(file, count, file.stat().st_size)


def unpack(store: Store, manifest: SuiteManifest) -> Packed:
    """Write the records of a pack as files, and delete the pack."""
    file = pack_file(store.packs_folder, manifest.suite, manifest.profile)
    if not file.exists():
        raise UserError(f"suite {manifest.suite} ({manifest.profile}) is not packed: there is no {file}")
    size, count = file.stat().st_size, 0
    for id_, content in contents(file):
        write_file(store.path(id_), content)
        count += 1
    file.unlink()
    return Packed(file, count, size)


def _refuse_unfinished(store: Store, manifest: SuiteManifest) -> None:
    missing = sum(not store.has(id_) for id_ in manifest.runs)
    name = f"suite {manifest.suite} ({manifest.profile})"
    if missing:
        raise UserError(f"{name} is not finished: {missing} of {len(manifest.runs)} runs have no record")
    runs = set(manifest.runs)
    busy = {owner.owner for id_, owner in lease.held(store.root) if id_ in runs and not owner.is_forgotten}
    if busy:
        raise UserError(f"{name} is being run by {', '.join(sorted(busy))}; pack it afterwards")


def _whole(store: Store, manifest: SuiteManifest) -> Iterator[tuple[str, bytes]]:
    """Yield the bytes of every record, each checked before it is packed."""
    for id_ in manifest.runs:
        try:
            content = store.whole_bytes(id_)
        except DamagedRecordError as error:
            raise UserError(f"{error}; `mobench results verify` sets it aside") from error
        yield id_, content
