"""A worker keeps memory that torch frees, and gives it back when it is told to."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from mobench.running.heap import keep_freed_memory, without_collection

PROGRAM = """
import resource
import torch
from mobench.running.heap import give_back_freed_memory, keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        torch.ones(10_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

torch.ones(1_000)
print(faults())
keep_freed_memory()
faults()
print(faults())
held = resident()
give_back_freed_memory()
print(held - resident())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator")
def test_freed_memory_is_used_again_and_given_back() -> None:
    if not keep_freed_memory_elsewhere():
        pytest.skip("another C library")
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=300)
    usual, kept, given_back = map(int, ended.stdout.split())
    assert kept < usual / 10  # all pages of 40 MB are new twenty times, or none
    assert given_back > 30_000_000


def keep_freed_memory_elsewhere() -> bool:
    """Ask in another process: the setting cannot be taken back."""
    code = (
        f"import sys; from {keep_freed_memory.__module__} import keep_freed_memory; sys.exit(not keep_freed_memory())"
    )
    return subprocess.run([sys.executable, "-c", code], timeout=300).returncode == 0


@pytest.mark.parametrize("was_on", [True, False])
def test_collection_is_as_it_was_afterwards(was_on: bool) -> None:
    before = gc.isenabled()
    try:
        gc.enable() if was_on else gc.disable()
        with pytest.raises(KeyError), without_collection():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() == was_on
    finally:
        gc.enable() if before else gc.disable()
