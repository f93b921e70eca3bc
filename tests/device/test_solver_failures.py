"""What a device's solver cannot decompose, though it is finite, the CPU does; everything else is raised as it is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from mobench.core.outcome import Outcome
from mobench.errors import NonFiniteError
from mobench.problems.compression.spectrum import decompose, singular_values
from mobench.training.checkpoint import save_checkpoint
from mobench.training.loop import Group, _resumed, train
from tests.device.pretended_cuda import PretendedCuda
from tests.problems.compression.runs import few_steps, machine, spec

RUN = spec("pcd", training=few_steps(3), penalty="l1-nuclear", batch_size=8)
BUSY = "cusolver error: CUSOLVER_STATUS_EXECUTION_FAILED, when calling `cusolverDnXsyevBatched(...)`.\nSee the log."
SLOW = "linalg.eigh: (Batch element 2): The algorithm failed to converge because the input matrix is ill-conditioned"
FAILURES = [torch.linalg.LinAlgError(SLOW), torch.linalg.LinAlgError(BUSY), RuntimeError(BUSY)]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """Let decompositions fail on the device."""

    def fail(error: Exception) -> None:
        for name in ("eigh", "eigvalsh"):
            monkeypatch.setattr(torch.linalg, name, failing_on_the_device(getattr(torch.linalg, name), error))

    return fail


def failing_on_the_device(real: Callable[[torch.Tensor], Any], error: Exception) -> Callable[[torch.Tensor], Any]:
    def decomposed(matrix: torch.Tensor) -> Any:
        if matrix.device.type == "cuda":
            raise error
        return real(matrix)

    return decomposed


def outcome_of(group: Group) -> Outcome:
    (member,) = group.members
    assert member.error is None, member.error
    return group.outcome(member)


@pytest.mark.parametrize("error", FAILURES[:1], ids=lambda error: type(error).__name__)
def test_finite_matrices_are_decomposed_by_the_cpu_and_counted(
    error: Exception, device: PretendedCuda, failing: Callable[[Exception], None]
) -> None:
    with machine(device="cuda"):
        (expected,) = train([RUN])
        failing(error)
        with pytest.warns(RuntimeWarning, match="the CPU does: (cusolver error|linalg.eigh)") as told:
            (found,) = train([RUN])
    assert (found.status, found.metrics) == ("done", pytest.approx(expected.metrics, rel=1e-3, abs=1e-3))
    families = 3  # of the digits' network
    assert found.diagnostics["fallback_eigen"] == {"mean": families, "total": 3.0 * families}
    assert "fallback_eigen" not in expected.diagnostics
    assert all("\n" not in str(warning.message) for warning in told)


def test_it_is_said_once(device: PretendedCuda, failing: Callable[[Exception], None]) -> None:
    failing(FAILURES[0])
    with machine(device="cuda"), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        Group([RUN]).run(None, 1e9)
    assert len(told) == 1


def test_the_count_survives_a_checkpoint(
    device: PretendedCuda, failing: Callable[[Exception], None], tmp_path: Path
) -> None:
    failing(FAILURES[0])
    with machine(device="cuda"), pytest.warns(RuntimeWarning, match="the CPU does"):
        group = Group([RUN])
        group.total = 2
        group.run(None, 1e9)
        save_checkpoint(tmp_path / "state.pt", group.state_dict())
        again = _resumed(Group([RUN]), tmp_path / "state.pt")
        again.run(None, 1e9)
    assert again.workload.fallbacks(0) == {"eigen": 9}


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("function", [decompose, singular_values])
def test_a_matrix_that_is_not_finite_has_no_spectrum(
    function: Callable[[list[torch.Tensor]], object],
    error: Exception,
    device: PretendedCuda,
    failing: Callable[[Exception], None],
) -> None:
    failing(error)
    weights = torch.full((2, 3, 5), torch.nan, device="cuda")
    with pytest.raises(NonFiniteError, match="3×5 weight matrix holds NaN or infinite entries"):
        function([weights])


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB."),
        RuntimeError("CUDA error: an illegal memory access was encountered"),
    ],
)
def test_other_errors_of_a_device_are_not_caught(
    error: Exception, device: PretendedCuda, failing: Callable[[Exception], None]
) -> None:
    failing(error)
    with pytest.raises(type(error)) as raised:
        decompose([torch.ones(2, 3, 5, device="cuda")])
    assert raised.value is error
