"""Examine the devices of this machine: probes in worker processes, so that nothing starts CUDA in the driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Literal

from mobench.core.resources import resources
from mobench.core.spec import RunSpec, hash_of
from mobench.errors import UserError
from mobench.planning.plan import make_plan
from mobench.planning.suite import Suite
from mobench.running.executors.base import Share
from mobench.running.guarded_call import Caller
from mobench.running.machine import CPU, Place, chosen_devices
from mobench.running.planned_work import load_noting
from mobench.running.worker_main import Note

ANSWER = "mobench.running.probes:answer"
FIRST = ("torch", "device", "kernel")
"""What is asked of any device; without these no other probe of it can pass."""
STEPS_SECONDS = 40.0
"""How long the timed steps of all networks may take together, beside their first ones."""
NETWORKS = 12
"""At most so many networks are timed."""
PATIENCE_SECONDS = 600.0
"""How long a probe may take that trains: the first step of a network, and compiling it."""
TRAINING = ("resume", "data", "steps")
BUILDS = "https://pytorch.org/get-started/locally lists builds"
HELPS = {
    "driver": "`nvidia-smi` has to answer; without a driver device=cpu works",
    "torch": f"Install torch anew ({BUILDS}); device=cpu goes on without the GPU",
    "device": "The device is lost, or held by somebody else: see `nvidia-smi`, or choose another one by gpus=N",
    "kernel": (
        f"The device cannot compute with this torch: try a build for an older CUDA ({BUILDS}), another device "
        "(gpus=N), or device=cpu"
    ),
    "convolution": (
        "cuDNN cannot be used: install torch in a clean environment, without LD_LIBRARY_PATH of another CUDA; "
        "precision=float32 needs no bf16, channels_last=false takes other kernels"
    ),
    "eigh": "cuSOLVER cannot be used: nuclear norms need it, other penalties do not",
    "tf32": "This version of torch does not tell its flags: mobench needs torch from 2.4",
    "resume": (
        "A run that is interrupted would not go on as it was: leave this method or problem out where jobs have a time "
        "limit"
    ),
    "data": "`mobench run` fetches missing data into data.root where there is a network",
    "steps": "Leave this network out by problems=NAME, or change the settings that its message names",
}
"""What to do where a probe raises."""


@dataclass(frozen=True)
class Probe:
    """What is probed."""

    name: str
    precision: str = ""
    """Of a convolution."""
    specs: tuple[RunSpec, ...] = ()
    """The runs whose data is looked at, or the one whose steps are taken."""
    seconds: float = 0.0
    """How long these steps may take."""

    @property
    def title(self) -> str:
        """The name as it is printed."""
        return f"{self.name} {self.precision}".rstrip()


@dataclass(frozen=True)
class ProbeResult:
    """The answer of a probe."""

    probe: str
    verdict: Literal["ok", "note", "failed"]
    says: str
    helps: str = ""
    """What to do about a failure."""
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Networks:
    """What a plan trains: a run for each kind of network, and the precisions of all runs."""

    specs: list[RunSpec]
    cheapest: RunSpec
    """The one whose steps cost least, as far as problems say."""
    precisions: list[str]
    left_out: int
    """How many more kinds there are."""


def planned_networks(
    note: Note,
    suites: Sequence[Suite],
    overrides: Mapping[str, Any],
    plugins: Sequence[str],
    check: Callable[[Sequence[Suite]], None],
) -> Networks:
    """Plan, and return what is to be trained; to be called in a worker.

    Kinds differ in the problem and in its settings that are words or whole numbers. Of each kind it is a run of the
    method that has most.
    """
    load_noting(note, plugins)
    note("checking the suites", limited=False)
    check(suites)
    kinds: dict[str, list[RunSpec]] = {}
    for suite in suites:
        for spec in make_plan(suite, overrides).specs:
            settings = spec.build_problem().settings
            sized = {
                name: value
                for name, value in spec.problem_settings.items()
                if name in settings and settings[name].kind in ("choice", "integer")
            }
            kinds.setdefault(hash_of([spec.problem, sized]), []).append(spec)
    chosen = [_of_commonest_method(specs) for specs in kinds.values()]
    return Networks(chosen[:NETWORKS], _cheapest(chosen), precisions_of(chosen), len(chosen[NETWORKS:]))


def _of_commonest_method(specs: Sequence[RunSpec]) -> RunSpec:
    ((method, _),) = Counter(spec.method for spec in specs).most_common(1)
    return next(spec for spec in specs if spec.method == method)


def _cheapest(specs: Sequence[RunSpec]) -> RunSpec:
    """Return the run whose steps cost least on the other kind of device, whose speed is assumed: no device is used."""
    other = "cuda" if resources().torch_device == "cpu" else "cpu"
    return min(specs, key=lambda spec: spec.build_problem().seconds_per_step(other) or 0.0)


def precisions_of(specs: Collection[RunSpec]) -> list[str]:
    """Return in which precisions networks compute, float32 if nothing is said."""
    return sorted({str(spec.problem_settings.get("precision", "float32")) for spec in specs}) or ["float32"]


@dataclass(frozen=True)
class Device:
    """A device that jobs may use."""

    name: str
    is_gpu: bool
    variables: Mapping[str, str]
    """The environment of a worker that computes there."""


def examine(share: Share, networks: Networks, plugins: Sequence[str]) -> Iterator[tuple[Device, ProbeResult]]:
    """Ask all probes of each device that jobs may use; those that train of the first device alone."""
    for index, device in enumerate(devices_of(share)):
        probes = [Probe("driver")] if index == 0 else []
        probes += [*short_form(networks.precisions), Probe("eigh"), *([Probe("tf32")] if device.is_gpu else [])]
        if index == 0:
            seconds = STEPS_SECONDS / len(networks.specs)
            probes += [Probe("resume", specs=(networks.cheapest,)), Probe("data", specs=tuple(networks.specs))]
            probes += [Probe("steps", specs=(spec,), seconds=seconds) for spec in networks.specs]
        for result in _ask_in_turn(device, probes, plugins):
            yield device, result


def short_form(precisions: Sequence[str]) -> list[Probe]:
    """Return what has to pass before a job begins on a device: seconds, most of them for CUDA to start."""
    return [*map(Probe, FIRST), *(Probe("convolution", precision) for precision in precisions)]


def devices_of(share: Share) -> list[Device]:
    """Return each GPU that jobs may use, the CPU if they may use none."""
    gpus = [Place("cuda", name) for name in chosen_devices(share)]
    return [Device(f"GPU {place.visible}", True, place.variables) for place in gpus] or [
        Device("CPU", False, CPU.variables)
    ]


def _ask_in_turn(device: Device, probes: Sequence[Probe], plugins: Sequence[str]) -> Iterator[ProbeResult]:
    """Ask one probe after the other; after a failure in a fresh process, since a CUDA error stays in the old one.

    So are probes on the CPU that train: what a process has freed it may keep, and that would count as its next peak.
    """
    with ExitStack() as stack:
        caller: Caller | None = None
        for probe in probes:
            caller = caller or stack.enter_context(Caller(device.variables))
            caller.begin(ANSWER, probe, tuple(plugins))
            result = _answer(caller, probe)
            yield result
            if result.verdict == "failed" and probe.name in FIRST:
                return
            if result.verdict == "failed" or (probe.name in TRAINING and not device.is_gpu):
                stack.close()
                caller = None


def _answer(caller: Caller, probe: Probe) -> ProbeResult:
    try:
        result: ProbeResult = caller.answer(PATIENCE_SECONDS if probe.name in TRAINING else None)
    except UserError as error:  # it hung, or took its process down
        return ProbeResult(probe.title, "failed", str(error), HELPS[probe.name])
    return result


def refuse_unusable_devices(share: Share, precisions: Sequence[str]) -> None:
    """Ask the short form of each GPU that jobs may use, of all at once; raise `UserError` with what helps.

    It is what decides whether any job can begin there: torch, code for the device, a kernel and a convolution.
    """
    gpus = [device for device in devices_of(share) if device.is_gpu]
    with ExitStack() as stack:
        callers = [stack.enter_context(Caller(device.variables)) for device in gpus]
        for probe in short_form(precisions):
            for caller in callers:
                caller.begin(ANSWER, probe, ())
            for device, caller in zip(gpus, callers, strict=True):
                result = _answer(caller, probe)
                if result.verdict == "failed":
                    raise UserError(f"{device.name}, {failure_of(result)}; `mobench doctor` says more")


def failure_of(result: ProbeResult) -> str:
    """Return what failed, and what helps."""
    return f"{result.probe}: {result.says.rstrip('.')}. {result.helps}"
