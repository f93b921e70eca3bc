"""Singular values and spectral maps of weights through the small side's Gram matrix.

A weight is read as the matrix W ∈ R^{C_out × (C_in·k·k)}. With W = U S Vᵀ and W on its short side,
W Wᵀ = U S² Uᵀ, so one symmetric eigen-decomposition gives everything that depends on U and S alone:

    U h(S) Uᵀ W = U (h(S) S) Vᵀ.

The Gram matrix is taken in float64: squaring halves the number of digits, and 16 digits leave
singular values correct down to about 1e-8 of the largest. Those below `RELATIVE_CUTOFF` are the
rounding of float32 weights and count as zero.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from mobench.errors import NonFiniteError

RELATIVE_CUTOFF = 1e-6
"""Singular values up to this fraction of the largest are zero."""

_SAFE_AMPLIFICATION = 1e3
"""Up to this amplification of rounding errors, a float32 product keeps four digits."""

_COLUMNS = 512
_ROWS = 64


def as_matrix(weight: Tensor) -> Tensor:
    """Return a view of `weight` with one row per output filter.

    A channels-last weight gives its columns in another order; singular values do not depend on it,
    and a gradient written through the same view lands where it belongs.
    """
    if weight.ndim == 4 and not weight.is_contiguous():
        weight = weight.permute(0, 2, 3, 1)
    return weight.view(weight.shape[0], -1)


def _short_side_first(matrix: Tensor) -> Tensor:
    return matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T


def _gram(matrix: Tensor) -> Tensor:
    """Return the lower triangle of M Mᵀ in float64, block by block, without a float64 copy of M."""
    rows, columns = matrix.shape
    gram = torch.zeros(rows, rows, dtype=torch.float64, device=matrix.device)
    for left in range(0, columns, _COLUMNS):
        block = matrix[:, left : left + _COLUMNS].double()
        for top in range(0, rows, _ROWS):
            bottom = top + _ROWS
            gram[top:bottom, :bottom].addmm_(block[top:bottom], block[:bottom].T)
    if not bool(torch.isfinite(gram.diagonal().sum())):
        raise NonFiniteError(f"a {rows}×{columns} weight matrix holds NaN or infinite entries; it has no spectrum")
    return gram


def singular_values(matrix: Tensor) -> Tensor:
    """Return the singular values in ascending order (float64), those below the cutoff as zero."""
    return _from_eigenvalues(torch.linalg.eigvalsh(_gram(_short_side_first(matrix))))


def _from_eigenvalues(eigenvalues: Tensor) -> Tensor:
    values = eigenvalues.clamp_min(0.0).sqrt()
    return torch.where(values > RELATIVE_CUTOFF * values[-1], values, 0.0)


def spectral_map(matrix: Tensor, multiplier: Callable[[Tensor], Tensor], out: Tensor) -> Tensor:
    """Write U diag(h(σ) σ) Vᵀ into `out`, which must not share memory with `matrix`, and return σ.

    `multiplier` is h on the singular values (float64, ascending); h = 0 is imposed where σ = 0.
    """
    source, target = _short_side_first(matrix), _short_side_first(out)
    eigenvalues, basis = torch.linalg.eigh(_gram(source))
    values = _from_eigenvalues(eigenvalues)
    kept = values > 0
    factors = torch.where(kept, multiplier(torch.where(kept, values, 1.0)), 0.0)
    if not bool(factors.any()):
        target.zero_()
        return values
    amplification = float(factors.max() * values.max() / (factors * values).max())
    if amplification > _SAFE_AMPLIFICATION:
        product = _product(basis, factors)
        for start in range(0, source.shape[1], _COLUMNS):
            block = source[:, start : start + _COLUMNS].double()
            target[:, start : start + _COLUMNS] = product(block, torch.empty_like(block))
    else:
        _product(basis.to(source.dtype), factors.to(source.dtype))(source, target)
    return values


def _product(basis: Tensor, factors: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the map M ↦ B diag(h) Bᵀ M, through the columns of B with h ≠ 0 alone if those are few."""
    used = factors != 0
    if 2 * int(used.sum()) < len(factors):
        part = basis[:, used]
        scaled = part * factors[used]
        return lambda source, out: torch.mm(scaled, part.T @ source, out=out)
    whole = (basis * factors) @ basis.T
    return lambda source, out: torch.mm(whole, source, out=out)
