"""Who may do a run, and whose record counts."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from mobench.core.outcome import Outcome
from mobench.store import lease
from mobench.store.folder import Store
from mobench.store.lease import Leases, held
from tests.running.records import make_record
from tests.running.trainers import spec

FORK = multiprocessing.get_context("fork")
IDS = [spec(seed).id for seed in range(60)]


def leases(store: Store) -> list[str]:
    return sorted(path.name for path in (store.root / "leases").iterdir())


def in_a_process(work: Callable[..., None], *arguments: object) -> None:
    process = FORK.Process(target=work, args=arguments)
    process.start()
    process.join()


def die_with(root: Path, ids: list[str]) -> None:
    """Take leases and die without giving them back."""
    mine = Leases(root)
    mine.__enter__()
    assert all(mine.acquire(id_) for id_ in ids)
    os._exit(0)


def test_a_lease_has_one_owner_until_its_run_has_a_record(store: Store) -> None:
    id_ = IDS[0]
    with Leases(store.root) as one, Leases(store.root) as two:
        assert one.acquire(id_) and one.acquire(id_) and not two.acquire(id_)
        assert one.fence.holds(id_) and not two.fence.holds(id_)
        assert [(run, owner.pid) for run, owner in held(store.root)] == [(id_, os.getpid())]
        one.release(id_)
        assert not one.fence.holds(id_) and two.acquire(id_)
    with Leases(store.root) as three:  # what was given back is free, and is taken as the next generation
        assert three.acquire(id_) and three.fence.holds(id_) and not two.fence.holds(id_)
        assert {f"{id_}.1", f"{id_}.2"} < set(leases(store))
        three.release(id_)
    assert leases(store) == []


def test_one_touch_renews_all_leases_of_a_driver(store: Store) -> None:
    with Leases(store.root, seconds=0.06) as mine:
        assert all(mine.acquire(id_) for id_ in IDS[:3])
        first = {id_: owner.heartbeat for id_, owner in held(store.root)}
        end = time.monotonic() + 30
        while any(owner.heartbeat == first[id_] for id_, owner in held(store.root)):
            assert time.monotonic() < end
            time.sleep(0.01)


def test_leases_of_the_dead_are_taken_over_once_each(store: Store) -> None:
    in_a_process(die_with, store.root, IDS)
    answers = FORK.Queue()

    def take() -> None:
        with Leases(store.root) as mine:
            answers.put([id_ for id_ in IDS if mine.acquire(id_)])
            barrier.wait()

    barrier = FORK.Barrier(4)
    processes = [FORK.Process(target=take) for _ in range(4)]
    for process in processes:
        process.start()
    taken = Counter(id_ for _ in processes for id_ in answers.get(timeout=60))
    for process in processes:
        process.join()
    assert taken == dict.fromkeys(IDS, 1)


def test_a_silent_driver_of_another_machine_is_watched_for_as_long_as_it_promised(store: Store) -> None:
    id_ = IDS[0]
    in_a_process(die_with, store.root, [id_])
    path = store.root / "leases" / f"{id_}.1"
    other = {**json.loads(path.read_bytes()), "machine": "elsewhere", "seconds": 0.2}
    path.write_text(json.dumps(other))
    with Leases(store.root) as mine:
        assert not mine.acquire(id_)
        os.utime(path)  # it beats: we watch anew
        assert not mine.acquire(id_)
        end = time.monotonic() + 30
        while not mine.acquire(id_):
            assert time.monotonic() < end
        assert mine.fence.holds(id_)


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"owner": 3}', b'{"pid": "x"'])
def test_what_is_no_lease_is_treated_as_somebody_s(store: Store, content: bytes) -> None:
    folder = store.root / "leases"
    folder.mkdir(parents=True)
    (folder / f"{IDS[0]}.1").write_bytes(content)
    os.mkfifo(folder / f"{IDS[1]}.1")
    with Leases(store.root) as mine:
        assert not mine.acquire(IDS[0]) and not mine.acquire(IDS[1]) and mine.acquire(IDS[2])


def test_without_hard_links_leases_are_files_of_their_own(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    with Leases(store.root) as one, Leases(store.root) as two:
        assert one.acquire(IDS[0]) and not two.acquire(IDS[0]) and one.fence.holds(IDS[0])
        assert store.save_once(make_record(spec(0)), None) and not store.save_once(make_record(spec(0)), None)
    with Leases(store.root) as three:
        assert three.acquire(IDS[0])


def test_a_sweep_removes_what_dead_drivers_left_of_finished_runs(store: Store) -> None:
    in_a_process(die_with, store.root, IDS[:2])
    store.save(make_record(spec(0)))
    with Leases(store.root) as alive:
        assert alive.acquire(IDS[2])
        store.save(make_record(spec(2)))
        store.sweep()
        assert [name for name in leases(store) if not name.endswith(".driver")] == sorted(
            [f"{IDS[1]}.1", f"{IDS[2]}.1"]
        )
        assert [name for name in leases(store) if name.endswith(".driver")] == [f"{alive.fence.owner}.driver"]


def test_a_late_record_overwrites_nothing(store: Store) -> None:
    first, late = make_record(spec(0)), make_record(spec(0), Outcome("failed", error="late"))
    assert store.is_open(first.id, None)
    assert store.save_once(first, None) and not store.save_once(late, None)
    assert store.load(first.id) == first and not store.is_open(first.id, None)
    assert not store.is_open(first.id, store.stamp(first.id))  # it is done


def test_a_failed_record_is_replaced_by_one_of_those_who_saw_it(store: Store) -> None:
    failed, done = make_record(spec(0), Outcome("failed", error="no")), make_record(spec(0))
    store.save(failed)
    seen = store.stamp(failed.id)
    assert store.is_open(failed.id, seen)
    assert store.save_once(done, seen) and not store.save_once(failed, seen)
    assert store.load(done.id) == done
    assert [path.name for path in store.path(done.id).parent.iterdir()] == [f"{done.id}.json"]


def test_a_damaged_record_is_kept_beside_the_new_one(store: Store) -> None:
    record = make_record(spec(0))
    store.save(record)
    store.path(record.id).write_bytes(b"{")
    seen = store.stamp(record.id)
    assert store.is_open(record.id, seen) and store.save_once(record, seen)
    kept = {path.suffix: path.read_bytes() for path in store.path(record.id).parent.iterdir()}
    assert kept == {".json": record.encode(), ".damaged": b"{"}


def test_a_process_id_that_is_used_again_is_another_process(store: Store) -> None:
    mine = lease.Owner.here(60.0)
    alive = lease.replace(mine, heartbeat=time.time())
    assert not alive.is_over and lease.replace(alive, started=mine.started - 100.0).is_over
