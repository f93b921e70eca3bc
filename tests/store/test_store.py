from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from mobench.core.outcome import Outcome
from mobench.errors import UserError
from mobench.planning.suite import Suite
from mobench.store.folder import DamagedRecordError, Store
from tests.running.records import make_record
from tests.running.trainers import spec, specs

FAILED = Outcome("failed", error="ValueError: no")


def damage(store: Store, seed: int, content: bytes = b'{"schema": 1') -> Path:
    path = store.path(spec(seed).id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_a_record_is_one_file_under_its_id(store: Store) -> None:
    record = make_record(spec(0))
    assert not store.has(record.id) and store.status(record.id) is None
    store.save(record)
    files = [path for path in store.root.rglob("*") if path.is_file()]
    assert files == [store.root / "runs" / record.id[:2] / f"{record.id}.json"]
    assert store.status(record.id) == "done"
    assert store.load(record.id) == record


def test_pending_runs_are_those_without_a_record_each_once(store: Store) -> None:
    store.save(make_record(spec(0)))
    store.save(make_record(spec(1), FAILED))
    planned = [*specs(4), spec(3)]
    assert [run.seed for run in store.pending(planned)] == [2, 3]
    assert [run.seed for run in store.pending(planned, retry_failed=True)] == [1, 2, 3]


def test_a_run_is_found_by_the_start_of_its_id(store: Store) -> None:
    for run in specs(40):
        store.save(make_record(run))
    id_ = spec(7).id
    assert store.load(id_[:10]).spec == spec(7)
    assert store.load(id_[:10].upper()).id == id_


def test_unknown_and_ambiguous_starts_are_explained(store: Store) -> None:
    for run in specs(40):
        store.save(make_record(run))
    id_ = spec(7).id
    typo = id_[:4] + ("0" if id_[4] != "0" else "1") + id_[5:10]
    with pytest.raises(UserError, match=f"unknown run '{typo}'.*Did you mean '{id_[:12]}'.*40 runs"):
        store.load(typo)
    starts = [spec(seed).id[0] for seed in range(40)]
    shared = next(start for start in starts if starts.count(start) > 1)
    with pytest.raises(UserError, match=f"{starts.count(shared)} ids start with it"):
        store.load(shared)
    with pytest.raises(UserError, match="unknown run ''"):
        store.load("")
    with pytest.raises(UserError, match="0 runs"):
        Store(store.root / "nowhere").load("ab")


def test_records_come_sorted_and_can_be_chosen(store: Store) -> None:
    for run in specs(20):
        store.save(make_record(run))
    ids = [record.id for record in store.records()]
    assert ids == sorted(run.id for run in specs(20))
    chosen = store.records(ids=[spec(3).id, spec(3).id, spec(99).id])
    assert [record.spec.seed for record in chosen] == [3]
    assert list(Store(store.root / "nowhere").records()) == []


def test_damage_is_reported_with_its_path_and_never_deleted(store: Store) -> None:
    store.save(make_record(spec(0)))
    path = damage(store, 1)
    foreign = path.with_name("notes.txt")
    foreign.write_text("mine")
    stray = store.root / "runs" / "README"
    stray.write_text("mine")
    with pytest.raises(DamagedRecordError, match=path.name):
        store.load(spec(1).id)
    with pytest.raises(UserError):
        list(store.records())
    seen: list[Path] = []
    records = list(store.records(on_damage=lambda error: seen.append(error.path)))
    assert [record.spec.seed for record in records] == [0]
    assert sorted(seen) == sorted([path, foreign, stray])
    store.sweep()
    assert path.read_bytes() == b'{"schema": 1' and foreign.exists() and stray.exists()


def test_a_record_under_a_foreign_name_is_damage(store: Store) -> None:
    damage(store, 1, make_record(spec(2)).encode())
    with pytest.raises(DamagedRecordError, match=f"holds run {spec(2).id}"):
        store.status(spec(1).id)


def test_a_damaged_run_is_run_again_and_its_file_kept_aside(store: Store) -> None:
    path = damage(store, 1, b"half a rec")
    with pytest.raises(DamagedRecordError):
        store.pending(specs(2))
    seen: list[Path] = []
    todo = store.pending(specs(2), on_damage=lambda error: seen.append(error.path))
    assert [run.seed for run in todo] == [0, 1] and seen == [path]
    store.save(make_record(spec(1)))
    assert store.status(spec(1).id) == "done"
    (aside,) = path.parent.glob("*.damaged")
    assert aside.read_bytes() == b"half a rec"
    assert len(list(store.records())) == 1


def test_an_interrupted_write_leaves_no_trace(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.save(make_record(spec(0)))

    def interrupt(path: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.save(make_record(spec(0), FAILED))
    assert store.status(spec(0).id) == "done"
    assert [path.name for path in store.path(spec(0).id).parent.iterdir()] == [f"{spec(0).id}.json"]


def test_leftovers_of_killed_processes_are_ignored_and_swept_when_old(store: Store) -> None:
    store.save(make_record(spec(0)))
    folder = store.path(spec(0).id).parent
    old, fresh = folder / ".x.json.1.ab.tmp", folder / ".y.json.1.ab.tmp"
    part = store.checkpoint(spec(5).id).with_suffix(".77.part")
    part.parent.mkdir()
    for path in (old, fresh, part):
        path.write_text("half")
    for path in (old, part):
        os.utime(path, (time.time() - 7200, time.time() - 7200))
    assert len(list(store.records())) == 1
    store.sweep()
    assert not old.exists() and not part.exists() and fresh.exists()


def test_only_checkpoints_of_finished_runs_are_swept(store: Store) -> None:
    store.save(make_record(spec(0)))
    store.save(make_record(spec(1), FAILED))
    damage(store, 3)
    for seed in range(4):
        store.checkpoint(spec(seed).id).parent.mkdir(exist_ok=True)
        store.checkpoint(spec(seed).id).write_text("state")
    store.sweep()
    assert [store.checkpoint(spec(seed).id).exists() for seed in range(4)] == [False, True, True, True]


def suite(name: str = "escape", profile: str = "quick", title: str = "Escape") -> Suite:
    return Suite(name, profile, title)


def test_a_manifest_is_the_union_of_what_was_planned(store: Store) -> None:
    store.add_manifest(suite(), ["b", "a"])
    store.add_manifest(suite(title="Escape, edited"), ["c", "a"])
    store.add_manifest(suite(profile="paper"), ["d"])
    store.add_manifest(suite(name="plane"), ["e"])
    found = {(entry.suite, entry.profile): entry.runs for entry in store.find_manifests(["escape"])}
    assert found == {("escape", "paper"): ("d",), ("escape", "quick"): ("a", "b", "c")}
    assert [entry.profile for entry in store.find_manifests(profile="quick")] == ["quick", "quick"]
    quick = next(entry for entry in store.manifests() if (entry.suite, entry.profile) == ("escape", "quick"))
    assert quick.definition["title"] == "Escape, edited"


def test_unknown_suites_and_profiles_are_refused_with_the_nearest(store: Store) -> None:
    store.add_manifest(suite(), ["a"])
    with pytest.raises(UserError, match="Did you mean 'escape'"):
        store.find_manifests(["escpae"])
    with pytest.raises(UserError, match="Did you mean 'quick'"):
        store.find_manifests(["escape"], "quik")
    with pytest.raises(UserError, match=r"suite=\.\./x"):
        store.add_manifest(suite(name="../x"), ["a"])


def test_a_damaged_manifest_is_an_error_with_its_path(store: Store) -> None:
    store.add_manifest(suite(), ["a"])
    path = store.root / "manifests" / "escape.quick.json"
    path.write_text('{"schema": 1, "runs"')
    with pytest.raises(UserError, match=r"escape\.quick\.json"):
        store.find_manifests(["escape"])
    with pytest.raises(UserError, match=r"escape\.quick\.json"):
        store.add_manifest(suite(), ["b"])
    assert path.read_text() == '{"schema": 1, "runs"'


def add_many(root: Path, writer: int) -> None:
    for index in range(25):
        Store(root).add_manifest(suite(), [f"{writer}-{index}"])


def test_processes_that_add_at_once_lose_nothing(store: Store) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=add_many, args=(store.root, writer)) for writer in range(3)]
    for process in writers:
        process.start()
    for process in writers:
        process.join()
    assert [process.exitcode for process in writers] == [0, 0, 0]
    (found,) = store.find_manifests(["escape"], "quick")
    assert set(found.runs) == {f"{writer}-{index}" for writer in range(3) for index in range(25)}
