from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mobench.core.outcome import Outcome
from mobench.store.folder import DamagedRecordError, Store
from mobench.store.record import PeakMemory, RunRecord, sealed, settled
from tests.running.records import make_record
from tests.running.trainers import spec

NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


def refuse_constant(token: str) -> None:
    raise AssertionError(f"the token {token} is not JSON")


def test_a_record_survives_its_round_trip() -> None:
    record = replace(make_record(spec(3, rates=(0.1, 1e-300))), memory=PeakMemory(5, 4, "training", 2, None))
    assert RunRecord.decode(record.encode()) == record
    assert json.loads(record.encode())["schema"] == 2


@settings(max_examples=50)
@given(st.dictionaries(st.text(min_size=1), NUMBERS), st.lists(NUMBERS))
def test_stored_text_is_strict_json_whatever_the_numbers(metrics: dict[str, float], curve: list[float]) -> None:
    outcome = settled(Outcome("done", metrics=metrics, history={"losses": [curve]}))
    text = make_record(spec(0), outcome).encode()
    data = json.loads(text, parse_constant=refuse_constant)["outcome"]
    finite = {name: value for name, value in metrics.items() if math.isfinite(value)}
    assert data["metrics"] == finite
    assert data["status"] == ("done" if len(finite) == len(metrics) else "failed")
    assert data["history"]["losses"] == [[value if math.isfinite(value) else None for value in curve]]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "0.5", np.float32("nan")])
def test_a_metric_that_is_no_finite_number_fails_the_run_and_is_named(value: object) -> None:
    outcome = settled(Outcome("done", metrics={"loss/a": 1.0, "loss/b": value}))  # type: ignore[dict-item]
    assert outcome.status == "failed"
    assert outcome.metrics == {"loss/a": 1.0}
    assert outcome.error is not None and "'loss/b'" in outcome.error and "finite" in outcome.error


def test_an_earlier_error_is_kept_beside_a_refusal() -> None:
    outcome = settled(Outcome("failed", metrics={"loss": math.nan}, error="ValueError: first"))
    assert outcome.error is not None and outcome.error.startswith("ValueError: first\nRefused:")


def test_arrays_and_tensors_become_lists() -> None:
    outcome = settled(
        Outcome(
            "done",
            metrics={"loss": np.float32(0.5), "norm": torch.tensor(2.0)},  # type: ignore[dict-item]
            history={"weights": [np.array([0.5, np.nan]), torch.tensor([1, 2])], "odd": [np.eye(3)[:, 1]]},
        )
    )
    assert outcome.status == "done"
    assert outcome.metrics == {"loss": 0.5, "norm": 2.0}
    assert outcome.history == {"weights": [[0.5, None], [1, 2]], "odd": [[0.0, 1.0, 0.0]]}


@pytest.mark.parametrize(
    ("part", "complaint"),
    [
        ({"diagnostics": {"solver": object()}}, "the diagnostics of this run cannot be stored"),
        (
            {"diagnostics": {"solver": 1.0}},
            "the diagnostics of this run cannot be stored: solver is 1.0, not an object",
        ),
        ({"timings": {"latency_ms": "fast"}}, "the timings of this run cannot be stored: latency_ms is 'fast'"),
        ({"history": {"step": 5}}, "the history of this run cannot be stored: step is 5, not a list"),
    ],
)
def test_a_value_that_a_record_cannot_hold_fails_the_run(part: dict[str, Any], complaint: str) -> None:
    outcome = settled(Outcome("done", metrics={"loss": 1.0}, **part))
    assert outcome.status == "failed"
    assert outcome.error is not None and complaint in outcome.error
    assert RunRecord.decode(make_record(spec(0), outcome).encode()).outcome == outcome


def altered(**changes: object) -> bytes:
    data = json.loads(make_record(spec(1)).encode())
    del data["checksum"]
    return sealed({**data, **changes})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (make_record(spec(1)).encode()[:-20], "unexpected end|EOF|Expecting"),
        (b"", "."),
        (b"[1, 2]", "not a run record"),
        (b'{"schema": NaN}', "."),
        (altered(schema=3), "schema is 3; this mobench reads 2, a newer one wrote it"),
        (altered(schema="2"), "schema is '2'; this mobench reads 2"),
        (altered(schema=0), "schema is 0"),
        (altered(id=spec(2).id), "altered"),
        (altered(spec=json.loads(spec(2).canonical)), "altered"),
        (altered(outcome={"status": "done", "scores": 1}), "scores"),
        (altered(spec={"format": 0}), "format 0"),
        (altered(spec={"format": 1}), "spec.problem is missing"),
        (altered(spec=[]), "spec is a list, not an object"),
        (altered(note=1), "note is not a known field"),
        (altered(outcome=None), "outcome is null, not an object"),
    ],
)
def test_anything_but_a_whole_record_is_refused(text: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        RunRecord.decode(text)


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (["started"], 5, "started is 5, not a text"),
        (["outcome", "status"], "best", "outcome.status is 'best', not 'done' or 'failed'"),
        (["outcome", "metrics", "loss"], "0.5", "outcome.metrics.loss is '0.5', not a finite number"),
        (["outcome", "metrics", "loss"], True, "outcome.metrics.loss is true, not a finite number"),
        (["outcome", "metrics", "loss"], None, "outcome.metrics.loss is null, not a finite number"),
        (["outcome", "metrics"], [1.0], "outcome.metrics is a list, not an object"),
        (["outcome", "history"], {"step": 5}, "outcome.history.step is 5, not a list"),
        (["outcome", "diagnostics"], {"active": 1.0}, "outcome.diagnostics.active is 1.0, not an object"),
        (["outcome", "diagnostics"], {"active": {"mean": 1.0}}, "outcome.diagnostics.active has 1 entries"),
        (["outcome", "timings"], {"seconds": "1"}, "outcome.timings.seconds is '1', not a finite number"),
        (["outcome", "backward_passes"], 1.5, "outcome.backward_passes is 1.5, not a whole number"),
        (["outcome", "error"], ["x"], "outcome.error is a list, not a text"),
        (["outcome", "failed_at_step"], -1, "outcome.failed_at_step is -1, not 0 or more"),
        (["memory"], {"runs": 1}, "memory.resident_bytes is missing"),
        (["memory"], "much", "memory is 'much', not an object"),
        (["environment", "versions", "torch"], 2, "environment.versions.torch is 2, not a text"),
        (["environment", "code"], "abc", "environment.code is 'abc', not an object"),
        (["spec", "seed"], "1", "spec has seed '1', not a whole number"),
        (["spec", "training"], [], "spec.training is a list, not an object"),
    ],
)
def test_a_wrong_type_anywhere_is_refused_with_its_place(path: list[str], value: object, complaint: str) -> None:
    data = json.loads(make_record(spec(1)).encode())
    part = data
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    del data["checksum"]
    with pytest.raises(ValueError, match=f"^{re.escape(complaint)}"):
        RunRecord.decode(sealed(data))


def test_an_edit_of_any_byte_is_noticed() -> None:
    text = make_record(spec(1)).encode()
    assert b'"value":0.5' in text
    with pytest.raises(ValueError, match="its checksum does not fit its content: it was edited"):
        RunRecord.decode(text.replace(b'"value":0.5', b'"value":0.4'))
    for place in range(len(text)):
        with pytest.raises(ValueError, match=r"."):
            RunRecord.decode(text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :])
    for reworked in (
        text + b"\n",
        json.dumps(json.loads(text)).encode(),
        json.dumps(json.loads(text), indent=1).encode(),
    ):
        with pytest.raises(ValueError, match="checksum"):
            RunRecord.decode(reworked)


def test_a_damaged_record_is_one_line_that_names_the_file(store: Store) -> None:
    record = make_record(spec(1))
    path = store.path(record.id)
    path.parent.mkdir(parents=True)
    path.write_bytes(record.encode().replace(b'"status":"done"', b'"status":"\\u001b[31m"'))
    with pytest.raises(DamagedRecordError) as caught:
        store.load(record.id)
    assert str(caught.value).isprintable() and str(path) in str(caught.value)


@pytest.mark.parametrize("place", [b'"training":{}', b'"history":{"step":[0,1]', b'"versions":{"python":"3.11.0"}'])
@pytest.mark.parametrize("depth", [900, 5000])
def test_a_record_that_is_nested_deeply_is_refused(place: bytes, depth: int) -> None:
    text = make_record(spec(1)).encode().replace(b'"schema":2', b'"schema":1')
    assert place in text
    name = place.partition(b":")[0]
    nested = b'{"a":' * depth + b"1" + b"}" * depth
    text = text.replace(place, name + b":" + nested + (b',"x":{"step":[0,1]' if name == b'"history"' else b""))
    with pytest.raises(ValueError, match=r"."):
        RunRecord.decode(text[: text.index(b',"checksum"')] + b"}")
