"""What a worker makes of an error: memory that ran out, a device that failed, or the run's own doing."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mobench.methods.mgda import MGDA
from mobench.running.environment import environment
from mobench.running.job import Job, Lost
from mobench.running.worker import perform
from mobench.training.workload import VectorWorkload
from tests.running import trainers
from tests.running.cluster_runs import lockstep

Raise = Callable[[], object]


def says(message: str, kind: type[Exception] = RuntimeError) -> Raise:
    def fail() -> None:
        raise kind(message)

    return fail


def wrapped(by: str, cause: Raise) -> Raise:
    """Return what fails with an error of its own after another, as methods do that clean up."""

    def fail() -> None:
        try:
            cause()
        except Exception as error:
            raise ValueError(by) from error

    return fail


ADVICE = (
    "\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
    "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
NO_MEMORY: dict[str, Raise] = {
    "torch on the CPU": lambda: torch.empty(4 * 10**15),
    "numpy": lambda: np.empty(10**15),
    "Python": lambda: bytearray(10**16),
    "older torch on the CPU": says(
        "[enforce fail at alloc_cpu.cpp:114] data. DefaultCPUAllocator: not enough memory: you tried to allocate 16 GB."
    ),
    "C++": says("std::bad_alloc"),
    "C++ through pybind": says("std::bad_alloc", MemoryError),
    "the system": lambda: (_ for _ in ()).throw(OSError(errno.ENOMEM, "Cannot allocate memory")),
    "mmap": says("unable to mmap 4096 bytes from file </torch_1>: Cannot allocate memory (12)"),
    "torch's allocator": says(
        "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 39.38 GiB of which 3.31 MiB is "
        "free. Including non-PyTorch memory, this process has 39.36 GiB memory in use.",
        torch.OutOfMemoryError,
    ),
    "torch's limit": says("CUDA out of memory. Allocation was preemptively rejected because it would exceed ..."),
    "another allocator": says("CUDA ran out of memory outside PyTorch's allocator. If this workload uses many ..."),
    "the runtime": says(f"CUDA error: out of memory{ADVICE}", torch.AcceleratorError),
    "the runtime of older torch": says(f"CUDA error: out of memory{ADVICE}"),
    "the driver": says("CUDA driver error: out of memory"),
    "cuBLAS": says("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    "cuDNN": says("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    "cuDNN 9": says("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"),
    "cuDNN 9 on the host": says("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED"),
    "cuSOLVER": says("cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnCreate(handle)`"),
    "cuFFT": says("cuFFT error: CUFFT_ALLOC_FAILED"),
    "NVRTC": says("CUDA NVRTC error: NVRTC_ERROR_OUT_OF_MEMORY"),
    "ROCm": says("HIP out of memory. Tried to allocate 20.00 MiB.", torch.OutOfMemoryError),
    "Metal": says("MPS backend out of memory (MPS allocated: 17.94 GiB, other allocations: 1.02 GiB)"),
    "a method that raises its own": wrapped("no step is possible", says("CUDA error: out of memory")),
}
FAULTS: dict[str, Raise] = {
    "an assert": says(f"CUDA error: device-side assert triggered{ADVICE}", torch.AcceleratorError),
    "an assert in older torch": says(f"CUDA error: device-side assert triggered{ADVICE}"),
    "an address": says(f"CUDA error: an illegal memory access was encountered{ADVICE}", torch.AcceleratorError),
    "a launch": says(f"CUDA error: unspecified launch failure{ADVICE}", torch.AcceleratorError),
    "memory of the GPU": says(f"CUDA error: uncorrectable ECC error encountered{ADVICE}", torch.AcceleratorError),
    "an architecture": says(f"CUDA error: no kernel image is available for execution on the device{ADVICE}"),
    "a busy GPU": says(f"CUDA error: CUDA-capable device(s) is/are busy or unavailable{ADVICE}"),
    "the driver": says("CUDA driver error: unknown error"),
    "cuBLAS": says("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm( handle, opa, opb, m, n, k)`"),
    "cuBLAS at its start": says("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"),
    "cuDNN": says("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"),
    "cuSOLVER": says("cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnCreate(handle)`"),
    "cuFFT": says("cuFFT error: CUFFT_EXEC_FAILED"),
    "ROCm": says("HIP error: unspecified launch failure"),
    "a method that raises its own": wrapped("no step is possible", says("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED")),
}
OWN: dict[str, Raise] = {
    "a mistake": says("the replay memory is empty"),
    "a shape": lambda: torch.zeros(2) @ torch.zeros(3),
    "a matrix": lambda: torch.linalg.eigh(torch.full((3, 3), float("nan"))),
    "a matrix on a GPU": says(
        "cusolver error: CUSOLVER_STATUS_EXECUTION_FAILED, when calling `cusolverDnXsyevd`. This error may appear if "
        "the input matrix contains NaN.",
        torch._C._LinAlgError,
    ),
    "shared memory of a kernel": says("out of resource: shared memory, Required: 262144, Hardware limit: 101376"),
    "a device that was not asked for": says("Expected all tensors to be on the same device, but found cuda:0 and cpu!"),
    "words of a user": says("out of memory", ValueError),
}
CASES = [
    pytest.param(fail, cause, id=f"{cause}: {name}")
    for cause, errors in (("memory", NO_MEMORY), ("device", FAULTS), ("fault", OWN))
    for name, fail in errors.items()
]


@pytest.mark.parametrize(("fail", "cause"), CASES)
def test_blame(fail: Raise, cause: str, tmp_path: Path) -> None:
    job = Job((tuple(trainers.specs(2)),), tmp_path, lambda group, checkpoint: fail(), environment())  # type: ignore[arg-type, return-value]
    result = perform(job)
    assert isinstance(result, Lost) and result.cause == cause, result
    assert "Compile with" not in result.reason and "\n" not in result.reason


@pytest.mark.parametrize("where", ["weights", "weights_of_all", "observe", "metrics"])
@pytest.mark.parametrize(("message", "cause"), [("out of memory", "memory"), ("device-side assert", "device")])
def test_the_training_loop_books_no_such_error_as_failure_of_a_method(
    where: str, message: str, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise torch.AcceleratorError(f"CUDA error: {message}")

    monkeypatch.setattr(VectorWorkload if where == "metrics" else MGDA, where, fail)
    runs = lockstep(2 if where == "weights_of_all" else 1)
    result = perform(Job((tuple(runs),), tmp_path, "mobench.training.loop:train", environment()))
    assert isinstance(result, Lost) and result.cause == cause, result
