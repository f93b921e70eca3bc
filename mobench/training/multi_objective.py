"""A multi-objective method in anybody's own training loop: it replaces `loss.backward()`.

objective = mobench.MultiObjective("pcd", optimizer, tau=0.1)
for inputs, targets in data:
    objective.backward([task_loss(model(inputs), targets), penalty(model)])
    optimizer.step()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor

from mobench.core.method import Method, Step, Vector
from mobench.core.streams import Streams
from mobench.errors import NonFiniteError, UserError
from mobench.gradients.blocks import all_finite, refuse_non_finite
from mobench.gradients.feature_rows import FeatureRows
from mobench.gradients.gradient_rows import GradientRows
from mobench.gradients.losses import Losses, Values, values_of
from mobench.training.checkpoint import packed, unpacked
from mobench.training.diagnostics import Diagnostics
from mobench.training.parameters import is_optimizer, named_tensors
from mobench.training.step import build_method, make_step, take_step


class MultiObjective:
    """Combines the gradients of K losses into `.grad`, the primary objective first.

    `method` is the name of a registered method, with its hyperparameters as further keywords, or a
    `Method` object. `parameters` are the tensors to differentiate, with or without names, or the
    optimizer that has them, which Accelerate or Lightning may have wrapped.
    `shared` are those of them that all losses share, if not all: the method sees and combines the
    gradients of these, and each other parameter gets the sum of the losses' own gradients, which for
    the head of a task is its own loss's. For methods that use them: `lower_bounds`, known lower
    bounds of the losses; `total_steps`, how many steps there will be, and `steps_per_epoch`; `held_out`
    and `second_batch`, which return the losses on a batch that is not trained on, and on a second
    batch of training data, and are called only by methods that read them. `seed` feeds the method's
    own randomness.

    Like a `zero_grad` followed by `backward`, a step overwrites what `.grad` held before; None is
    left for frozen parameters and for those that no loss depends on.
    """

    def __init__(
        self,
        method: str | Method,
        parameters: Iterable[Tensor | tuple[str, Tensor]] | torch.optim.Optimizer,
        *,
        shared: Iterable[Tensor | tuple[str, Tensor]] | None = None,
        lower_bounds: Sequence[float] | None = None,
        total_steps: int | None = None,
        held_out: Callable[[], Losses] | None = None,
        second_batch: Callable[[], Losses] | None = None,
        steps_per_epoch: int | None = None,
        seed: int = 0,
        **hyperparameters: Any,
    ) -> None:
        self.method = build_method(method, hyperparameters)
        self.iteration = 0
        """How many updates were made."""
        self.diagnostics: Diagnostics | None = None
        """What the last step did."""
        self._optimizer = parameters if is_optimizer(parameters) else None
        self._shared = None if shared is None else named_tensors("shared", shared)[1]
        names, tensors = named_tensors("parameters", parameters)
        self._rows = GradientRows(tensors, shared=self._shared, names=names)
        self._lower_bounds = lower_bounds
        self._total_steps = total_steps
        self._steps_per_epoch = steps_per_epoch
        self._beside = {"held_out": held_out, "second_batch": second_batch}
        """What returns the losses on batches beside the step's own."""
        self._beside_rows: list[GradientRows] = []
        self._seed = seed
        self._k: int | None = None
        self._names: tuple[str, ...] | None = None
        self._accumulating = False
        self._scaling = False
        self._overflow = False

    @property
    def wants_losses_after(self) -> bool:
        """Whether the method makes use of `observe`; if not, the second forward pass can be saved."""
        return self.method.overrides("observe")

    def backward(
        self,
        losses: Losses | Values | None = None,
        *,
        gradients: Tensor | Sequence[Sequence[Tensor | None]] | None = None,
        features: Tensor | Sequence[Tensor] | None = None,
        retain_graph: bool = False,
        scaler: torch.amp.GradScaler | None = None,
    ) -> Diagnostics:
        """Fill `.grad` with the method's update for these K losses: a list, a dict, or a tensor of shape (K,).

        Graphs are freed when they are used up, unless `retain_graph`.

        With `features`, the output of the shared part of the network, the method sees the gradients
        with respect to these instead of the shared parameters: an approximation that takes one pass
        through the shared part, whatever K is.

        With `gradients` (K×n, or K lists with one tensor or None per parameter) nothing is
        differentiated and `losses` are just K numbers, which may be left out if the method does not
        read them.

        With a `scaler` the scaled losses are differentiated (or `gradients` are those of the scaled
        losses) and `.grad` is left scaled, for `scaler.step(optimizer)`. The method sees unscaled
        losses and gradients. If any of them overflowed, the method's state stays as it was and
        `.grad` is infinite, so that the scaler skips the step.
        """
        self._refuse_unfinished("backward()")
        scale = self._begin(scaler)
        if features is not None and gradients is not None:
            raise UserError("backward() takes features= or gradients=, not both")
        rows = self._rows if features is None else self._rows_of(features)
        with self._nothing_half_done():
            if gradients is not None:
                values = None if losses is None else values_of(self._in_order(losses))
                rows.load_gradients(gradients, values=values, scale=scale)
            elif losses is not None:
                rows.load(cast("Losses", self._in_order(losses)), scale=scale, retain_graph=retain_graph)
            else:
                raise UserError("backward() takes a list of losses, or gradients=")
        return self._finish(rows, has_losses=losses is not None)

    def accumulate(self, losses: Losses, *, weight: float = 1.0, scaler: torch.amp.GradScaler | None = None) -> None:
        """Differentiate the losses of one micro-batch and add them to the step that `combine` ends.

        The step's losses and gradients are means over its micro-batches, weighted by `weight`: equal
        to those of the whole batch if each loss is a mean over its micro-batch and `weight` is the
        number of samples in it (or 1 for all, where they are equally large).
        """
        scale = _scale_of(scaler, self._rows.parameters[0]) if self._accumulating else self._begin(scaler)
        if not self._overflow:
            with self._nothing_half_done():
                self._rows.accumulate(cast("Losses", self._in_order(losses)), weight=weight, scale=scale)
        self._accumulating = True

    def combine(self) -> Diagnostics:
        """Fill `.grad` with the method's update for the accumulated micro-batches."""
        if not self._accumulating:
            raise UserError("there is nothing to combine; call accumulate(losses) for each micro-batch first")
        self._accumulating = False
        return self._finish(self._rows, has_losses=True)

    def gradients(self, losses: Losses) -> Tensor:
        """Return the K×n gradients of the losses, e.g. to average them over processes.

        Pass the result to `backward(gradients=…)`. `.grad` is None afterwards.
        """
        self._refuse_unfinished("gradients()")
        self._see_parameters()
        self._rows.load(cast("Losses", self._in_order(losses)))
        try:
            return self._rows.all_gradients()
        finally:
            self._rows.clear()

    def observe(self, losses_after: Values) -> None:
        """Show the method the losses on the same batch after the optimizer's step (FAMO needs them).

        After a step that the scaler skipped there is nothing to learn, and the call does nothing.
        """
        if self.diagnostics is None:
            raise UserError("observe(losses_after) comes after backward() and the optimizer's step")
        if self.diagnostics.skipped:
            return
        values = values_of(self._in_order(losses_after))
        if len(values) != self._k:
            raise UserError(f"losses_after has {len(values)} entries; the step had {self._k} losses")
        self.method.observe(values)

    def state_dict(self) -> dict[str, Any]:
        """Return everything that changes from step to step, as `torch.load` reads it by default."""
        self._refuse_unfinished("state_dict()")
        return {
            "method": self.method.name,
            "iteration": self.iteration,
            "objectives": self._k,
            "state": packed(self.method.state_dict()),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; the next step is then bit-identical."""
        if state["method"] != self.method.name:
            raise UserError(f"the state belongs to the method '{state['method']}', not to '{self.method.name}'")
        self.iteration, self._k = state["iteration"], state["objectives"]
        self.method.load_state_dict(unpacked(state["state"]))

    def _in_order(self, losses: Losses | Values) -> Losses | Values:
        """Return losses with names in the order of the first step, others as they are."""
        if not isinstance(losses, Mapping):
            return losses
        self._names = self._names or tuple(losses)
        if set(losses) != set(self._names):
            raise UserError(f"the losses are called {', '.join(losses)}; before they were {', '.join(self._names)}")
        return {name: losses[name] for name in self._names}

    def _refuse_unfinished(self, call: str) -> None:
        if self._accumulating:
            raise UserError(f"micro-batches are waiting; finish them with combine() before {call}")

    def _begin(self, scaler: torch.amp.GradScaler | None) -> float:
        """Begin a step and return its loss scale."""
        self._see_parameters()
        self._rows.clear()
        self._scaling = scaler is not None and scaler.is_enabled()
        self._overflow = False
        self._rows.backward_passes = 0
        return _scale_of(scaler, self._rows.parameters[0])

    def _rows_of(self, features: Tensor | Sequence[Tensor]) -> FeatureRows:
        if self._shared is None:
            raise UserError("features= needs MultiObjective(…, shared=…): the parameters that the features come from")
        return FeatureRows([features] if isinstance(features, Tensor) else features, self._rows.layout)

    def _see_parameters(self) -> None:
        """See what was added to the optimizer since the last step."""
        if self._optimizer is not None:
            names, now = named_tensors("parameters", self._optimizer)
            if [*map(id, now)] != [*map(id, self._rows.parameters)]:
                self._rows = GradientRows(now, shared=self._shared, names=names)

    @contextmanager
    def _nothing_half_done(self) -> Iterator[None]:
        """Drop the step, with all its micro-batches, if anything fails; an overflow under a scaler skips it later."""
        try:
            yield
        except BaseException as error:
            self._overflow = self._scaling and isinstance(error, NonFiniteError)
            if not self._overflow:
                self._accumulating = False
                self._rows.clear()
                raise

    def _finish(self, rows: GradientRows, *, has_losses: bool) -> Diagnostics:
        """End the step with an update, or under a scaler with a skipped one."""
        losses = rows.values if has_losses and not self._overflow else None
        try:
            update = None if self._overflow else self._update(rows, losses)
        finally:
            rows.clear()
            self._beside_rows = []
        self.diagnostics = self._skip(rows, losses) if update is None else update
        return self.diagnostics

    def _update(self, rows: GradientRows, losses: Vector | None) -> Diagnostics | None:
        """Write the method's update into `.grad`; None, with the method untouched, if it overflowed."""
        method = self.method
        self._start(len(rows.values))
        # Gradients of features have no counterpart on another batch.
        beside = {
            name: partial(self._evaluate, name, called) if called and rows is self._rows else None
            for name, called in self._beside.items()
        }
        step = make_step(
            losses, len(rows.values), rows, self._lower_bounds, self.iteration, self._total_steps,
            steps_per_epoch=self._steps_per_epoch, **beside,
        )  # fmt: skip
        before = method.state_dict() if self._scaling else {}
        try:
            update = take_step(method, step, rows)
        except NonFiniteError:
            if not self._scaling or rows.finite():
                raise
            method.load_state_dict(before)
            return None
        if self._scaling and not all_finite(parameter.grad for parameter in self._rows.parameters):
            method.load_state_dict(before)
            return None
        gram, passes = rows.gram_if_read, rows.backward_passes
        if gram is None and update.weights is not None and not self._scaling:
            refuse_non_finite(self._rows.parameters)
        self.iteration += 1
        passes += sum(each.backward_passes for each in self._beside_rows)
        return Diagnostics(step.iteration, losses, update.weights, gram, step.notes, passes, names=self._names)

    def _evaluate(self, name: str, losses_on_it: Callable[[], Losses]) -> Step:
        """Evaluate a batch beside the step's own."""
        rows = self._rows.twin()
        self._beside_rows.append(rows)
        rows.load(cast("Losses", self._in_order(losses_on_it())))
        if len(rows.values) != self._k:
            raise UserError(f"{name}() returned {len(rows.values)} losses; the step has {self._k}")
        return make_step(rows.values, len(rows.values), rows, self._lower_bounds, self.iteration)

    def _skip(self, rows: GradientRows, losses: Vector | None) -> Diagnostics:
        """Leave gradients on which every scaler skips the optimizer's step."""
        for parameter in self._rows.parameters:
            parameter.grad = torch.full_like(parameter, torch.inf) if parameter.requires_grad else None
        passes = rows.backward_passes
        return Diagnostics(self.iteration, losses, backward_passes=passes, skipped=True, names=self._names)

    def _start(self, k: int) -> None:
        """Reset the method at the first step; afterwards the number of objectives is fixed."""
        if self._k is None:
            self.method.reset(k, Streams(self._seed).numpy("method"))
            self._k = k
        elif self._k != k:
            raise UserError(f"this step has {k} losses; the steps before had {self._k}")


def _scale_of(scaler: torch.amp.GradScaler | None, parameter: Tensor) -> float:
    """Return the factor by which `scaler` multiplies a loss; asking also initialises the scaler."""
    if scaler is None:
        return 1.0
    return float(scaler.scale(torch.ones((), device=parameter.device)))
