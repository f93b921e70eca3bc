import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from mobench.core.registry import methods
from mobench.scoring.runs import results_table
from mobench.store.folder import Store
from mobench.submissions import encode_bundle, findings, limits, parse_bundle
from mobench.submissions.bundle import Curves, RunLine
from mobench.submissions.collecting import thinned
from tests.commands import run_here
from tests.submissions.tampering import opened, sealed

SHIPPED = Path(__file__).parents[2] / "leaderboard" / "submissions"


def test_the_same_records_give_the_same_bytes(folder, content, tmp_path):
    out = tmp_path / "again.jsonl.gz"
    run_here("submit", "results=out", "by=Ada Lovelace", "plugins=mine.py", f"out={out}", cwd=folder)
    assert out.read_bytes() == content


def test_reading_and_writing_are_inverse(content, bundle):
    assert encode_bundle(bundle) == content
    assert sealed(*opened(content)) == content


def test_a_bundle_is_readable_with_gzip_and_json_alone(content):
    header, *runs = map(json.loads, gzip.decompress(content).decode("ascii").splitlines())
    assert header["by"] == "Ada Lovelace"
    assert len(runs) == header["records"]["count"] == 15
    assert {run["spec"]["method"] for run in runs} == {"unit-sum@1", "fragile@1"}


def test_metrics_and_costs_are_those_of_the_store_to_the_last_bit(folder, bundle):
    stored = {record.id: record for record in Store(folder / "out").records()}
    assert (len(bundle.records), len(stored)) == (15, 27)
    for record in bundle.records:
        own = stored[record.id]
        for name in ("status", "metrics", "diagnostics", "timings", "backward_passes", "failed_at_step"):
            assert getattr(record.outcome, name) == getattr(own.outcome, name)
        assert record.spec.canonical == own.spec.canonical
        assert (record.memory, record.started, record.finished) == (own.memory, own.started, own.finished)
        assert record.environment == own.environment


def test_of_curves_stays_what_is_drawn(folder, bundle):
    stored = {record.id: record for record in Store(folder / "out").records()}
    for record in bundle.records:
        own, kept = stored[record.id].outcome.history, record.outcome.history
        if not own:
            continue
        assert kept["step"] == own["step"]
        assert all(
            abs(short[0] - full[0]) <= 1e-5 * full[0]
            for short, full in zip(kept["gradient_norms"], own["gradient_norms"], strict=True)
        )
        assert ("point" in kept) == (record.spec.problem == "two-wells@1")
        assert "losses" not in kept and "weights" not in kept


def test_failed_runs_are_kept_with_one_line_that_names_no_folder(folder, bundle):
    failed = [record for record in bundle.records if record.outcome.status == "failed"]
    assert len(failed) == 2
    for record in failed:
        assert record.outcome.error == "ValueError: too steep <script>alert(1)</script>"
    assert str(folder).encode() not in gzip.decompress(folder.joinpath("mine.jsonl.gz").read_bytes())


def test_thinning_twice_changes_nothing(bundle):
    assert [thinned(record) for record in bundle.records] == bundle.records


def test_an_error_with_escapes_and_overrides_becomes_plain(bundle):
    record = bundle.records[0]
    outcome = replace(record.outcome, status="failed", error="Traceback\n\x1b[31mred\u202egnp.exe" + "x" * 5000)
    error = thinned(replace(record, outcome=outcome)).outcome.error
    assert error.startswith(r"\x1b[31mred\u202egnp.exe") and len(error) <= limits.TEXT


def test_settings_of_an_unknown_plugin_are_shown_without_its_class(bundle):
    assert "fragile" not in methods()
    table = results_table(bundle.records)
    assert sorted(table.loc[table["method"] == "fragile", "method_label"].unique()) == [
        "fragile(strength=0.5)",
        "fragile(strength=1)",
    ]
    assert (table.groupby("method")["status"].value_counts().loc["fragile", "failed"]) == 2


def test_a_complete_bundle_has_no_findings(bundle):
    assert findings(bundle) == []
    sizes = {part.suite: {name: len(points) for name, points in part.sweeps.items()} for part in bundle.suites}
    assert sizes == {"plane": {"unit-sum": 1, "fragile": 2}, "scale-invariance": {"unit-sum": 1}}


def test_a_source_goes_along_as_text_when_asked_for(folder, tmp_path):
    out = tmp_path / "open.jsonl.gz"
    run_here(
        "submit", "results=out", "by=Ada", "plugins=mine.py", "source=yes", "suite=plane", f"out={out}", cwd=folder
    )
    bundle = parse_bundle(out.name, out.read_bytes())
    assert list(bundle.sources.values()) == [folder.joinpath("mine.py").read_text()]
    assert set(bundle.sources) == {method.source for method in bundle.methods}
    assert [part.suite for part in bundle.suites] == ["plane"]


def test_limits_are_stated_in_the_documents():
    text = Path(__file__).parents[2].joinpath("docs", "submissions.md").read_text()
    for stated in (
        f"{limits.COMPRESSED_BYTES // 2**20} MiB",
        f"{limits.UNPACKED_BYTES // 2**20} MiB",
        f"{limits.RECORDS:,}",
        f"{limits.BY} characters",
        f"{limits.NOTES:,} characters",
        f"{limits.SOURCE:,} characters",
        "1e150",
    ):
        assert stated in text, stated


def test_a_curve_is_kept_if_a_known_method_declares_it_and_checked_like_ours():
    """PCD declares `multipliers`; no list of the engine has it."""
    packed = (SHIPPED / "reference-feasibility.jsonl.gz").read_bytes()
    line = json.loads(gzip.decompress(packed).splitlines()[1])
    kept = line["outcome"]["history"]
    assert set(kept) == {"step", "multipliers"} and "multipliers" not in Curves.__annotations__
    adapter = TypeAdapter(RunLine)

    def read(history):
        return adapter.validate_json(json.dumps(line | {"outcome": line["outcome"] | {"history": history}}))

    assert read(kept).outcome.history == kept
    for wrong in (
        {"multipliers": [["x"] for _ in kept["step"]]},
        {"unheard": kept["multipliers"]},
        {"multipliers": []},
    ):
        with pytest.raises(ValidationError):
            read({**kept, **wrong})
