"""Where results come from, in words: libraries, and how a machine computed where its records say so."""

from __future__ import annotations

from mobench.reporting.notes import provenance_facts
from mobench.scoring.provenance import Provenance
from mobench.store.record import Environment

HARDWARE = {"cpu": "abacus", "cores": 2, "device": "cpu", "deterministic": False, "channels_last": True}
VERSIONS = {"python": "3.11.0", "torch": "2.6.0+cu124", "numpy": "2.0", "scipy": "1.15", "mobench": "0.1.0"}


def noted(versions: dict[str, str | None], **hardware: object) -> dict[str, list[str]]:
    found = Provenance()
    found._note(Environment({**VERSIONS, **versions}, {**HARDWARE, **hardware}, None), 3)
    return dict(provenance_facts(found))


def test_a_machine_without_a_gpu_is_its_processor() -> None:
    found = noted({})
    assert found["machines"] == ["cpu: abacus, 2 cores (3 runs)"]
    assert found["libraries"] == ["python 3.11.0, torch 2.6.0+cu124, numpy 2.0, scipy 1.15 (3 runs)"]


def test_a_gpu_has_its_capability_tf32_and_how_many_jobs_shared_it() -> None:
    way = {"capability": "8.0", "tf32_convolutions": True, "tf32_products": False, "jobs_per_gpu": 2}
    found = noted({"cuda": "12.4", "cudnn": "90100", "driver": "550.54.14"}, device="cuda (A100)", **way)
    said = "cuda (A100): abacus, 2 cores, capability 8.0, TF32 in convolutions, 2 jobs a GPU (3 runs)"
    assert found["machines"] == [said]
    assert found["libraries"][0].endswith("scipy 1.15, cuda 12.4, cudnn 90100, driver 550.54.14 (3 runs)")
    alone = noted({"driver": None}, device="cuda (A100)", **{**way, "tf32_convolutions": False, "jobs_per_gpu": 1})
    assert alone["machines"] == ["cuda (A100): abacus, 2 cores, capability 8.0, no TF32 (3 runs)"]
