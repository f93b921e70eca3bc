"""Probes of a machine: small computations whose answers are known, and a few steps of what is planned.

Each is called in a worker process, on the device of that process, and answers with one line. What raises is a failed
probe, with a sentence that says what to do about it.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch

from mobench.core.nvidia_driver import Driver, nvidia_driver
from mobench.core.plain_text import plain
from mobench.core.problem import Problem
from mobench.core.resources import resources
from mobench.core.spec import RunSpec
from mobench.core.speed import fastest
from mobench.core.threads import one_thread
from mobench.errors import MissingDataError, UserError
from mobench.planning.estimate import time_steps
from mobench.running.doctor import BUILDS, HELPS, Probe, ProbeResult
from mobench.running.environment import device_versions, environment, tf32_flags
from mobench.running.machine import usable_cores
from mobench.running.memory import MemoryMeter
from mobench.running.planned_work import load_noting
from mobench.running.worker_main import Note
from mobench.training.arithmetic import deterministic_algorithms
from mobench.training.checkpoint import load_checkpoint, save_checkpoint
from mobench.training.loop import Group
from mobench.training.stopping import ran_out_of_memory

SIDE, RANK = 512, 256
"""Of the matrix that is decomposed: as many rows as the widest layers have filters, half of them dependent."""
EIGEN_ERROR = 1e-10
"""How far eigenvalues may be off, and the product of the factors, as a part of the largest eigenvalue."""
CONVOLUTION_ERROR = {"float32": 5e-3, "bf16": 5e-2}
"""How far a convolution and its gradients may be off, as a part of their lengths: by TF32 and bf16 some roundings."""
SAVED_AT, RESUMED_STEPS = 3, 5
CONTEXT_BYTES = 600 * 2**20
"""What a process holds of a GPU beside torch's own memory: assumed, since no device says so for one process."""


@dataclass(frozen=True)
class Answer:
    """What a probe found."""

    says: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    note: bool = False
    """Whether it is worth a second look."""


class ProbeError(Exception):
    """A wrong answer, and what to do about it."""

    def __init__(self, says: str, helps: str) -> None:
        super().__init__(says)
        self.helps = helps


def answer(note: Note, probe: Probe, plugins: Sequence[str]) -> ProbeResult:
    """Probe, and return what came of it; to be called in a worker."""
    load_noting(note, plugins)
    note(f"the probe '{probe.title}'")
    helps = HELPS[probe.name]
    try:
        with one_thread(), deterministic_algorithms(resources().deterministic):
            found = PROBES[probe.name](probe)
    except ProbeError as error:
        return ProbeResult(probe.title, "failed", str(error), error.helps)
    except UserError as error:
        return ProbeResult(probe.title, "failed", str(error), helps)
    except Exception as error:  # noqa: BLE001 - whatever a device or a plugin raises is the answer
        if ran_out_of_memory(error):
            helps = "The device has too little free memory: end what else uses it, or choose a smaller batch_size"
        return ProbeResult(probe.title, "failed", first_line(error), helps)
    return ProbeResult(probe.title, "note" if found.note else "ok", found.says, "", found.numbers)


def first_line(error: BaseException) -> str:
    """Return the type of an error and its first line; the last one of a CUDA error is about debugging."""
    told = str(error).strip().partition("\n")[0]
    kind = type(error).__name__.lstrip("_")
    return plain(f"{kind}: {told}" if told else kind)


def _device() -> str:
    return resources().torch_device


def _on_gpu() -> bool:
    return _device().startswith("cuda")


def _driver(probe: Probe) -> Answer:
    found = nvidia_driver()
    if found is None:
        return Answer("no NVIDIA driver answers on this machine", {"driver": None})
    count = len(found.devices)
    names = ", ".join(dict.fromkeys(found.devices))
    cuda = ".".join(map(str, found.cuda))
    says = f"{found.version}, runs CUDA up to {cuda}; {count} GPU{'s' * (count != 1)}{': ' * bool(names)}{names}"
    return Answer(says, asdict(found))


def _torch(probe: Probe) -> Answer:
    """Refuse a torch that cannot use the GPUs of the machine, unless the CPU is asked for."""
    versions = {**environment().versions, **device_versions()}
    driver, asked = nvidia_driver(), resources().device
    unused = driver is not None and driver.devices and asked == "auto" and not _on_gpu()
    if unused and _hidden() is not None:
        return Answer(f"{versions['torch']}; CUDA_VISIBLE_DEVICES={_hidden()} hides the GPUs", versions, note=True)
    if unused or (asked.startswith("cuda") and not torch.cuda.is_available()):
        raise ProbeError(*_why_not(driver))
    built = f"CUDA {torch.version.cuda}" if torch.version.cuda else "ROCm" if torch.version.hip else "no GPU"
    cudnn = f", cuDNN {_spelled_cudnn(versions['cudnn'])}" if versions["cudnn"] else ""
    return Answer(f"{versions['torch']}, built for {built}{cudnn}", versions)


def _hidden() -> str | None:
    """Return what hides all GPUs on purpose, None where nothing does."""
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    return listed if listed is not None and listed.strip() in ("", "-1") else None


def _why_not(driver: Driver | None) -> tuple[str, str]:
    """Return why torch cannot use a GPU, and what helps."""
    goes_on = "device=cpu goes on without the GPU"
    if not (torch.version.cuda or torch.version.hip):
        newest = "" if driver is None else f" for CUDA {driver.cuda[0]}"
        return f"torch {torch.__version__} is a build without CUDA", f"Install a build{newest} ({BUILDS}); {goes_on}"
    wanted = int(str(torch.version.cuda or "0").partition(".")[0])
    if driver is not None and driver.cuda[0] < wanted:
        newest = ".".join(map(str, driver.cuda))
        says = f"the driver {driver.version} runs CUDA up to {newest}; torch {torch.__version__} needs CUDA {wanted}"
        return says, f"Update the driver, or install a build of torch for CUDA {driver.cuda[0]} ({BUILDS}); {goes_on}"
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call]
        says = "torch sees no CUDA device"
    except (RuntimeError, AssertionError) as error:
        says = first_line(error)
    if driver is None:
        return says, f"Install the driver: `nvidia-smi` has to answer; {goes_on}"
    return says, f"Ask for a GPU where a batch system hands them out (Slurm: --gpus=1); {goes_on}"


def _spelled_cudnn(number: str) -> str:
    """Return 90100 as 9.1.0, and 8902 as 8.9.2."""
    value = int(number)
    thousand = 10_000 if value >= 90_000 else 1_000
    return f"{value // thousand}.{value % thousand // 100}.{value % 100}"


def _describe_device(probe: Probe) -> Answer:
    if not _on_gpu():
        memory = psutil.virtual_memory()
        told = {"cpu": environment().hardware["cpu"], "cores": usable_cores(), "memory_bytes": memory.available}
        return Answer(f"CPU: {told['cpu']}, {told['cores']} cores, {_gb(memory.available)} free", told)
    properties = torch.cuda.get_device_properties(_device())
    capability = torch.cuda.get_device_capability(_device())
    built = torch.cuda.get_arch_list()
    spelled = ".".join(map(str, capability))
    if torch.version.hip:
        own = properties.gcnArchName.partition(":")[0]
        fits, needed = own in built, own
    else:
        fits, needed = any(runs_on(capability, code) for code in built), "sm_{}{}".format(*capability)
    if not fits:
        raise ProbeError(
            f"{properties.name} has compute capability {spelled}; torch {torch.__version__} has code for "
            f"{', '.join(built) or 'no GPU'}",
            f"Install a build of torch that has {needed} ({BUILDS}; older ones have older GPUs, and CUDA 13 has none "
            "below sm_75); device=cpu goes on without the GPU",
        )
    free, total = torch.cuda.mem_get_info(_device())
    told = {"name": properties.name, "capability": spelled, "memory_bytes": total, "free_bytes": free}
    return Answer(f"{properties.name}, capability {spelled}, {_gb(free)} of {_gb(total)} free", told)


def runs_on(capability: tuple[int, int], code: str) -> bool:
    """Say whether a device runs what was compiled for `sm_86`, or compiles what is there as `compute_86`.

    Machine code runs on later devices of the same major version, that of `sm_90a` on 9.0 alone and that of `sm_100f` on
    its family; the driver compiles `compute_86` for all later devices.
    """
    match = re.fullmatch(r"(sm|compute)_(\d+)(\d)([af]?)", code)
    if match is None:
        return False
    built = int(match[2]), int(match[3])
    if match[4] == "a":
        return capability == built
    if match[1] == "compute" and not match[4]:
        return capability >= built
    return capability[0] == built[0] and capability >= built


def _kernel(probe: Probe) -> Answer:
    device, count = _device(), 1000
    numbers = torch.arange(count, dtype=torch.float64, device=device)
    total, expected = float((numbers * numbers).sum()), float(sum(i * i for i in range(count)))
    if total != expected:
        raise ProbeError(f"the sum of the squares below {count} is {total:g} there, not {expected:g}", HELPS["kernel"])
    launches = 200
    seconds = fastest(lambda: [numbers.mul_(1.0) for _ in range(launches)], _device()) / launches
    return Answer(f"right, {1e6 * seconds:.1f} µs a launch", {"seconds_per_launch": seconds})


def _convolution(probe: Probe) -> Answer:
    """Compare a layer, forward and backward, with float64 on the CPU."""
    device, machine = _device(), resources()
    memory = torch.channels_last if machine.channels_last else torch.contiguous_format
    generator = torch.Generator().manual_seed(0)
    given = [torch.randn(shape, generator=generator) for shape in ((8, 64, 16, 16), (64, 64, 3, 3), (8, 64, 16, 16))]

    def passes(tensors: Sequence[torch.Tensor], enabled: bool) -> list[torch.Tensor]:
        images, weight = (tensor.detach().requires_grad_() for tensor in tensors[:2])
        with torch.autocast(images.device.type, torch.bfloat16, enabled=enabled):
            out = torch.nn.functional.conv2d(images, weight, padding=1)
        gradients = torch.autograd.grad(out.float() if enabled else out, (images, weight), tensors[2])
        return [out.detach(), *gradients]

    expected = passes([tensor.double() for tensor in given], False)
    there = [tensor.to(device).to(memory_format=memory) for tensor in given]
    bf16 = probe.precision == "bf16"
    found = passes(there, bf16)
    pairs = zip(found, expected, strict=True)
    error = max(float((one.cpu().double() - right).norm() / right.norm()) for one, right in pairs)
    if not error <= CONVOLUTION_ERROR[probe.precision]:
        raise ProbeError(
            f"a convolution in {probe.precision} is off by {error:.1e} of its length, more than "
            f"{CONVOLUTION_ERROR[probe.precision]:g}",
            HELPS["convolution"],
        )
    seconds = fastest(lambda: passes(there, bf16), _device())
    emulated = bf16 and _on_gpu() and torch.cuda.get_device_capability(device) < (8, 0)
    says = f"{1e3 * seconds:.2g} ms forward and backward, off by {error:.0e}"
    slow = "; this device emulates bf16, float32 is faster" if emulated else ""
    return Answer(says + slow, {"seconds": seconds, "error": error}, note=emulated)


def _eigen_decomposition(probe: Probe) -> Answer:
    """Compare with LAPACK what nuclear norms need, on a matrix with half of its eigenvalues zero."""
    factor = np.random.default_rng(0).standard_normal((SIDE, RANK))
    matrix = factor @ factor.T
    started = time.perf_counter()
    expected = np.linalg.eigvalsh(matrix)
    lapack = time.perf_counter() - started
    there = torch.from_numpy(matrix).to(_device())
    values, basis = torch.linalg.eigh(there)
    largest = float(expected[-1])
    off = float(np.abs(values.cpu().numpy() - expected).max()) / largest
    rest = float((basis * values @ basis.mT - there).abs().max()) / largest
    if not max(off, rest) <= EIGEN_ERROR:
        raise ProbeError(
            f"the eigenvalues of a {SIDE}×{SIDE} matrix of rank {RANK} are off by {off:.1e} of the largest, their "
            f"product with the vectors by {rest:.1e}",
            HELPS["eigh"],
        )
    seconds = fastest(lambda: torch.linalg.eigh(there), _device())
    says = f"{1e3 * seconds:.0f} ms for {SIDE} rows of rank {RANK}, right to {max(off, rest):.0e}"
    return Answer(says, {"seconds": seconds, "lapack_values_seconds": lapack, "error": max(off, rest)})


def _tf32(probe: Probe) -> Answer:
    flags = tf32_flags()
    if torch.cuda.get_device_capability(_device()) < (8, 0):
        return Answer("this device has none: float32 is float32", flags)
    switched = {name: "on" if flags[f"tf32_{name}"] else "off" for name in ("convolutions", "products")}
    says = f"{switched['convolutions']} in convolutions, {switched['products']} in products of matrices"
    return Answer(f"{says}; factors of float32 keep 10 bits where it is on", flags)


@dataclass(frozen=True)
class OnRandomData(RunSpec):
    """A run that needs no data to be fetched; it is never stored."""

    def build_problem(self) -> Problem:
        return super().build_problem().on_random_data()

    @classmethod
    def like(cls, spec: RunSpec) -> OnRandomData:
        """Return the same run on random data."""
        return cls(**{name: getattr(spec, name) for name in RunSpec.__dataclass_fields__})


def _stand_in(probe: Probe) -> RunSpec:
    return OnRandomData.like(probe.specs[0])


def _resume(probe: Probe) -> Answer:
    """Take five steps at once, and three and two with a checkpoint between them."""
    spec = _stand_in(probe)

    def steps(count: int, group: Group) -> Group:
        group.total = min(count, group.total)
        group.run(None, 0.0)
        for member in group.members:
            if member.error is not None:
                raise RuntimeError(member.error.strip().rpartition("\n")[2])
        return group

    whole = steps(RESUMED_STEPS, Group([spec]))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "state.pt"
        save_checkpoint(file, steps(SAVED_AT, Group([spec])).state_dict(), verify=True)
        second = Group([spec])
        second.load_state_dict(load_checkpoint(file))
        steps(RESUMED_STEPS, second)
    pairs = zip(whole.workload.parameters, second.workload.parameters, strict=True)
    off = max(float((one - other).detach().abs().max()) for one, other in pairs)
    name = spec.method.partition("@")[0]
    if off and (not _on_gpu() or resources().deterministic):
        raise ProbeError(
            f"{SAVED_AT} steps of {name}, a checkpoint and {RESUMED_STEPS - SAVED_AT} more end elsewhere than "
            f"{RESUMED_STEPS} steps at once: a weight is off by {off:.1e}",
            HELPS["resume"],
        )
    ends = "end in the same bits" if not off else f"end within {off:.0e}; deterministic=true: in the same bits"
    says = f"{name}: {RESUMED_STEPS} steps, and {SAVED_AT} + {RESUMED_STEPS - SAVED_AT}, {ends}"
    return Answer(says, {"method": name, "largest_difference": off})


def _data(probe: Probe) -> Answer:
    """Look whether data is there; nothing is fetched."""
    missing: dict[str, str] = {}
    for spec in probe.specs:
        problem = spec.build_problem()
        try:
            problem.prepare()
        except MissingDataError as error:
            missing[label_of_problem(problem)] = str(error)
    if not missing:
        return Answer("all is there", {"missing": missing})
    says = f"not here for {len(missing)} of {len(probe.specs)} networks: {HELPS['data']}"
    return Answer(says, {"missing": missing}, note=True)


def _steps(probe: Probe) -> Answer:
    """Time steps on random data, and see how much memory they take."""
    spec = _stand_in(probe)
    name = f"{label_of_problem(spec.build_problem())}, {spec.method.partition('@')[0]}"
    if _on_gpu():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(_device())
    with MemoryMeter() as meter:
        timed = time_steps([spec], probe.seconds)
    if timed.error is not None:
        raise RuntimeError(f"{name}: {timed.error.strip().rpartition(chr(10))[2]}")
    if _on_gpu():
        peak = torch.cuda.max_memory_reserved(_device())
        own = torch.cuda.memory_reserved(_device()) + CONTEXT_BYTES
        free = torch.cuda.mem_get_info(_device())[0] + own
        jobs = max(1, free // (peak + CONTEXT_BYTES))
    else:
        peak = meter.peak(1).resident_bytes
        jobs = max(1, min(usable_cores(), psutil.virtual_memory().available // peak))
    fits = "1 job fits" if jobs == 1 else f"{jobs} jobs fit"
    says = f"{name}: {_ms(timed.seconds)} (mean of {timed.steps}), {_gb(peak)}, {fits}"
    numbers = {"seconds_per_step": timed.seconds, "steps": timed.steps, "peak_bytes": peak, "jobs_that_fit": jobs}
    return Answer(says, {"network": name, **numbers})


def label_of_problem(problem: Problem) -> str:
    """Name a problem and the words among its settings that are not at their defaults, e.g. a network."""
    words = [
        str(getattr(problem, name))
        for name, setting in problem.settings.items()
        if setting.kind == "choice" and getattr(problem, name) != setting.default
    ]
    return " ".join([problem.label(), *words])


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:,.0f} ms" if seconds >= 0.1 else f"{1e3 * seconds:.3g} ms"


def _gb(count: float) -> str:
    return f"{count / 1e9:.3g} GB"


PROBES: dict[str, Callable[[Probe], Answer]] = {
    "driver": _driver,
    "torch": _torch,
    "device": _describe_device,
    "kernel": _kernel,
    "convolution": _convolution,
    "eigh": _eigen_decomposition,
    "tf32": _tf32,
    "resume": _resume,
    "data": _data,
    "steps": _steps,
}
"""Every probe by its name."""
