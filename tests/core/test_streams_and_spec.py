import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.core.streams import Streams
from mobench.training.optimizer import Training


def spec(seed=0, tau=0.1, **training):
    return RunSpec.of(
        find_problem("double-well")(k=3), find_method("pcd")(tau=tau), Training(**training).configuration(), seed
    )


def test_a_stream_depends_on_seed_and_name_alone():
    draws = Streams(3).numpy("init").standard_normal(4)
    streams = Streams(3)
    streams.numpy("data").standard_normal(100)
    assert np.array_equal(streams.numpy("init").standard_normal(4), draws)
    assert not np.array_equal(Streams(3).numpy("data").standard_normal(4), draws)
    assert not np.array_equal(Streams(4).numpy("init").standard_normal(4), draws)


def test_torch_streams_are_seeded_alike():
    first, again = (torch.randn(3, generator=Streams(5).torch("init")) for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(torch.randn(3, generator=Streams(6).torch("init")), first)


def test_equal_settings_give_equal_ids_however_they_are_spelled():
    assert spec(tau=1, lr=1).id == spec(tau=1.0, lr="1.0").id == spec(tau="1", lr=1.0).id
    assert spec(tau=0.1).id != spec(tau=0.2).id
    assert spec(seed=0).id != spec(seed=1).id
    assert spec(lr=0.1).id != spec(lr=0.2).id


def test_the_seed_is_no_part_of_the_configuration():
    assert spec(seed=0).configuration == spec(seed=9).configuration
    assert spec(tau=0.1).configuration != spec(tau=0.2).configuration


@given(st.floats(0, 1), st.integers(0, 2**31))
def test_a_stored_spec_is_restored_exactly(tau, seed):
    original = spec(seed=seed, tau=tau)
    assert RunSpec.from_json(json.loads(original.canonical)).id == original.id


def test_per_objective_settings_survive_storage():
    original = spec(tau=[0.1, 0.2])
    restored = RunSpec.from_json(json.loads(original.canonical))
    assert restored.id == original.id
    assert restored.build_method().configuration()["tau"] == (0.1, 0.2)


def test_an_infinite_setting_survives_storage_as_strict_json():
    original = replace(spec(), method_settings={"limit": math.inf, "shares": (1.0, 0.5)})
    stored = json.loads(original.canonical, parse_constant=pytest.fail)
    assert RunSpec.from_json(stored) == original
    assert RunSpec.from_json(stored).id == original.id


def test_an_infinite_setting_survives_storage():
    unlimited = RunSpec.of(find_problem("double-well")(), find_method("auxinash")(max_norm="inf"), {}, 0)
    restored = RunSpec.from_json(json.loads(unlimited.canonical))
    assert restored == unlimited and restored.id == unlimited.id
    assert restored.build_method().configuration()["max_norm"] == math.inf


def test_the_order_of_keys_does_not_matter():
    original = spec()
    data = json.loads(original.canonical)
    shuffled = {key: dict(reversed(value.items())) if isinstance(value, dict) else value for key, value in data.items()}
    assert RunSpec.from_json(dict(reversed(shuffled.items()))).id == original.id


def test_another_process_computes_the_same_id():
    script = (
        "from mobench.core.registry import *; from mobench.core.spec import RunSpec\n"
        "from mobench.training.optimizer import Training\n"
        "print(RunSpec.of(find_problem('double-well')(k=3), find_method('pcd')(tau=0.1),"
        " Training().configuration(), 0).id)"
    )
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert other.stdout.strip() == spec().id


def test_training_schedules():
    cosine = Training(lr=1.0, schedule="cosine", steps=10)
    assert cosine.lr_at(0, 1) == 1.0
    assert cosine.lr_at(5, 1) == pytest.approx(0.5)
    per_epoch = Training(lr=1.0, schedule="cosine", schedule_every="epoch", epochs=4)
    assert per_epoch.total_steps(25) == 100
    assert {per_epoch.lr_at(step, 25) for step in range(25)} == {1.0}
    assert per_epoch.lr_at(50, 25) == pytest.approx(0.5)
