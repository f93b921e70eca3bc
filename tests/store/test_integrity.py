"""Damage of every kind is found, set aside and named; nothing is deleted."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mobench.cli import main
from mobench.errors import UserError
from mobench.planning.suite import Suite
from mobench.store.folder import DamagedRecordError, Store
from mobench.store.integrity import verify
from mobench.store.record import sealed
from tests.running.records import make_record
from tests.running.trainers import spec, specs


@pytest.fixture
def damaged(store: Store) -> Store:
    """A store of 12 runs: three whole, one of schema 1, seven harmed in different ways, one missing."""
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
    path[8].write_text(json.dumps({**data, "schema": 1}))
    (store.root / "runs" / "README").write_text("mine")
    return store


EXPECTED = {0: "truncated", 1: "truncated", 2: "edited", 3: "foreign", 5: "foreign", 6: "foreign", 7: "foreign"}


def contents(store: Store) -> set[bytes]:
    return {path.read_bytes() for path in (store.root / "runs").rglob("*") if path.is_file()}


def test_every_kind_of_damage_is_found_and_set_aside(damaged: Store) -> None:
    before = contents(damaged)
    report = verify(damaged, set_aside=True)
    names = {finding.path.stem: finding.kind for finding in report.findings}
    assert names == {
        "README": "foreign",
        spec(8).id: "older",
        **{spec(seed).id: kind for seed, kind in EXPECTED.items()},
    }
    assert report.whole == 4 and [(one.runs, one.planned) for one in report.missing] == [(8, 12)]
    assert contents(damaged) == before
    again = verify(damaged, set_aside=True)
    assert not again.bad and again.whole == 4
    assert [run.seed for run in damaged.pending(specs(12))] == [0, 1, 2, 3, 5, 6, 7, 11]
    for run in damaged.pending(specs(12)):
        damaged.save(make_record(run))
    assert not verify(damaged, set_aside=True).missing


def test_looking_alone_moves_nothing(damaged: Store) -> None:
    before = sorted((damaged.root / "runs").rglob("*"))
    assert len(verify(damaged, set_aside=False).bad) == 8
    assert sorted((damaged.root / "runs").rglob("*")) == before


def test_an_edited_metric_and_a_pipe_are_not_believed(damaged: Store) -> None:
    for seed in EXPECTED:
        with pytest.raises(DamagedRecordError):
            damaged.status(spec(seed).id)
    seen: list[Path] = []
    found = damaged.records(on_damage=lambda error: seen.append(error.path))
    assert [record.spec.seed for record in found] == [
        run.seed for run in sorted(specs(11), key=lambda run: run.id) if run.seed not in EXPECTED
    ]
    assert len(seen) == 8


def test_records_of_the_first_schema_are_migrated(damaged: Store) -> None:
    old = damaged.load(spec(8).id)
    assert verify(damaged, set_aside=True, migrate=True).counts["older"] == 1
    assert damaged.load(spec(8).id) == old and verify(damaged, set_aside=True).counts["older"] == 0
    assert json.loads(damaged.path(old.id).read_bytes())["schema"] == 2


def test_a_newer_record_is_refused_and_never_touched(store: Store) -> None:
    record = make_record(spec(0))
    store.save(record)
    newer = sealed({**json.loads(record.encode()), "schema": 3, "novelty": 1})
    store.path(record.id).write_bytes(newer)
    for read in (store.status, store.load):
        with pytest.raises(UserError, match="schema is 3; this mobench reads up to 2, a newer one wrote it"):
            read(record.id)
    with pytest.raises(UserError, match="newer"):
        store.pending([spec(0)], on_damage=lambda error: None)
    with pytest.raises(UserError, match="newer"):
        store.save(record)
    assert verify(store, set_aside=True).counts == {"newer": 1}
    assert store.path(record.id).read_bytes() == newer


def test_the_command_says_what_to_repeat(damaged: Store, capsys: pytest.CaptureFixture[str]) -> None:
    results = f"results={damaged.root}"
    assert main(["results", "verify", results, "--dry-run", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["whole"] == 4 and report["missing"][0]["runs"] == 8
    assert main(["results", "verify", results]) == 1
    said = capsys.readouterr().out
    assert f"edited: {damaged.path(spec(2).id)}: its checksum does not fit" in said
    assert "4 whole records, 8 files that are none" in said
    assert f"mobench run suite=escape profile=quick results={damaged.root}" in said
    assert main(["results", "verify", "results=nowhere"]) == 2
