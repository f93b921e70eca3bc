"""`mobench doctor`: what each probe says of a device that works, that raises, and that computes wrongly."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from mobench.cli.command import commands
from mobench.core.nvidia_driver import Driver, nvidia_driver
from mobench.errors import MissingDataError, UserError
from mobench.planning.estimate import TimedSteps
from mobench.running import doctor, probes
from mobench.running.doctor import (
    HELPS,
    Device,
    Networks,
    Probe,
    ProbeResult,
    failure_of,
    precisions_of,
    short_form,
)
from mobench.running.planned_work import silent
from mobench.running.probes import PROBES, runs_on
from tests.commands import plugins_forgotten
from tests.problems.compression.runs import few_steps, machine, mobench, spec

CUDA = "CUDA error: {}\nCUDA kernel errors might be asynchronously reported.\nCompile with `TORCH_USE_CUDA_DSA`."
RUN = spec("pcd", training=few_steps(50))
A100 = SimpleNamespace(name="NVIDIA A100-SXM4-40GB", gcnArchName="")
V100 = SimpleNamespace(name="Tesla V100-SXM2-16GB", gcnArchName="")
CU132 = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]
SCHOOL = Driver("470.82.01", (11, 4), ("Tesla K80",))
CURRENT = Driver("580.65.06", (13, 0), ("NVIDIA A100-SXM4-40GB",))
MACHINE = {"driver", "torch", "device", "kernel", "convolution", "eigh", "tf32"}


def ask(name: str, **more: Any) -> ProbeResult:
    if name == "convolution":
        more.setdefault("precision", "float32")
    if name in ("resume", "data", "steps"):
        more["specs"] = (more.pop("spec", RUN),)
    return probes.answer(silent, Probe(name, seconds=1e6, **more), ())


def raises(error: Exception) -> Any:
    def stub(*arguments: object, **keywords: object) -> None:
        raise error

    return stub


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A process that takes its device for a CUDA device; what it computes with is for each test to say."""
    monkeypatch.setattr(probes, "_device", lambda: "cuda")
    monkeypatch.setattr(probes, "nvidia_driver", lambda: CURRENT)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: A100)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: CU132)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (30 * 10**9, 40 * 10**9))
    return monkeypatch


RAISING = [
    ("driver", probes, "nvidia_driver", OSError("libnvidia-ml.so.1: cannot open"), "OSError: libnvidia"),
    ("torch", probes, "device_versions", RuntimeError("cuDNN version incompatibility"), "RuntimeError: cuDNN"),
    ("device", probes.psutil, "virtual_memory", OSError("no /proc here"), "OSError: no /proc"),
    (
        "kernel",
        torch,
        "arange",
        RuntimeError(CUDA.format("no kernel image is available for execution on the device")),
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    ),
    (
        "convolution",
        torch.nn.functional,
        "conv2d",
        RuntimeError("cuDNN error: CUDNN_STATUS_NOT_INITIALIZED"),
        "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
    ),
    (
        "eigh",
        torch.linalg,
        "eigh",
        torch.linalg.LinAlgError("cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling cusolverDnDsyevd"),
        "LinAlgError: cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR",
    ),
    ("resume", probes, "save_checkpoint", OSError("No space left on device"), "OSError: No space left"),
    ("data", type(RUN.build_problem()), "prepare", UserError("the network takes other images"), "the network takes"),
    (
        "steps",
        probes,
        "time_steps",
        RuntimeError(CUDA.format("device-side assert triggered")),
        "RuntimeError: CUDA error: device-side assert triggered",
    ),
]


@pytest.mark.parametrize(("name", "place", "function", "error", "says"), RAISING, ids=[row[0] for row in RAISING])
def test_what_raises_is_a_failed_probe_with_the_first_line_and_what_helps(
    name: str, place: object, function: str, error: Exception, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(name).verdict == "ok"
    monkeypatch.setattr(place, function, raises(error))
    found = ask(name)
    assert (found.verdict, found.helps) == ("failed", HELPS[name])
    assert found.says.startswith(says) and "\n" not in found.says and "DSA" not in found.says
    assert failure_of(found) == f"{found.probe}: {found.says}. {HELPS[name]}"


def test_the_flags_of_tf32_that_raise_are_a_failed_probe(gpu: pytest.MonkeyPatch) -> None:
    assert ask("tf32").says.startswith("on in convolutions, off in products of matrices; ")
    gpu.setattr(torch.cuda, "get_device_capability", lambda device: (7, 0))
    assert ask("tf32").says == "this device has none: float32 is float32"
    gpu.setattr(probes, "tf32_flags", raises(AttributeError("fp32_precision")))
    assert (ask("tf32").verdict, ask("tf32").helps) == ("failed", HELPS["tf32"])


def test_every_probe_was_seen_to_fail_and_says_what_helps() -> None:
    assert {*PROBES} == {*HELPS} == {row[0] for row in RAISING} | {"tf32"}


def test_a_gpu_for_which_torch_has_no_code_is_refused(gpu: pytest.MonkeyPatch) -> None:
    found = ask("device")
    assert found.says == "NVIDIA A100-SXM4-40GB, capability 8.0, 30 GB of 40 GB free"
    gpu.setattr(torch.cuda, "get_device_properties", lambda device: V100)
    gpu.setattr(torch.cuda, "get_device_capability", lambda device: (7, 0))
    found = ask("device")
    assert found.verdict == "failed" and found.says.startswith("Tesla V100-SXM2-16GB has compute capability 7.0; torch")
    assert "has code for sm_75, sm_80" in found.says and "build of torch that has sm_70" in found.helps
    gpu.setattr(torch.cuda, "get_device_properties", raises(RuntimeError(CUDA.format("unknown error"))))
    assert ask("device").says == "RuntimeError: CUDA error: unknown error"


@pytest.mark.parametrize(
    ("capability", "code", "runs"),
    [
        ((7, 0), "sm_75", False),
        ((7, 5), "sm_75", True),
        ((8, 9), "sm_86", True),
        ((8, 0), "sm_86", False),
        ((9, 0), "sm_86", False),
        ((9, 0), "compute_86", True),
        ((7, 0), "compute_86", False),
        ((9, 0), "sm_90a", True),
        ((12, 1), "sm_120", True),
        ((12, 1), "sm_120a", False),
        ((10, 3), "sm_100f", True),
        ((8, 0), "gfx90a", False),
    ],
)
def test_machine_code_runs_within_its_major_version(capability: tuple[int, int], code: str, runs: bool) -> None:
    assert runs_on(capability, code) is runs


@pytest.mark.parametrize(
    ("driver", "cuda", "says", "helps"),
    [
        (SCHOOL, "12.4", "the driver 470.82.01 runs CUDA up to 11.4; torch", "Update the driver, or install a build"),
        (CURRENT, None, "is a build without CUDA", "Install a build for CUDA 13"),
        (CURRENT, "12.4", "RuntimeError: No CUDA GPUs are available", "Slurm: --gpus=1"),
    ],
)
def test_gpus_that_torch_cannot_use_are_said_with_the_reason(
    driver: Driver, cuda: str | None, says: str, helps: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "nvidia_driver", lambda: driver)
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.cuda, "init", raises(RuntimeError("No CUDA GPUs are available\nand more")))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    found = ask("torch")
    assert found.verdict == "failed" and says in found.says and helps in found.helps
    with machine(device="cpu"):
        assert ask("torch").verdict == "ok", "whoever asks for the CPU gets it"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    found = ask("torch")
    assert found.verdict == "note" and "hides the GPUs" in found.says


def test_a_gpu_that_is_asked_for_by_name_is_there_or_the_probe_fails() -> None:
    if torch.cuda.is_available():
        pytest.skip("a CUDA device is here")
    with machine(device="cuda"):
        assert ask("torch").verdict == "failed"


def test_wrong_answers_fail_and_say_by_how_much(monkeypatch: pytest.MonkeyPatch) -> None:
    convolve, decompose, arange = torch.nn.functional.conv2d, torch.linalg.eigh, torch.arange
    monkeypatch.setattr(torch, "arange", lambda *given, **more: arange(*given, **more) + 1)
    monkeypatch.setattr(
        torch.nn.functional,
        "conv2d",
        lambda images, *rest, **more: convolve(images, *rest, **more) * (1.1 if images.dtype == torch.float32 else 1.0),
    )
    monkeypatch.setattr(torch.linalg, "eigh", lambda matrix: (decompose(matrix)[0] + 1e-3, decompose(matrix)[1]))
    assert "is 3.33834e+08 there, not 3.32834e+08" in ask("kernel").says
    assert "float32 is off by 1.0e-01 of its length" in ask("convolution").says
    assert "of rank 256 are off by" in ask("eigh").says
    assert {ask(name).verdict for name in ("kernel", "convolution", "eigh")} == {"failed"}


def test_eigenvectors_that_are_no_basis_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    decompose = torch.linalg.eigh
    monkeypatch.setattr(torch.linalg, "eigh", lambda matrix: (decompose(matrix)[0], decompose(matrix)[1] * 1.01))
    assert ask("eigh").verdict == "failed"


def test_bf16_is_computed_and_on_old_devices_said_to_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ask("convolution", precision="bf16")
    assert (found.verdict, found.probe) == ("ok", "convolution bf16") and 1e-4 < found.numbers["error"] < 5e-2
    monkeypatch.setattr(probes, "_on_gpu", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    found = ask("convolution", precision="bf16")
    assert found.verdict == "note" and "emulates bf16" in found.says


def test_a_checkpoint_that_loses_something_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(path: Path) -> dict[str, Any]:
        state = load(path)
        return {**state, "parameters": [parameter + 1e-3 for parameter in state["parameters"]]}

    load = probes.load_checkpoint
    assert ask("resume").says == "pcd: 5 steps, and 3 + 2, end in the same bits"
    monkeypatch.setattr(probes, "load_checkpoint", forgetful)
    found = ask("resume")
    assert found.verdict == "failed" and "a weight is off by" in found.says
    monkeypatch.setattr(probes, "_on_gpu", lambda: True)
    assert ask("resume").says.endswith("; deterministic=true: in the same bits"), "order of sums changes on a GPU"


def test_missing_data_is_noted_and_other_mistakes_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = type(RUN.build_problem())
    monkeypatch.setattr(problem, "prepare", raises(MissingDataError("CIFAR10 is not complete in data\nmore")))
    found = ask("data")
    assert found.verdict == "note" and found.says.startswith("not here for 1 of 1 networks: `mobench run` fetches")
    assert found.numbers["missing"] == {"compression": "CIFAR10 is not complete in data\nmore"}
    monkeypatch.setattr(problem, "prepare", raises(UserError("these images do not fit")))
    assert ask("data").verdict == "failed"


def test_a_network_that_does_not_fit_and_one_whose_run_fails_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "time_steps", raises(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")))
    assert "smaller batch_size" in ask("steps").helps
    failed = TimedSteps(1.0, 1, "Traceback\nValueError: the loss is nan at step 3")
    monkeypatch.setattr(probes, "time_steps", lambda *given: failed)
    found = ask("steps")
    assert found.verdict == "failed" and found.says.endswith("ValueError: the loss is nan at step 3")


def test_memory_of_a_gpu_says_how_many_jobs_fit(gpu: pytest.MonkeyPatch) -> None:
    held = {"empty_cache": lambda: None, "reset_peak_memory_stats": lambda device: None}
    held |= {"max_memory_reserved": lambda device: 3 * 10**9, "memory_reserved": lambda device: 2 * 10**9}
    for name, stub in held.items():
        gpu.setattr(torch.cuda, name, stub)
    gpu.setattr(probes, "time_steps", lambda *given: TimedSteps(0.05, 20, None))
    found = ask("steps")
    context = probes.CONTEXT_BYTES
    assert found.numbers["jobs_that_fit"] == (32 * 10**9 + context) // (3 * 10**9 + context) == 8
    assert found.says == "compression, pcd: 50 ms (mean of 20), 3 GB, 8 jobs fit"


def test_a_run_that_needs_cifar_is_timed_without_it(tmp_path: Path) -> None:
    run = spec("ws", training=few_steps(30), dataset="cifar-10", network="resnet-narrow", batch_size=2, holdout=False)
    with machine(data_root=str(tmp_path), data_download="false"):
        assert ask("data", spec=run).verdict == "note"
        found = ask("steps", spec=run)
        assert (found.verdict, found.numbers["steps"]) == ("ok", 20)
        assert found.says.startswith("compression cifar-10 resnet-narrow, ws: ")
        assert ask("resume", spec=run).verdict == "ok"
    assert not [*tmp_path.iterdir()]


PLUGIN = '''
import os, signal
from mobench import Method, register

@register
class Crash(Method):
    """End the process in the fourth step."""

    name = "crash"

    def weights(self, step):
        if step.iteration == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        return step.losses * 0 + 1
'''


def test_the_command_prints_a_line_a_probe_and_goes_on_after_a_process_that_dies(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "crash.py").write_text(PLUGIN)
    with plugins_forgotten(), machine(device="cpu"):
        from mobench.cli import main

        words = ("profile=quick", f"plugins={tmp_path / 'crash.py'}", "methods=crash", "device=cpu")
        assert main(["doctor", *words]) == 2
    out, err = capfd.readouterr()
    device, *lines = textwrap.dedent(out).splitlines()
    assert device == "CPU:" and max(map(len, out.splitlines())) < 80
    marks = [line.split()[:2] for line in lines if not line.startswith("    ")]
    names = ["driver", "torch", "device", "kernel", "convolution", "eigh", "resume", "data", "steps"]
    assert [name for _, name in marks] == names
    assert [name for mark, name in marks if mark == "FAILED"] == ["resume", "steps"]
    assert "mobench: CPU, resume: the probe 'resume': the worker process was killed by SIGSEGV. A run that" in err
    assert err.strip().endswith("(1 more failed)")


def test_json_has_every_number_and_the_exit_code_is_0_where_nothing_fails() -> None:
    found = json.loads(mobench("doctor", "profile=quick", "methods=plain", "precision=bf16", "device=cpu", "--json"))
    by_name = {entry["probe"]: entry for entry in found}
    assert {entry["verdict"] for entry in found} == {"ok"} and {entry["device"] for entry in found} == {"CPU"}
    assert by_name["torch"]["numbers"]["torch"] == torch.__version__
    assert 1 <= by_name["steps"]["numbers"]["steps"] <= 20 and by_name["steps"]["numbers"]["peak_bytes"] > 10**8
    assert "convolution bf16" in by_name and "convolution float32" not in by_name


def test_what_cannot_be_planned_is_refused_before_anything_is_probed() -> None:
    assert "Did you mean 'compression'" in mobench("doctor", "suite=compresion", code=2)
    assert "unknown method 'pdc'" in mobench("doctor", "methods=pdc", "device=cpu", code=2)
    assert "device=nonsense cannot be used here" in mobench("doctor", "device=nonsense", code=2)
    assert "gpus=7 is not accepted" in mobench("doctor", "gpus=7", code=2)


def test_the_probes_of_a_second_device_do_not_train(monkeypatch: pytest.MonkeyPatch) -> None:
    devices = [Device(f"GPU {number}", True, {}) for number in (0, 1)]
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(doctor, "devices_of", lambda share: devices)
    monkeypatch.setattr(
        doctor,
        "_ask_in_turn",
        lambda device, asked_probes, plugins: asked.extend((device.name, probe.title) for probe in asked_probes) or (),
    )
    assert [*doctor.examine(doctor.Share(), Networks([RUN], RUN, ["bf16", "float32"], 0), ())] == []
    common = ["torch", "device", "kernel", "convolution bf16", "convolution float32", "eigh", "tf32"]
    assert [name for device, name in asked if device == "GPU 1"] == common
    assert [name for device, name in asked if device == "GPU 0"] == ["driver", *common, "resume", "data", "steps"]


def test_a_device_without_a_kernel_is_asked_nothing_more() -> None:
    from mobench.core.resources import Resources

    if torch.cuda.is_available():
        pytest.skip("a CUDA device is here")
    device = Device("GPU 0", True, Resources(device="cuda").variables)
    (found,) = doctor._ask_in_turn(device, [*short_form(["float32"]), Probe("eigh")], ())
    assert (found.probe, found.verdict) == ("torch", "failed")


def test_a_run_asks_the_short_form_of_each_gpu_before_anything_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mobench.core.resources import Resources

    if torch.cuda.is_available():
        pytest.skip("a CUDA device is here")
    lost = [Device(f"GPU {number}", True, Resources(device="cuda").variables) for number in (0, 1)]
    monkeypatch.setattr(doctor, "devices_of", lambda share: lost)
    words = ("run", "problem=compression", "methods=ws", "training.steps=1", f"results={tmp_path / 'out'}", "--quiet")
    told = mobench(*words, code=2)
    assert told.startswith("mobench: GPU 0, torch: ") and told.strip().endswith("; `mobench doctor` says more")
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    mobench(*words)
    monkeypatch.setattr(doctor, "devices_of", lambda share: lost)
    mobench(*words), mobench(*words, "--dry-run")  # nothing begins, so that nothing is asked


def test_a_gpu_that_is_asked_for_and_is_not_there_ends_with_the_reason_and_no_traceback(
    capfd: pytest.CaptureFixture[str],
) -> None:
    from mobench.cli import main

    if torch.cuda.is_available():
        pytest.skip("a CUDA device is here")
    with machine():
        assert main(["doctor", "profile=cifar-small", "device=cuda"]) == 2
    out, err = capfd.readouterr()
    assert err.startswith("mobench: device=cuda cannot be used here: ") and "device=cpu" in err and not out


def test_precisions_are_those_of_the_runs() -> None:
    assert precisions_of([]) == ["float32"]
    assert precisions_of([spec("ws", precision="bf16"), spec("ws"), spec("ws")]) == ["bf16", "float32"]


class Library:
    """An NVML with two devices, one of which does not say its name."""

    def __init__(self, refuses: int = 0) -> None:
        self.refuses = refuses

    def nvmlInit_v2(self) -> int:  # noqa: N802
        return self.refuses

    def nvmlShutdown(self) -> int:  # noqa: N802
        return 0

    def nvmlSystemGetDriverVersion(self, text: Any, size: int) -> int:  # noqa: N802
        text.value = b"550.54.14"
        return 0

    def nvmlSystemGetCudaDriverVersion_v2(self, number: Any) -> int:  # noqa: N802
        number._obj.value = 12040
        return 0

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:  # noqa: N802
        count._obj.value = 2
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: int, handle: Any) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetName(self, handle: Any, text: Any, size: int) -> int:  # noqa: N802
        text.value = b"Tesla T4"
        return 0


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        (lambda name: Library(), Driver("550.54.14", (12, 4), ("Tesla T4", ""))),
        (lambda name: Library(refuses=9), None),
        (raises(OSError("libnvidia-ml.so.1: cannot open shared object file")), None),
    ],
)
def test_the_driver_is_asked_without_torch(
    library: Any, expected: Driver | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctypes.CDLL", library)
    assert nvidia_driver.__wrapped__() == expected


def test_a_driver_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "nvidia_driver", lambda: Driver("550.54.14", (12, 4), ("Tesla T4", "Tesla T4")))
    assert ask("driver").says == "550.54.14, runs CUDA up to 12.4; 2 GPUs: Tesla T4"
    assert [probes._spelled_cudnn(number) for number in ("92600", "90100", "8902")] == ["9.26.0", "9.1.0", "8.9.2"]


def test_a_rank_deficient_matrix_is_what_is_decomposed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[torch.Tensor] = []
    decompose = torch.linalg.eigh
    monkeypatch.setattr(torch.linalg, "eigh", lambda matrix: (seen.append(matrix), decompose(matrix))[1])
    assert ask("eigh").verdict == "ok"
    assert seen[0].shape == (512, 512) and np.linalg.matrix_rank(seen[0].numpy()) == 256


def test_the_commands_and_probes_of_the_document_are_those_there_are() -> None:
    text = (Path(__file__).parents[2] / "docs" / "gpu.md").read_text(encoding="utf-8")
    lines = [line.partition("#")[0].split() for line in text.splitlines() if line.startswith("    mobench ")]
    assert len(lines) >= 8
    for _, name, *words in lines:
        commands()[name].read(words)
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == [*PROBES]
