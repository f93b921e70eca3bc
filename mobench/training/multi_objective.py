"""A multi-objective method in anybody's own training loop: it replaces `loss.backward()`.

objective = mobench.MultiObjective("pcd", optimizer, tau=0.1)
for inputs, targets in data:
    objective.backward([task_loss(model(inputs), targets), penalty(model)])
    optimizer.step()
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor

from mobench.core.method import Method, Vector
from mobench.core.streams import Streams
from mobench.errors import NonFiniteError, UserError
from mobench.gradients.blocks import all_finite, refuse_non_finite
from mobench.gradients.gradient_rows import GradientRows
from mobench.gradients.losses import Loss, plain_values
from mobench.training.diagnostics import Diagnostics
from mobench.training.step import build_method, chosen_update, make_step


class MultiObjective:
    """Combines the gradients of K losses into `.grad`, the primary objective first.

    `method` is the name of a registered method, with its hyperparameters as further keywords, or a
    `Method` object. `parameters` are the tensors to differentiate, or the optimizer that has them.
    `lower_bounds` are known lower bounds of the losses, for methods that use them; `seed` feeds the
    method's own randomness.

    Like a `zero_grad` followed by `backward`, a step overwrites what `.grad` held before; None is
    left for frozen parameters and for those that no loss depends on.
    """

    def __init__(
        self,
        method: str | Method,
        parameters: Iterable[Tensor] | torch.optim.Optimizer,
        *,
        lower_bounds: Sequence[float] | None = None,
        seed: int = 0,
        **hyperparameters: Any,
    ) -> None:
        self.method = build_method(method, hyperparameters)
        self.iteration = 0
        """How many updates were made."""
        self.diagnostics: Diagnostics | None = None
        """What the last step did."""
        self._rows = GradientRows(_tensors(parameters))
        self._lower_bounds = lower_bounds
        self._seed = seed
        self._k: int | None = None
        self._accumulating = False
        self._scaling = False
        self._overflow = False
        self._passes_before = 0

    @property
    def wants_losses_after(self) -> bool:
        """Whether the method makes use of `observe`; if not, the second forward pass can be saved."""
        return self.method.overrides("observe")

    def backward(
        self,
        losses: Sequence[Loss | float] | Tensor | None = None,
        *,
        gradients: Tensor | Sequence[Sequence[Tensor | None]] | None = None,
        scaler: torch.amp.GradScaler | None = None,
    ) -> Diagnostics:
        """Fill `.grad` with the method's update for these K losses.

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
        with self._overflow_noted():
            if gradients is not None:
                values = None if losses is None else plain_values(losses)
                self._rows.load_gradients(gradients, values=values, scale=scale)
            elif losses is not None:
                self._rows.load(cast("Sequence[Loss]", losses), scale=scale)
            else:
                raise UserError("backward() takes a list of losses, or gradients=")
        return self._finish(has_losses=losses is not None)

    def accumulate(
        self, losses: Sequence[Loss], *, weight: float = 1.0, scaler: torch.amp.GradScaler | None = None
    ) -> None:
        """Differentiate the losses of one micro-batch and add them to the step that `combine` ends.

        The step's losses and gradients are means over its micro-batches, weighted by `weight`: equal
        to those of the whole batch if each loss is a mean over its micro-batch and `weight` is the
        number of samples in it (or 1 for all, where they are equally large).
        """
        scale = _scale_of(scaler, self._rows.parameters[0]) if self._accumulating else self._begin(scaler)
        if not self._overflow:
            with self._overflow_noted():
                self._rows.accumulate(losses, weight=weight, scale=scale)
        self._accumulating = True

    def combine(self) -> Diagnostics:
        """Fill `.grad` with the method's update for the accumulated micro-batches."""
        if not self._accumulating:
            raise UserError("there is nothing to combine; call accumulate(losses) for each micro-batch first")
        self._accumulating = False
        return self._finish(has_losses=True)

    def gradients(self, losses: Sequence[Loss]) -> Tensor:
        """Return the K×n gradients of the losses, e.g. to average them over processes.

        Pass the result to `backward(gradients=…)`. `.grad` is None afterwards.
        """
        self._refuse_unfinished("gradients()")
        self._rows.load(losses)
        try:
            return self._rows.gradients()
        finally:
            self._rows.clear()

    def observe(self, losses_after: Sequence[Loss | float] | Tensor) -> None:
        """Show the method the losses on the same batch after the optimizer's step (FAMO needs them).

        After a step that the scaler skipped there is nothing to learn, and the call does nothing.
        """
        if self.diagnostics is None:
            raise UserError("observe(losses_after) comes after backward() and the optimizer's step")
        if self.diagnostics.skipped:
            return
        values = plain_values(losses_after)
        if len(values) != self._k:
            raise UserError(f"losses_after has {len(values)} entries; the step had {self._k} losses")
        self.method.observe(values)

    def state_dict(self) -> dict[str, Any]:
        """Return everything that changes from step to step."""
        self._refuse_unfinished("state_dict()")
        return {
            "method": self.method.name,
            "iteration": self.iteration,
            "objectives": self._k,
            "state": self.method.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; the next step is then bit-identical."""
        if state["method"] != self.method.name:
            raise UserError(f"the state belongs to the method '{state['method']}', not to '{self.method.name}'")
        self.iteration, self._k = state["iteration"], state["objectives"]
        self.method.load_state_dict(state["state"])

    def _refuse_unfinished(self, call: str) -> None:
        if self._accumulating:
            raise UserError(f"micro-batches are waiting; finish them with combine() before {call}")

    def _begin(self, scaler: torch.amp.GradScaler | None) -> float:
        """Begin a step and return its loss scale."""
        self._rows.clear()
        self._scaling = scaler is not None and scaler.is_enabled()
        self._overflow = False
        self._passes_before = self._rows.backward_passes
        return _scale_of(scaler, self._rows.parameters[0])

    @contextmanager
    def _overflow_noted(self) -> Iterator[None]:
        """Under a scaler a non-finite loss means that the step is skipped; otherwise it is an error."""
        try:
            yield
        except NonFiniteError:
            self._overflow = self._scaling
            if not self._scaling:
                self._accumulating = False
                self._rows.clear()
                raise

    def _finish(self, *, has_losses: bool) -> Diagnostics:
        """End the step with an update, or under a scaler with a skipped one."""
        losses = self._rows.values if has_losses and not self._overflow else None
        try:
            update = None if self._overflow else self._update(losses)
        finally:
            self._rows.clear()
        self.diagnostics = self._skip(losses) if update is None else update
        return self.diagnostics

    def _update(self, losses: Vector | None) -> Diagnostics | None:
        """Write the method's update into `.grad`; None, with the method untouched, if it overflowed."""
        rows, method = self._rows, self.method
        self._start(len(rows.values))
        step = make_step(losses, len(rows.values), rows, self._lower_bounds, self.iteration)
        before = method.state_dict() if self._scaling else {}
        weights = None
        try:
            chosen = chosen_update(method, step)
            gram = rows.gram_if_read
            if isinstance(chosen, Tensor):
                rows.apply_direction(chosen)
            else:
                weights = chosen
                rows.apply(weights)
        except NonFiniteError:
            if not self._scaling or rows.finite():
                raise
            method.load_state_dict(before)
            return None
        if self._scaling and not all_finite(parameter.grad for parameter in rows.parameters):
            method.load_state_dict(before)
            return None
        if gram is None and weights is not None and not self._scaling:
            refuse_non_finite(rows.parameters)
        self.iteration += 1
        passes = rows.backward_passes - self._passes_before
        return Diagnostics(step.iteration, losses, weights, gram, step.notes, passes)

    def _skip(self, losses: Vector | None) -> Diagnostics:
        """Leave gradients on which every scaler skips the optimizer's step."""
        for parameter in self._rows.parameters:
            parameter.grad = torch.full_like(parameter, torch.inf) if parameter.requires_grad else None
        passes = self._rows.backward_passes - self._passes_before
        return Diagnostics(self.iteration, losses, backward_passes=passes, skipped=True)

    def _start(self, k: int) -> None:
        """Reset the method at the first step; afterwards the number of objectives is fixed."""
        if self._k is None:
            self.method.reset(k, Streams(self._seed).numpy("method"))
            self._k = k
        elif self._k != k:
            raise UserError(f"this step has {k} losses; the steps before had {self._k}")


def _tensors(parameters: Any) -> Sequence[Tensor]:
    if isinstance(parameters, torch.optim.Optimizer):
        return [parameter for group in parameters.param_groups for parameter in group["params"]]
    if isinstance(parameters, (Tensor, torch.nn.Module)) or not isinstance(parameters, Iterable):
        raise UserError(
            f"parameters is a {type(parameters).__name__}; it takes tensors, e.g. `model.parameters()`, or an optimizer"
        )
    return list(parameters)


def _scale_of(scaler: torch.amp.GradScaler | None, parameter: Tensor) -> float:
    """Return the factor by which `scaler` multiplies a loss; asking also initialises the scaler."""
    if scaler is None:
        return 1.0
    return float(scaler.scale(torch.ones((), device=parameter.device)))
