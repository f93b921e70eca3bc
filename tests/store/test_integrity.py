"""Damage of every kind is found and named; nothing is changed or deleted."""

from __future__ import annotations

import json
import os

import pytest

from mobench.cli import main
from mobench.errors import UserError
from mobench.planning.suite import Suite
from mobench.store.folder import DamagedRecordError, Store
from mobench.store.record import sealed
from tests.running.records import make_record
from tests.running.trainers import spec, specs


@pytest.fixture
def damaged(store: Store) -> Store:
    """A store of 12 runs: three whole, one without a checksum, seven harmed in different ways, one missing."""
    for run in specs(11):
        store.save(make_record(run))
    store.add_manifest(Suite("escape", "quick", "Escape"), [run.id for run in specs(12)])
    path = [store.path(run.id) for run in specs(11)]
    text = path[0].read_bytes()
    path[0].write_bytes(text[:-30])
    path[1].write_bytes(b"")
    path[2].write_bytes(path[2].read_bytes().replace(b'"value":1.0', b'"value":0.9'))
    path[3].write_bytes(path[4].read_bytes())
    path[5].unlink()
    os.mkfifo(path[5])
    path[6].unlink()
    path[6].mkdir()
    path[7].write_bytes(b'{"hello": "world"}')
    data = json.loads(path[8].read_bytes())
    del data["checksum"]
    path[8].write_text(json.dumps(data))
    (store.root / "runs" / "README").write_text("mine")
    return store


HARMED = {0, 1, 2, 3, 5, 6, 7, 8}


def test_every_kind_of_damage_is_named_and_nothing_is_changed(
    damaged: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted((damaged.root / "runs").rglob("*"))
    assert main(["results", "verify", f"results={damaged.root}"]) == 1
    *lines, count = capsys.readouterr().out.splitlines()
    named = [damaged.path(spec(seed).id) for seed in HARMED]
    assert all(sum(str(path) in line for line in lines) == 1 for path in [*named, damaged.root / "runs" / "README"])
    assert f"{damaged.path(spec(2).id)} is not a whole run record: its checksum does not fit" in "\n".join(lines)
    assert len(lines) == 9 and count == "3 whole records, 9 damaged"
    assert sorted((damaged.root / "runs").rglob("*")) == before
    assert main(["results", "verify", "results=nowhere"]) == 2


def test_damaged_runs_are_repeated_and_their_files_kept(damaged: Store, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[DamagedRecordError] = []
    pending = damaged.pending(specs(12), on_damage=seen.append)
    assert [run.seed for run in pending] == [0, 1, 2, 3, 5, 6, 7, 8, 11] and len(seen) == len(HARMED)
    (damaged.root / "runs" / "README").unlink()
    for run in pending:
        damaged.save(make_record(run))
    assert len(list((damaged.root / "runs").rglob("*.damaged"))) == len(HARMED)
    assert main(["results", "verify", f"results={damaged.root}"]) == 0
    assert capsys.readouterr().out == "12 whole records, 0 damaged\n"


def test_an_edited_metric_and_a_pipe_are_not_believed(damaged: Store) -> None:
    for seed in HARMED:
        with pytest.raises(DamagedRecordError):
            damaged.status(spec(seed).id)


def test_a_newer_record_is_refused_and_never_touched(store: Store) -> None:
    record = make_record(spec(0))
    store.save(record)
    newer = sealed({**json.loads(record.encode()), "schema": 3, "novelty": 1})
    store.path(record.id).write_bytes(newer)
    for read in (store.status, store.load):
        with pytest.raises(UserError, match="schema is 3; this mobench reads 2, a newer one wrote it"):
            read(record.id)
    with pytest.raises(UserError, match="newer"):
        store.pending([spec(0)], on_damage=lambda error: None)
    with pytest.raises(UserError, match="newer"):
        store.save(record)
    assert main(["results", "verify", f"results={store.root}"]) == 2
    assert store.path(record.id).read_bytes() == newer
