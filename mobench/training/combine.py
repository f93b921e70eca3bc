"""Any method on a K×n tensor of gradients: `mobench.combine("pcd", gradients, tau=0.1)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from mobench.core.method import Matrix, Method, Vector
from mobench.errors import NonFiniteError, UserError
from mobench.gradients.gram import Gram, gram_of
from mobench.gradients.losses import values_of
from mobench.training.step import build_method, make_step, take_step

_calls: WeakKeyDictionary[Method, tuple[int, int]] = WeakKeyDictionary()
"""The number of objectives and of calls so far of every method object in use."""


class _Given:
    """Gradients that are already there, and the update that is made of them."""

    def __init__(self, rows: Tensor) -> None:
        self._rows = rows
        self.n = rows.shape[1]
        self.update = rows[0]
        self._taken: Gram | None = None

    def gram(self) -> Matrix:
        self._taken = gram_of(len(self._rows), lambda: [list(self._rows.unbind())])
        return self._taken.matrix

    @property
    def resolution(self) -> float:
        assert self._taken is not None
        return self._taken.resolution

    def gradients(self) -> Tensor:
        return self._rows

    def apply(self, weights: Vector) -> None:
        working = torch.promote_types(self._rows.dtype, torch.float32)
        if self._taken is not None and self._taken.cancels(weights) and self._rows.device.type != "mps":
            working = torch.float64
        factors = torch.as_tensor(weights, dtype=working, device=self._rows.device)
        self.update = (factors @ self._rows.to(working)).to(self._rows.dtype)

    def apply_direction(self, direction: Tensor) -> None:
        self.update = direction.to(self._rows)


@torch.no_grad()
def combine(
    method: str | Method,
    gradients: Tensor,
    *,
    losses: Sequence[float] | Tensor | None = None,
    lower_bounds: Sequence[float] | None = None,
    **hyperparameters: Any,
) -> Tensor:
    """Return the method's update direction `d = Σ_i w_i g_i` for the rows g_i of `gradients`.

    A method given by name is new at every call and has no memory. A `Method` object keeps its state
    from call to call; its first call here resets it for K objectives. The result is an n-vector of
    the gradients' dtype and device; products of float32 gradients are added in float64, and weights are
    float64. `losses` and `lower_bounds` are needed only by methods that read them.
    """
    rows = _checked(gradients)
    k = len(rows)
    solver = build_method(method, hyperparameters)
    values = None if losses is None else values_of(losses)
    if values is not None and values.shape != (k,):
        raise UserError(f"losses has shape {values.shape}; there are {k} gradients")
    given = _Given(rows)
    take_step(solver, make_step(values, k, given, lower_bounds, _count_call(solver, k)), given)
    return given.update


def _checked(gradients: Any) -> Tensor:
    if not isinstance(gradients, Tensor) or gradients.ndim != 2 or 0 in gradients.shape:
        shape = f"of shape {tuple(gradients.shape)}" if isinstance(gradients, Tensor) else type(gradients).__name__
        raise UserError(f"gradients is {shape}; it takes a K×n tensor with one gradient in each row")
    if not gradients.is_floating_point():
        raise UserError(f"gradients has dtype {gradients.dtype}; it takes a floating-point dtype")
    # A sum is finite only if every term is; looking at each number costs ten times as much.
    if not torch.isfinite(gradients.sum(dim=1)).all():
        finite = torch.isfinite(gradients).all(dim=1).tolist()
        if not all(finite):
            raise NonFiniteError(f"gradient {finite.index(False)} of {len(finite)} is not finite (counted from 0)")
    return gradients.detach()


def _count_call(method: Method, k: int) -> int:
    """Return how many calls came before; the first one resets the method for `k` objectives."""
    first, calls = _calls.get(method, (k, 0))
    if first != k:
        raise UserError(f"this {method.name} object combines {first} gradients and got {k}; use a new object")
    if not calls:
        method.reset(k, method.rng)
    _calls[method] = (k, calls + 1)
    return calls
