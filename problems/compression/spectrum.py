"""Singular values and spectral maps of weights through the small side's Gram matrix.

A weight is read as the matrix W ∈ R^{C_out × (C_in·k·k)}. With W = U S Vᵀ and W on its short side,
W Wᵀ = U S² Uᵀ, so one symmetric eigen-decomposition gives everything that depends on U and S alone:

    U h(S) Uᵀ W = U (h(S) S) Vᵀ.

The Gram matrix is taken in float64: squaring halves the number of digits, and 16 digits leave
singular values correct down to about 1e-8 of the largest. Those below `RELATIVE_CUTOFF` are the
rounding of float32 weights and count as zero.

On a CPU one matrix is taken at a time. A device takes layers × rows × columns, weights of one shape at once, and
decomposes all layers of one short side in one call; a CPU takes one layer of several networks in this way. Nothing that
is computed is then looked at. What a device's solver cannot decompose, though it is finite, the CPU decomposes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from mobench.core.device_path import as_on_cpu, require_one_device
from mobench.errors import NonFiniteError

RELATIVE_CUTOFF = 1e-6
"""Singular values up to this fraction of the largest are zero."""

_SAFE_AMPLIFICATION = 1e3
"""Up to this amplification of rounding errors, a float32 product keeps four digits."""

_COLUMNS = 512
_ROWS = 64
_ALIGNED = 8
_NUMBERS_ON_DEVICES = 2**23
"""How many numbers are at a time copied to float64."""

_SOLVERS = ("cusolver", "magma", "hipsolver", "rocsolver")
"""What names itself in an error of a device's decomposition that torch does not raise as a `LinAlgError`."""

Found = TypeVar("Found", Tensor, tuple[Tensor, Tensor])
Multiplier = Callable[[Tensor], Tensor]
"""The function h on singular values in float64."""


@dataclass
class OnCpu:
    """How many decompositions a device could not do and the CPU did."""

    count: int = 0


class Spectrum(NamedTuple):
    """Singular values in ascending order (float64), those below the cutoff as zero, and the short side's basis U."""

    values: Tensor
    basis: Tensor


class Factor(NamedTuple):
    """The map M ↦ L M, or M ↦ L R M where R is there; zero where L is not."""

    left: Tensor | None
    right: Tensor | None = None

    def write(self, matrix: Tensor, out: Tensor) -> None:
        """Write the map of `matrix`, or of layers of them, into `out`, which may be the matrix itself."""
        require_one_device(matrix, out)
        source, target = _short_side_first(matrix), _short_side_first(out)
        if self.left is None:
            target.zero_()
        elif self.left.dtype == source.dtype:
            block = source if self.right is None else self.right @ source
            if out is matrix:
                target.copy_(self.left @ block)
            else:
                torch.matmul(self.left, block, out=target)
        else:
            rows = source.shape[-2]
            left = self.left if self.right is not None else self.left[..., :rows, :rows]
            for part in _parts(source):
                block = source[..., part].double()
                target[..., part] = _product(left, block if self.right is None else self.right @ block)

    def divided(self, matrices: Sequence[Tensor]) -> list[Factor]:
        """Return the factor of each of the matrices that were decomposed together."""
        if self.left is None or len(matrices) == 1:
            return [self]
        return [Factor(left) for left in torch.split(self.left, [len(matrix) for matrix in matrices])]


def factor_on(device: torch.device, parts: Iterable[Tensor | None]) -> Factor:
    """Return a factor of these parts on `device`."""
    return Factor(*(None if part is None else part.to(device) for part in parts))


def _product(left: Tensor, right: Tensor) -> Tensor:
    """Return the matrix product; of layers of them by one call, where `@` takes six."""
    return torch.bmm(left, right) if left.ndim == 3 else left @ right


def _short_side_first(matrix: Tensor) -> Tensor:
    return matrix if matrix.shape[-2] <= matrix.shape[-1] else matrix.mT


def _parts(matrix: Tensor) -> Iterator[slice]:
    """Yield slices of columns that are few enough to be copied."""
    columns = matrix.shape[-1]
    width = _COLUMNS if as_on_cpu(matrix.device) else max(1, _NUMBERS_ON_DEVICES * columns // matrix.numel())
    for start in range(0, columns, width):
        yield slice(start, start + width)


def _gram(matrix: Tensor) -> Tensor:
    """Return M Mᵀ in float64, its lower triangle at least, without a float64 copy of M."""
    rows, columns = matrix.shape[-2:]
    if matrix.ndim > 2 or not as_on_cpu(matrix.device):
        return _gram_of_several(matrix)
    gram = torch.zeros(rows, rows, dtype=torch.float64)
    for part in _parts(matrix):
        block = matrix[:, part].double()
        for top in range(0, rows, _ROWS):
            bottom = top + _ROWS
            gram[top:bottom, :bottom].addmm_(block[top:bottom], block[:bottom].T)
    if not bool(torch.isfinite(gram.diagonal().sum())):
        raise _no_spectrum(rows, columns)
    return gram


def _gram_of_several(matrix: Tensor) -> Tensor:
    """Return M Mᵀ of each matrix; on a CPU with rows of zeros, so that each result begins at a multiple of 64 bytes.

    BLAS and LAPACK round differently at other addresses. Zeros add singular values of zero, which count for nothing.
    """
    missing = -matrix.shape[-2] % _ALIGNED if as_on_cpu(matrix.device) else 0
    gram: Tensor | None = None
    for part in _parts(matrix):
        block = matrix[..., part].double()
        block = torch.nn.functional.pad(block, (0, 0, 0, missing)) if missing else block
        product = _product(block, block.mT)
        gram = product if gram is None else gram.add_(product)
    assert gram is not None
    return gram


def _no_spectrum(rows: int, columns: int) -> NonFiniteError:
    return NonFiniteError(f"a {rows}×{columns} weight matrix holds NaN or infinite entries; it has no spectrum")


def _grams(matrices: Sequence[Tensor]) -> Tensor:
    grams = [_gram(_short_side_first(matrix)) for matrix in matrices]
    return grams[0] if len(grams) == 1 else torch.cat(grams)


def singular_values(matrices: Sequence[Tensor]) -> Tensor:
    """Return the singular values in ascending order (float64), those below the cutoff as zero."""
    return _from_eigenvalues(_decomposed(torch.linalg.eigvalsh, matrices, OnCpu()))


def _decomposed(function: Callable[[Tensor], Found], matrices: Sequence[Tensor], on_cpu: OnCpu) -> Found:
    """Return a decomposition of the Gram matrices; where a device's solver fails on finite numbers, the CPU's.

    A matrix that is not finite raises. So does every other error of a device: memory, or a fault that stays.
    """
    grams = _grams(matrices)
    try:
        return function(grams)
    except RuntimeError as error:
        words = str(error)
        if not (isinstance(error, torch.linalg.LinAlgError) or any(name in words.lower() for name in _SOLVERS)):  # type: ignore[attr-defined]
            raise
        if not bool(torch.isfinite(grams).all()):
            raise _no_spectrum(*matrices[0].shape[-2:]) from None
        if as_on_cpu(grams.device):
            raise
    warnings.warn(
        "the device could not decompose a weight matrix of finite numbers, and the CPU does: "
        + words.partition("\n")[0],
        RuntimeWarning,
        stacklevel=1,
    )
    on_cpu.count += 1
    found = function(grams.cpu())
    if isinstance(found, Tensor):
        return found.to(grams.device)
    values, basis = found
    return values.to(grams.device), basis.to(grams.device)


def without_rounding(values: Tensor) -> Tensor:
    """Return ascending singular values with those below the cutoff as zero."""
    return torch.where(values > RELATIVE_CUTOFF * values[..., -1:], values, 0.0)


def _from_eigenvalues(eigenvalues: Tensor) -> Tensor:
    return without_rounding(eigenvalues.clamp_min(0.0).sqrt())


def decompose(matrices: Sequence[Tensor], on_cpu: OnCpu | None = None) -> Spectrum:
    """Return the spectrum of one matrix, or of all layers of several stacks that have a short side in common.

    `on_cpu` counts what the device could not do.
    """
    eigenvalues, basis = _decomposed(torch.linalg.eigh, matrices, on_cpu or OnCpu())
    return Spectrum(_from_eigenvalues(eigenvalues), basis)


class Spectra(NamedTuple):
    """Spectra of several layers of B networks, whose singular values are treated in one go."""

    values: Tensor
    """Layers × B × the longest short side, as in `Spectrum`, with zeros in front of shorter ones."""
    bases: Sequence[Tensor]

    def norms(self) -> Tensor:
        """Return the sum of the singular values (layers × B)."""
        pairs = zip(self.values, self.bases, strict=True)
        return torch.stack([values[:, -basis.shape[-1] :].sum(-1) for values, basis in pairs])

    def factors(self, multiplier: Multiplier) -> list[Factor]:
        """Return for each layer the map M ↦ U h(S) Uᵀ M in float64, with h = 0 where σ = 0."""
        kept = self.values > 0
        found = torch.where(kept, multiplier(torch.where(kept, self.values, 1.0)), 0.0).unsqueeze(-2)
        pairs = zip(found, self.bases, strict=True)
        return [Factor(_product(basis * part[..., -basis.shape[-1] :], basis.mT)) for part, basis in pairs]


def decompose_each(layers: Sequence[Tensor]) -> Spectra:
    """Return the spectra of layers (B × rows × columns each) of any shapes."""
    found = [torch.linalg.eigh(_gram(_short_side_first(layer))) for layer in layers]
    longest = max(basis.shape[-1] for _, basis in found)
    eigenvalues = torch.zeros(len(layers), len(layers[0]), longest, dtype=torch.float64)
    for row, (values, _) in zip(eigenvalues, found, strict=True):
        row[:, -values.shape[-1] :] = values
    return Spectra(_from_eigenvalues(eigenvalues), [basis for _, basis in found])


def spectral_factor(spectrum: Spectrum, multiplier: Multiplier, dtype: torch.dtype) -> Factor:
    """Return the map M ↦ U h(S) Uᵀ M, with h = 0 where σ = 0.

    On a CPU it is in `dtype` if the products keep enough digits, and through the columns with h ≠ 0 alone if
    those are few. Elsewhere one would have to wait for the numbers that decide it, and it is in float64.
    """
    values, basis = spectrum
    kept = values > 0
    factors = torch.where(kept, multiplier(torch.where(kept, values, 1.0)), 0.0)
    if values.ndim > 1 or not as_on_cpu(values.device):
        return Factor(_product(basis * factors.unsqueeze(-2), basis.mT))
    highest = (factors * values).max().item()
    if highest == 0.0:
        return Factor(None)
    if (factors.max() * values.max()).item() <= _SAFE_AMPLIFICATION * highest:
        basis, factors = basis.to(dtype), factors.to(dtype)
    used = factors != 0
    if 2 * int(used.sum()) < len(factors):
        part = basis[:, used]
        return Factor(part * factors[used], part.T)
    return Factor((basis * factors) @ basis.T)
