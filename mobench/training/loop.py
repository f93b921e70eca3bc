"""The one training loop: a method chooses weights, a torch optimizer takes the step.

All runs of a group step together. A member whose method raises, or whose loss leaves the finite
numbers, fails alone and at that step; the others go on unchanged.
"""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg.lapack  # noqa: F401 - solvers ask for it when first called; no run's clock is to pay for it
import torch

from mobench.core.method import RESERVED, Matrix, Method, Step, Vector
from mobench.core.outcome import Outcome
from mobench.core.quiet import QUIET
from mobench.core.resources import resources
from mobench.core.spec import RunSpec
from mobench.core.streams import Streams
from mobench.errors import NonFiniteError
from mobench.gradients.blocks import refuse_non_finite
from mobench.training.arithmetic import deterministic_algorithms
from mobench.training.checkpoint import load_checkpoint, save_checkpoint
from mobench.training.history import History, Means, sampled_steps
from mobench.training.leaving import FIRST_LOOK, leaving
from mobench.training.make_workload import make_workload
from mobench.training.optimizer import Training
from mobench.training.secondary_progress import secondary_progress, update_of
from mobench.training.step import take_step
from mobench.training.step_reports import REPORT_SECONDS, tell
from mobench.training.stopping import Stopped, ran_out_of_memory, stop_requested
from mobench.training.workload import Stack, Workload


class Member:
    """One run of a group: its method and everything that is recorded about it."""

    def __init__(self, spec: RunSpec, method: Method, workload: Workload, index: int) -> None:
        self.spec = spec
        self.method = method
        self.index = index
        self.gradients = workload.gradients_of(index)
        self.held_out = partial(workload.held_out, index)
        self.lower_bounds: Vector = workload.lower_bounds[index]
        self.thresholds: Vector | None = workload.thresholds[index]
        self.by_direction = method.overrides("direction")
        self.observes = method.overrides("observe")
        self.means = Means()
        self.history = History()
        self.method_seconds = 0.0
        self.steps = 0
        self.left = False
        """Whether it left its group and is to begin again elsewhere."""
        self.error: str | None = None
        self.failed_at: int | None = None

    def fail(self, error: BaseException, iteration: int) -> None:
        """Mark the run as failed at `iteration`."""
        self.error = "".join(traceback.format_exception(error))
        self.failed_at = iteration

    def take(self, step: Step) -> Vector | None:
        """Let the method take `step`, and return its weights, None for a direction of its own."""
        weights, seconds = take_step(self.method, step, self.gradients)
        self.method_seconds += seconds
        self.steps += 1
        if step.notes:
            self.means.add(step.notes)
        return weights

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint must hold of this run."""
        kept = ("method_seconds", "steps", "left", "error", "failed_at")
        return {
            **{name: getattr(self, name) for name in kept},
            "method": self.method.state_dict(),
            "means": vars(self.means),
            "history": vars(self.history),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.method.load_state_dict(state.pop("method"))
        vars(self.means).update(state.pop("means"))
        vars(self.history).update(state.pop("history"))
        vars(self).update(state)


class Group:
    """Runs that train in lockstep, from their first step to their outcomes."""

    def __init__(self, specs: Sequence[RunSpec]) -> None:
        first = specs[0]
        streams = [Streams(spec.seed) for spec in specs]
        problems = [spec.build_problem() for spec in specs]
        self.training = Training(**first.run_training)
        self.workload = make_workload(
            list(zip(problems, streams, strict=True)), as_vector=self.training.element_by_element
        )
        self.objectives = problems[0].objectives()
        self.members = []
        for index, spec in enumerate(specs):
            method = spec.build_method()
            method.reset(self.workload.k, streams[index].numpy("method"))
            self.members.append(Member(spec, method, self.workload, index))
        self.optimizer = self.training.build(self.workload.parameters, fused=self.workload.fused)
        self.total = self.training.total_steps(self.workload.steps_per_epoch)
        self.iteration = 0
        self.seconds = 0.0
        self.progress = np.zeros(len(specs))
        self.progress_steps = 0
        self.backward_passes_before = [0] * len(specs)
        """What was done before this process took the run over."""
        self.may_leave = False
        """Whether methods for which the others wait may leave the group."""
        self.looked_at, self.looked_seconds, self.next_look = 0, 0.0, FIRST_LOOK
        self.own_seconds = [0.0] * len(specs)

    @property
    def alive(self) -> list[Member]:
        """The members that have neither failed nor left."""
        return [member for member in self.members if member.error is None and not member.left]

    @property
    def staying(self) -> list[Member]:
        """The members that have an outcome here."""
        return [member for member in self.members if not member.left]

    def run(self, checkpoint: Path | None, checkpoint_seconds: float) -> None:
        """Take all remaining steps."""
        sampled = sampled_steps(self.total, path=self.workload.point(0) is not None)
        observed = any(member.observes for member in self.members)
        proximal = [member.method.proximal_weight for member in self.members]
        per_epoch = self.workload.steps_per_epoch
        started = last_saved = last_told = time.perf_counter()
        before, first, saved = self.seconds, self.iteration, False
        while self.iteration < self.total and (alive := self.alive):
            lr = self.training.lr_at(self.iteration, per_epoch)
            for parameters in self.optimizer.param_groups:
                parameters["lr"] = lr
            try:
                self.step(alive, self.iteration in sampled)
                self.optimizer.step()
                self.workload.after_update(lr, proximal)
                if observed:
                    self.observe(alive)
            except NonFiniteError as error:
                if len(self.members) > 1:
                    raise
                alive[0].fail(error, self.iteration)
                return
            self.iteration += 1
            started += QUIET.pause()
            now = time.perf_counter()
            self.seconds = before + now - started
            if now - last_told > REPORT_SECONDS:
                tell(self.iteration, self.total, first, self.seconds - before)
                last_told = now
            if self.may_leave and self.iteration >= self.next_look:
                self.let_slow_methods_leave()
            if self.training.epochs and self.iteration % per_epoch == 0:
                self.finish_epoch(alive)
            stop = stop_requested() and self.iteration < self.total
            if checkpoint is not None and (stop or now - last_saved > checkpoint_seconds):
                save_checkpoint(checkpoint, self.state_dict(), verify=not saved)
                last_saved, saved = time.perf_counter(), True
            if checkpoint is not None and stop:
                raise Stopped

    def let_slow_methods_leave(self) -> None:
        """Let go of methods for which all others would wait, judged by the steps since the last look.

        The first step is not judged: what is loaded when it is first used takes time once.
        """
        own: dict[str, list[float]] = {}
        steps = self.iteration - self.looked_at
        for member, before in zip(self.members, self.own_seconds, strict=True):
            if member in self.alive:
                own.setdefault(member.spec.method, []).append((member.method_seconds - before) / steps)
        passed = (self.seconds - self.looked_seconds) / steps
        shared = max(0.0, passed - sum(map(sum, own.values())))
        gone = leaving(own, shared, self.total - self.iteration) if self.looked_at else set()
        for member in self.alive:
            member.left = member.spec.method in gone
        self.looked_at, self.looked_seconds, self.next_look = self.iteration, self.seconds, 2 * self.iteration + 1
        self.own_seconds = [member.method_seconds for member in self.members]

    def step(self, alive: list[Member], sample: bool) -> None:
        """Let every method choose its update; all of them are in `.grad` afterwards."""
        workload, iteration = self.workload, self.iteration
        losses = workload.begin(iteration)
        finite = bool(np.isfinite(losses).all())
        weights = np.zeros((workload.size, workload.k))
        for member in alive:
            seen = losses[member.index]
            bounds, limits = member.lower_bounds, member.thresholds
            step = Step(seen, member.gradients, bounds, iteration, self.total, member.held_out, limits)
            try:
                if not finite:
                    self.refuse_non_finite_losses(step)
                chosen = member.take(step)
            except Exception as error:
                if ran_out_of_memory(error):
                    raise
                member.fail(error, iteration)
                continue
            if chosen is not None:
                weights[member.index] = chosen
            if sample:
                member.history.add(self.sample(member, seen, weights[member.index], step.notes))
        grams = workload.grams()
        if grams is not None:
            self.track_progress(grams, weights)
        workload.end()
        if grams is None:
            refuse_non_finite(workload.parameters)
        elif not np.isfinite(grams).all():
            self.fail_non_finite_gradients()

    def fail_non_finite_gradients(self) -> None:
        """Fail members that have not looked at their gradients; those whose squares alone overflow go on."""
        for member in self.alive:
            if not torch.isfinite(member.gradients.gradients()).all():
                member.fail(NonFiniteError(f"a gradient is not finite at step {self.iteration}"), self.iteration)

    def refuse_non_finite_losses(self, step: Step) -> None:
        """Raise when a member's loss is NaN or infinite."""
        for name, loss in zip(self.objectives, step.losses, strict=True):
            if not np.isfinite(loss):
                raise NonFiniteError(f"the loss '{name}' is {loss} at step {step.iteration}")

    def sample(self, member: Member, losses: Vector, weights: Vector, notes: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the curves keep of this step: what is measured, and what was noted by other names.

        Nothing measured is read from the step, which was in the method's hands.
        """
        grams = self.workload.grams()
        row: dict[str, Any] = {"step": self.iteration, "losses": losses, "weights": weights}
        if grams is not None:
            gram = grams[member.index]
            row["gradient_norms"] = norms = np.sqrt(np.diagonal(gram))
            scale = norms[0] * norms[1:]
            row["cosines"] = np.divide(gram[0, 1:], scale, out=np.zeros_like(scale), where=scale > 0)
            if not member.by_direction:
                row |= update_of(gram, weights)
        if (point := self.workload.point(member.index)) is not None:
            row["point"] = point
        noted = {name: value for name, value in notes.items() if isinstance(value, np.ndarray)}
        return row | {name: value for name, value in noted.items() if name not in RESERVED}

    def track_progress(self, grams: Stack, weights: Matrix) -> None:
        """Accumulate how much each step advances the secondary objectives to first order."""
        self.progress += secondary_progress(grams[: self.workload.size], weights)
        self.progress_steps += 1

    def observe(self, alive: list[Member]) -> None:
        """Show the losses after the update to the methods that want to see them."""
        observing = [member for member in alive if member.observes and member.error is None]
        after = self.workload.losses_after([member.index for member in observing])
        for member in observing:
            started = time.perf_counter()
            try:
                member.method.observe(after[member.index])
            except Exception as error:  # noqa: BLE001 - as above
                member.fail(error, self.iteration)
            member.method_seconds += time.perf_counter() - started

    def finish_epoch(self, alive: list[Member]) -> None:
        """Add the problem's epoch metrics to the curves."""
        for member in alive:
            row = self.workload.epoch_metrics(member.index)
            if row:
                member.history.add({"step": self.iteration - 1, **row})

    def outcome(self, member: Member) -> Outcome:
        """Return the finished run's outcome."""
        metrics: dict[str, float] = {}
        timings: dict[str, float] = {}
        artifact: dict[str, torch.Tensor] = {}
        if member.error is None:
            try:
                metrics = self.workload.metrics(member.index)
                timings = self.workload.timings(member.index)
                artifact = self.workload.artifact(member.index)
                if last := self.workload.final_sample(member.index):
                    member.history.add({"step": self.iteration, **last})
                metrics |= self.workload.stationarity(member.index)
            except Exception as error:
                if ran_out_of_memory(error):
                    raise
                member.fail(error, self.iteration)
        if self.progress_steps and not member.by_direction:
            metrics["secondary_progress"] = float(self.progress[member.index]) / self.progress_steps
        steps = max(1, member.steps)
        own = sum(other.method_seconds for other in self.members)
        taken = max(1, sum(other.steps for other in self.staying))
        seconds = member.method_seconds + max(0.0, self.seconds - own) * member.steps / taken
        return Outcome(
            status="done" if member.error is None else "failed",
            metrics=metrics if member.error is None else {},
            history=member.history.columns,
            diagnostics=member.means.summary(),
            timings={
                "seconds": seconds,
                "seconds_per_step": seconds / steps,
                "method_seconds_per_step": member.method_seconds / steps,
                "steps": float(member.steps),
                "runs_in_lockstep": float(len(self.staying)),
                **timings,
            },
            backward_passes=self.backward_passes(member.index),
            error=member.error,
            failed_at_step=member.failed_at,
            artifact=artifact,
        )

    def backward_passes(self, index: int) -> int:
        """Return how many times autograd traversed a graph of a member, also before this process took over."""
        return self.backward_passes_before[index] + self.workload.backward_passes(index)

    def state_dict(self) -> dict[str, Any]:
        """Return everything a resumed group needs to go on bit-identically."""
        return {
            "ids": [member.spec.id for member in self.members],
            "iteration": self.iteration,
            "seconds": self.seconds,
            "progress": self.progress,
            "progress_steps": self.progress_steps,
            "backward_passes": [self.backward_passes(member.index) for member in self.members],
            "parameters": [parameter.detach() for parameter in self.workload.parameters],
            "optimizer": self.optimizer.state_dict(),
            "workload": self.workload.state_dict(),
            "members": [member.state_dict() for member in self.members],
        }

    def fits(self, state: dict[str, Any]) -> bool:
        """Say whether a state holds its parameters as this version does; if not, the run starts over."""
        stored = [tensor.shape for tensor in state["parameters"]]
        return stored == [parameter.shape for parameter in self.workload.parameters]

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        for name in ("iteration", "seconds", "progress", "progress_steps"):
            setattr(self, name, state[name])
        self.backward_passes_before = list(state["backward_passes"])
        with torch.no_grad():
            for parameter, stored in zip(self.workload.parameters, state["parameters"], strict=True):
                parameter.copy_(stored)
        self.optimizer.load_state_dict(state["optimizer"])
        self.workload.load_state_dict(state["workload"])
        for member, stored in zip(self.members, state["members"], strict=True):
            member.load_state_dict(stored)


def train(
    specs: Sequence[RunSpec], checkpoint: Path | None = None, checkpoint_seconds: float | None = None
) -> list[Outcome]:
    """Train the given runs in lockstep and return their outcomes in order.

    With a `checkpoint` path the state is saved there every `checkpoint_seconds` (by default as often
    as this process's resources say), and a file found there is resumed from, bit-identically.
    """
    with _on_this_machine():
        group = _trained(specs, checkpoint, checkpoint_seconds, may_leave=False)
        return [group.outcome(member) for member in group.members]


def train_group(specs: Sequence[RunSpec], checkpoint: Path | None = None) -> list[Outcome | None]:
    """Do as `train`, but let methods leave for which the others would wait; None stands for a run that left."""
    with _on_this_machine():
        group = _trained(specs, checkpoint, None, may_leave=True)
        return [None if member.left else group.outcome(member) for member in group.members]


@contextmanager
def _on_this_machine() -> Iterator[None]:
    """Compute as this process's resources say, and let others who time something have quiet."""
    with QUIET.training(), deterministic_algorithms(resources().deterministic):
        yield


def _trained(
    specs: Sequence[RunSpec], checkpoint: Path | None, checkpoint_seconds: float | None, *, may_leave: bool
) -> Group:
    group = Group(specs)
    if checkpoint is not None and checkpoint.exists():
        group = _resumed(group, checkpoint)
    group.may_leave = may_leave
    group.run(checkpoint, resources().checkpoint_seconds if checkpoint_seconds is None else checkpoint_seconds)
    return group


def _resumed(group: Group, checkpoint: Path) -> Group:
    """Return the group where its checkpoint left it, or at its start if the file cannot be used or is of other runs."""
    specs = [member.spec for member in group.members]
    try:
        state = load_checkpoint(checkpoint)
        if state["ids"] == [spec.id for spec in specs] and group.fits(state):
            group.load_state_dict(state)
    except Exception as error:
        if ran_out_of_memory(error):
            raise
        warnings.warn(f"training starts anew: {checkpoint} cannot be used: {error}", RuntimeWarning, stacklevel=2)
        return Group(specs)
    return group
