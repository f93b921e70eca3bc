"""The one training loop: a method chooses weights, a torch optimizer takes the step.

All runs of a group step together. A member whose method raises, or whose loss leaves the finite
numbers, fails alone and at that step; the others go on unchanged.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg.lapack  # noqa: F401 - solvers ask for it when first called; no run's clock is to pay for it
import torch

from mobench.core.columns import FALLBACK
from mobench.core.method import RESERVED, Matrix, Step, Vector, refuse_non_finite_weights
from mobench.core.outcome import Outcome
from mobench.core.quiet import QUIET
from mobench.core.resources import resources
from mobench.core.spec import RunSpec
from mobench.core.streams import Streams
from mobench.core.threads import one_thread
from mobench.errors import NonFiniteError
from mobench.gradients.blocks import refuse_non_finite
from mobench.solvers.min_norm import load_solver
from mobench.training.arithmetic import deterministic_algorithms, tensor_floats
from mobench.training.checkpoint import load_checkpoint, save_checkpoint
from mobench.training.history import sampled_steps
from mobench.training.make_workload import make_workload
from mobench.training.member import Member
from mobench.training.optimizer import Training, bare_step
from mobench.training.rearranged import can_be_cut, rearranged, rearranged_optimizer, same_shapes
from mobench.training.sampled_rows import sampled_rows
from mobench.training.secondary_progress import ProgressSums
from mobench.training.step import take_steps
from mobench.training.step_reports import REPORT_SECONDS, tell
from mobench.training.stopping import Stopped, is_of_the_machine, stop_requested


class Group:
    """Runs that train in lockstep, from their first step to their outcomes, on one thread."""

    @one_thread()
    def __init__(self, specs: Sequence[RunSpec]) -> None:
        first = specs[0]
        streams = [Streams(spec.seed) for spec in specs]
        problems = [spec.build_problem() for spec in specs]
        self.training = Training(**first.run_training)
        self.workload = make_workload(
            list(zip(problems, streams, strict=True)), as_vector=self.training.element_by_element
        )
        self.objectives = problems[0].objectives()
        load_solver(self.workload.k)
        self.members = []
        for index, spec in enumerate(specs):
            method = spec.build_method()
            method.reset(self.workload.k, streams[index].numpy("method"))
            self.members.append(Member(spec, method, self.workload, index))
        self.answers_together = len({type(member.method) for member in self.members}) == 1 and self.members[0].together
        """Whether one call of the method answers for all members."""
        self.optimizer = self.training.build(self.workload.parameters, fused=self.workload.fused)
        self.total = self.training.total_steps(self.workload.steps_per_epoch)
        self.iteration = 0
        self.seconds = 0.0
        self.progress = ProgressSums(self.workload.size, self.workload.k)
        """How much each step advances the secondary objectives to first order."""
        self.backward_passes_before = [0] * len(specs)
        """What was done before this process took the run over."""
        self.finite_grams = False
        """Whether all Gram matrices of this iteration were seen to be finite."""
        self.take_step = bare_step(self.optimizer)

    @property
    def alive(self) -> list[Member]:
        """The members that have not failed."""
        return [member for member in self.members if member.error is None]

    @one_thread()
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
                self.take_step()
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
            if self.training.epochs and self.iteration % per_epoch == 0:
                self.finish_epoch(alive)
            stop = stop_requested() and self.iteration < self.total
            if checkpoint is not None and (stop or now - last_saved > checkpoint_seconds):
                save_checkpoint(checkpoint, self.state_dict(), verify=not saved)
                last_saved, saved = time.perf_counter(), True
            if checkpoint is not None and stop:
                raise Stopped

    def step(self, alive: list[Member], sample: bool) -> None:
        """Let every method choose its update; all of them are in `.grad` afterwards."""
        workload, iteration = self.workload, self.iteration
        self.finite_grams = False
        losses = workload.begin(iteration)
        finite = bool(np.isfinite(losses).all())
        weights = np.zeros((workload.size, workload.k))
        taken: list[tuple[Member, Step]] = []
        together = self.answering_together(alive) if finite else []
        if together:
            taken += self.ask_together(together, losses, weights)
        for member in [] if together else alive:
            step = self.step_of(member, losses[member.index])
            try:
                if not finite:
                    self.refuse_non_finite_losses(step)
                chosen = member.take(step)
            except Exception as error:
                if is_of_the_machine(error):
                    raise
                member.fail(error, iteration)
                continue
            if chosen is not None:
                weights[member.index] = chosen
            taken.append((member, step))
        if sample and taken:
            self.sample(taken, losses, weights)
        grams = workload.grams()
        if grams is not None:
            self.progress.add(grams[: workload.size], weights)
        workload.end()
        if grams is None:
            refuse_non_finite(workload.parameters)
        elif not self.finite_grams and not np.isfinite(grams).all():
            self.fail_non_finite_gradients()

    def step_of(self, member: Member, losses: Vector, gram: Matrix | None = None) -> Step:
        """Return what a member's method may read at this iteration."""
        bounds, limits, epoch = member.lower_bounds, member.thresholds, self.workload.steps_per_epoch
        return Step(
            losses, member.gradients, bounds, self.iteration, self.total, member.held_out, limits, gram,
            member.second_batch, epoch, member.hessian_product,
        )  # fmt: skip

    def answering_together(self, alive: list[Member]) -> list[Member]:
        """Return the members if their methods answer together: several, whose Gram matrices are all finite."""
        if len(alive) == 1 or not self.answers_together or (grams := self.workload.grams()) is None:
            return []
        self.finite_grams = bool(np.isfinite(grams).all())
        indices = [member.index for member in alive]
        return alive if self.finite_grams or np.isfinite(grams[indices]).all() else []

    def ask_together(self, members: list[Member], losses: Matrix, weights: Matrix) -> list[tuple[Member, Step]]:
        """Let all methods choose together; return the members that took the step, whose weights are written."""
        grams = self.workload.grams()
        assert grams is not None
        indices = np.array([member.index for member in members])
        seen, own = losses[indices], grams[indices]  # copies: others read the originals
        seen.setflags(write=False)
        own.setflags(write=False)
        steps = [self.step_of(*each) for each in zip(members, seen, own, strict=True)]
        try:
            answers, seconds = take_steps([member.method for member in members], steps)
        except Exception as error:
            if is_of_the_machine(error):
                raise
            for member in members:
                member.fail(error, self.iteration)
            return []
        taken = [*zip(members, steps, strict=True)]
        if not np.isfinite(answers).all():
            taken = [pair for pair, answer in zip(taken, answers, strict=True) if self.accepts(*pair, answer)]
            chosen = [member.error is None for member in members]
            indices, answers = indices[chosen], answers[chosen]
        self.workload.apply_all(indices, answers)
        weights[indices] = answers
        for member, step in taken:
            member.took(step, seconds)
        return taken

    def accepts(self, member: Member, step: Step, answer: Vector) -> bool:
        """Say whether a member's weights are finite; otherwise it fails."""
        try:
            refuse_non_finite_weights(member.method, step, answer)
        except NonFiniteError as error:
            member.fail(error, self.iteration)
            return False
        return True

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

    def sample(self, taken: list[tuple[Member, Step]], losses: Matrix, weights: Matrix) -> None:
        """Add this step to the curves: what is measured, and what was noted by other names.

        Nothing measured is read from the steps, which were in the methods' hands.
        """
        grams = self.workload.grams()
        asked = [member.index for member, _ in taken]
        combined = [not member.by_direction for member, _ in taken]
        rows = sampled_rows(
            self.iteration, losses[asked], weights[asked], None if grams is None else grams[asked], combined
        )
        for (member, step), row in zip(taken, rows, strict=True):
            if (point := self.workload.point(member.index)) is not None:
                row["point"] = point
            for name, value in step.notes.items():
                if isinstance(value, np.ndarray) and name not in RESERVED:
                    row[name] = value
            member.history.add(row)

    def observe(self, alive: list[Member]) -> None:
        """Show the losses after the update to the methods that want to see them."""
        observing = [member for member in alive if member.observes and member.error is None]
        after = self.workload.losses_after([member.index for member in observing])
        for member in observing:
            started = time.perf_counter()
            try:
                member.method.observe(after[member.index])
            except Exception as error:
                if is_of_the_machine(error):
                    raise
                member.fail(error, self.iteration)
            member.method_seconds += time.perf_counter() - started

    def finish_epoch(self, alive: list[Member]) -> None:
        """Add the problem's epoch metrics to the curves."""
        for member in alive:
            row = self.workload.epoch_metrics(member.index)
            if row:
                member.history.add({"step": self.iteration - 1, **row})

    @one_thread()
    def outcome(self, member: Member) -> Outcome:
        """Return the finished run's outcome."""
        metrics: dict[str, float] = {}
        timings: dict[str, float] = {}
        artifact: dict[str, torch.Tensor] = {}
        steps = max(1, member.steps)
        counted = self.workload.fallbacks(member.index).items()  # before the evaluation, which would add to it
        fallbacks = {f"{FALLBACK}{name}": {"mean": n / steps, "total": float(n)} for name, n in counted if n}
        if member.error is None:
            try:
                metrics = self.workload.metrics(member.index)
                timings = self.workload.timings(member.index)
                artifact = self.workload.artifact(member.index)
                if last := self.workload.final_sample(member.index):
                    member.history.add({"step": self.iteration, **last})
                metrics |= self.workload.stationarity(member.index)
            except Exception as error:
                if is_of_the_machine(error):
                    raise
                member.fail(error, self.iteration)
        if self.progress.steps and not member.by_direction:
            metrics["secondary_progress"] = float(self.progress.sums()[member.index]) / self.progress.steps
        own = sum(other.method_seconds for other in self.members)
        taken = max(1, sum(other.steps for other in self.members))
        seconds = member.method_seconds + max(0.0, self.seconds - own) * member.steps / taken
        return Outcome(
            status="done" if member.error is None else "failed",
            metrics=metrics if member.error is None else {},
            history=member.history.columns,
            diagnostics={**member.means.summary(), **fallbacks},
            timings={
                "seconds": seconds,
                "seconds_per_step": seconds / steps,
                "method_seconds_per_step": member.method_seconds / steps,
                "steps": float(member.steps),
                "runs_in_lockstep": float(len(self.members)),
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
            "progress": self.progress.sums(),
            "progress_steps": self.progress.steps,
            "backward_passes": [self.backward_passes(member.index) for member in self.members],
            "parameters": [parameter.detach() for parameter in self.workload.parameters],
            "optimizer": self.optimizer.state_dict(),
            "workload": self.workload.state_dict(),
            "members": [member.state_dict() for member in self.members],
        }

    def fits(self, state: dict[str, Any]) -> bool:
        """Say whether a state holds the parameters of these runs; if not, they start over."""
        stored, network = state["parameters"], self.workload.network()
        return same_shapes(stored, self.workload.parameters) or (network is not None and can_be_cut(stored, network))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.iteration, self.seconds = state["iteration"], state["seconds"]
        self.progress.restore(state["progress"], state["progress_steps"])
        self.backward_passes_before = list(state["backward_passes"])
        targets, parameters, optimizer = self.workload.parameters, state["parameters"], state["optimizer"]
        network = self.workload.network()
        if network is not None and not same_shapes(parameters, targets):
            current = self.optimizer.state_dict()
            optimizer = rearranged_optimizer(optimizer, parameters, network, current, targets)
            parameters = rearranged(parameters, network, targets)
        with torch.no_grad():
            for parameter, stored in zip(targets, parameters, strict=True):
                parameter.copy_(stored)
        self.optimizer.load_state_dict(optimizer)
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
    with _on_this_machine(specs[0]):
        group = Group(specs)
        if checkpoint is not None and checkpoint.exists():
            group = _resumed(group, checkpoint)
        group.run(checkpoint, resources().checkpoint_seconds if checkpoint_seconds is None else checkpoint_seconds)
        return [group.outcome(member) for member in group.members]


@contextmanager
def _on_this_machine(spec: RunSpec) -> Iterator[None]:
    """Compute as this process's resources and the run say, and let others who time something have quiet."""
    tf32 = Training(**spec.run_training).tf32
    with QUIET.training(), deterministic_algorithms(resources().deterministic), tensor_floats(tf32):
        yield


def _resumed(group: Group, checkpoint: Path) -> Group:
    """Return the group where its checkpoint left it, or at its start if the file cannot be used or is of other runs."""
    specs = [member.spec for member in group.members]
    try:
        state = load_checkpoint(checkpoint)
        if state["ids"] == [spec.id for spec in specs] and group.fits(state):
            group.load_state_dict(state)
    except Exception as error:
        if is_of_the_machine(error):
            raise
        warnings.warn(f"training starts anew: {checkpoint} cannot be used: {error}", RuntimeWarning, stacklevel=2)
        return Group(specs)
    return group
