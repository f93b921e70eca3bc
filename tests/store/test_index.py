"""The index saves reading, and is never believed over the records."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from mobench.cli import main
from mobench.core.outcome import Outcome
from mobench.store.columns import RunColumns
from mobench.store.folder import DamagedRecordError, Store
from mobench.store.record import RunRecord
from tests.running.records import make_record
from tests.running.trainers import outcome, spec, specs

IDS = [run.id for run in specs(6)]


@pytest.fixture
def filled(store: Store) -> Store:
    for run in specs(5):
        store.save(
            make_record(run, replace(outcome(run), metrics={"value": float(run.seed), f"only/{run.seed % 2}": 1.0}))
        )
    return store


def values(runs: RunColumns) -> dict[int, float]:
    return dict(zip(runs.table["seed"].to_pylist(), dict(runs.numbers("metric/"))["value"].tolist(), strict=True))


def rows(runs: RunColumns) -> str:
    return repr(runs.table.to_pylist())  # in words, since NaN is not equal to itself


def reads(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note the seeds of the records that are read from now on."""
    seen: list[int] = []
    decode = RunRecord.decode

    def noting(text: bytes) -> RunRecord:
        record = decode(text)
        seen.append(record.spec.seed)
        return record

    monkeypatch.setattr(RunRecord, "decode", staticmethod(noting))
    return seen


def test_what_is_indexed_is_what_records_say_and_is_read_once(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = rows(RunColumns.of(filled.records(IDS)))
    seen = reads(filled, monkeypatch)
    assert rows(filled.columns(IDS, "s")) == expected and sorted(seen) == [0, 1, 2, 3, 4]
    seen.clear()
    again = filled.columns(IDS, "s")
    assert rows(again) == expected and not seen
    assert again.specs[0] == [replace(spec(0), seed=-1)] and again.environments[1].tolist() == [0] * 5
    assert values(filled.columns(IDS[:2], "s")) == {0: 0.0, 1: 1.0} and not seen
    assert "metric/only/1" not in filled.columns(IDS[:1], "s").table.column_names
    filled.save(make_record(spec(5)))
    assert values(filled.columns(IDS, "s"))[5] == 2.5 and seen == [5]


def test_a_changed_record_is_read_again_even_if_size_and_time_are_the_same(filled: Store) -> None:
    assert values(filled.columns(IDS, "s"))[3] == 3.0
    path = filled.path(spec(3).id)
    before = path.stat()
    changed = make_record(spec(3), replace(outcome(spec(3)), metrics={"value": 7.0, "only/1": 1.0})).encode()
    assert len(changed) == before.st_size
    path.write_bytes(changed)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert values(filled.columns(IDS, "s"))[3] == 7.0
    path.write_bytes(changed.replace(b'"value":7.0', b'"value":6.0'))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(DamagedRecordError):
        filled.columns(IDS, "s")
    damage: list[Path] = []
    assert 3 not in values(filled.columns(IDS, "s", on_damage=lambda error: damage.append(error.path)))
    assert damage == [path]
    path.unlink()
    assert sorted(values(filled.columns(IDS, "s"))) == [0, 1, 2, 4]


@pytest.mark.parametrize("harm", ["cut", "empty", "foreign", "other version"])
def test_an_index_that_cannot_be_used_is_made_anew(filled: Store, harm: str) -> None:
    expected = rows(filled.columns(IDS, "s"))
    (file,) = (filled.root / "index").iterdir()
    table = pq.read_table(file)
    if harm == "cut":
        file.write_bytes(file.read_bytes()[:-100])
    elif harm == "empty":
        file.write_bytes(b"")
    elif harm == "foreign":
        pq.write_table(table.select(["id"]), file)
    else:
        pq.write_table(table.replace_schema_metadata({b"mobench.index": b"0"}), file)
    assert rows(filled.columns(IDS, "s")) == expected
    assert rows(filled.columns(IDS, "s")) == expected


@pytest.mark.parametrize("instead", ["nothing", "a file", "a link to itself"])
def test_runs_whose_folder_is_gone_are_not_believed_to_be_there(filled: Store, instead: str) -> None:
    assert len(filled.columns(IDS, "s")) == 5
    place = filled.path(IDS[0]).parent
    gone = {id_ for id_ in IDS if filled.path(id_).parent == place}
    shutil.rmtree(place)
    if instead == "a file":
        place.touch()
    elif instead == "a link to itself":
        place.symlink_to(place)
    damaged: list[DamagedRecordError] = []
    assert set(filled.columns(IDS, "s", on_damage=damaged.append).ids) == set(IDS[:5]) - gone
    assert len(damaged) == (len(gone) if instead == "a link to itself" else 0)


def test_failed_runs_and_numbers_that_are_missing(store: Store) -> None:
    store.save(make_record(spec(0), Outcome("failed", error="no", failed_at_step=3)))
    store.save(make_record(spec(1)))
    runs = store.columns(None, "all")
    by = dict(zip(runs.table["seed"].to_pylist(), runs.table["failed_at_step"].to_pylist(), strict=True))
    assert by == {0: 3, 1: None} and str(values(runs)[0]) == "nan"
    assert len(Store(store.root / "nowhere").columns(None, "all")) == 0


def test_a_module_that_names_torch_does_not_load_it_before_it_uses_it(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("import torch\n")
    program = (
        "import sys\nfrom mobench.core.deferred import deferred\n"
        "with deferred('torch'):\n    import one\n"
        "assert 'torch' not in sys.modules\n"
        "one.torch.zeros(1)\nimport torch\nassert one.torch is torch\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": str(tmp_path)})


def test_tables_need_no_torch(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom mobench.cli import main\nfrom mobench.core.registry import problems\n"
        f"code = main(['results', 'suite=plane', 'results={tmp_path}'])\n"
        "assert code == 0 and 'torch' not in sys.modules and 'two-wells@1' in problems()\n"
        "assert 'celeba@1' in list(problems())\n"
    )
    assert main(["run", "suite=plane", "profile=quick", f"results={tmp_path}", "jobs=0", "--quiet"]) == 0
    subprocess.run([sys.executable, "-c", program], check=True)


def test_steps_are_those_of_the_records_and_damage_is_told(filled: Store) -> None:
    wanted = [run.id for run in specs(5)]
    records = {record.id: record for record in filled.records(wanted)}
    assert records[wanted[0]].outcome.history
    assert dict(filled.histories([*wanted, IDS[5]])) == {id_: record.outcome.history for id_, record in records.items()}
    edited, moved, unsealed = (filled.path(id_) for id_ in wanted[:3])
    edited.write_bytes(edited.read_bytes().replace(b'"done"', b'"gone"'))
    moved.write_bytes(filled.path(wanted[3]).read_bytes())
    whole = orjson.loads(unsealed.read_bytes())
    unsealed.write_bytes(orjson.dumps({key: whole[key] for key in whole if key != "checksum"}))
    damages: list[DamagedRecordError] = []
    assert {id_ for id_, _ in filled.histories(wanted, damages.append)} == set(wanted[3:])
    assert {damage.path for damage in damages} == {edited, moved, unsealed}
    assert "checksum" in str(next(damage for damage in damages if damage.path == edited))
