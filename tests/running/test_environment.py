from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from mobench.core.nvidia_driver import Driver
from mobench.running import environment as environments
from mobench.running import memory
from mobench.running.environment import environment, on_device, revision, tf32_flags
from mobench.running.memory import MemoryMeter

MEGABYTE = 2**20


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (tmp_path / "readme.txt").write_text("text")
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"],
    ):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    return package


def test_the_environment_names_what_a_result_may_depend_on() -> None:
    found = environment()
    assert found.versions["torch"] == torch.__version__, "with what names the build"
    assert found.versions["numpy"] == np.__version__
    assert set(found.versions) == {"python", "mobench", "torch", "numpy", "scipy"}
    assert found.hardware["cores"] >= 1 and found.hardware["memory_bytes"] > MEGABYTE and found.hardware["cpu"]
    assert environment() is found


def test_the_build_of_torch_is_known_without_loading_it() -> None:
    program = "import sys; from mobench.running.environment import environment; print(environment().versions['torch'])"
    program += "; assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == torch.__version__


def test_a_gpu_run_names_what_it_computed_with_and_how_and_a_cpu_run_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA A100-SXM4-40GB")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    monkeypatch.setattr(torch.version, "cuda", "12.4")
    monkeypatch.setattr(torch.backends.cudnn, "version", lambda: 90100)
    monkeypatch.setattr(environments, "nvidia_driver", lambda: Driver("550.54.14", (12, 4), ("NVIDIA A100",)))
    found = on_device(environment(), "cuda", 2)
    assert {name: found.versions[name] for name in ("cuda", "cudnn", "driver")} == {
        "cuda": "12.4",
        "cudnn": "90100",
        "driver": "550.54.14",
    }
    told = {"capability": "8.0", "tf32_convolutions": True, "tf32_products": False, "jobs_per_gpu": 2}
    assert found.hardware.items() >= {"device": "cuda (NVIDIA A100-SXM4-40GB)", **told}.items()
    for asked in (True, False):
        hardware = on_device(environment(), "cuda", 1, str(asked).lower()).hardware
        assert (hardware["tf32_convolutions"], hardware["tf32_products"]) == (asked, asked)
    here = on_device(environment(), "cpu", 2)
    assert here.versions == environment().versions and not {*told} & {*here.hardware}


@pytest.fixture
def flags() -> Iterator[None]:
    """What torch says of TF32, as it was afterwards."""
    backends = torch.backends
    before = backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32
    yield
    backends.cudnn.conv.fp32_precision, backends.cuda.matmul.fp32_precision = "tf32", "none"
    backends.fp32_precision = "none"
    backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32 = before


@pytest.mark.usefixtures("flags")
def test_the_flags_of_tf32_are_read_however_they_were_set() -> None:
    def seen() -> tuple[bool, bool]:
        found = tf32_flags()
        return found["tf32_convolutions"], found["tf32_products"]

    assert seen() == (True, False), "as torch sets them"
    torch.backends.cudnn.allow_tf32 = False
    assert seen() == (False, False)
    torch.set_float32_matmul_precision("high")
    assert seen() == (False, True)
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.conv.fp32_precision = "tf32"
    assert seen() == (True, False), "torch itself raises here when it is asked for its older flag"
    torch.backends.cudnn.conv.fp32_precision = "ieee"
    assert seen() == (False, False)


def test_the_revision_is_the_commit_and_whether_sources_differ(checkout: Path) -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True, check=True)
    assert revision(checkout) == {"commit": head.stdout.strip(), "dirty": False}
    (checkout.parent / "results.json").write_text("{}")
    assert revision(checkout) == {"commit": head.stdout.strip(), "dirty": False}
    (checkout.parent / "plugin.py").write_text("")
    assert revision(checkout) == {"commit": head.stdout.strip(), "dirty": True}


def test_a_copy_installed_inside_somebodys_repository_has_no_revision(checkout: Path) -> None:
    installed = checkout.parent / "env" / "package"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert revision(installed) is None


def test_without_git_there_is_no_revision(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert revision(checkout) is None


def test_a_variable_of_a_git_hook_does_not_mislead(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = revision(checkout)
    monkeypatch.setenv("GIT_DIR", str(checkout / "elsewhere"))
    assert before is not None and revision(checkout) == before


def allocate(megabytes: int) -> None:
    np.ones(megabytes * MEGABYTE, dtype=np.uint8).sum()


def test_the_peak_is_that_of_the_block_alone() -> None:
    with MemoryMeter() as first:
        allocate(200)
    with MemoryMeter() as second:
        allocate(20)
    large, small = first.peak(1), second.peak(3)
    assert large.resident_bytes - large.resident_before_bytes > 190 * MEGABYTE
    if small.scope == "training":
        assert small.resident_bytes - small.resident_before_bytes < 100 * MEGABYTE
    assert small.runs == 3 and small.device_bytes is None


def test_where_the_peak_cannot_be_reset_it_is_the_processs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_RESET", tmp_path / "missing" / "clear_refs")
    allocate(200)
    with MemoryMeter() as meter:
        pass
    peak = meter.peak(1)
    assert peak.scope == "process"
    assert peak.resident_bytes >= 200 * MEGABYTE
