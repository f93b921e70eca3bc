"""Work on many layers side by side: a core for each, instead of all cores for one after the other.

A factorisation of a few hundred rows gains little from a second core; two of them gain a whole one.
Every layer is then computed by a single thread, so the results do not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import torch
from torch import Tensor

from mobench.core.device_path import as_on_cpu

Result = TypeVar("Result")


def for_each_layer(function: Callable[[int, Tensor], Result], weights: Mapping[int, Tensor]) -> list[Result]:
    """Return `function(index, weight)` of every entry, in their order; on the CPU all cores share the entries.

    They are as many as torch's threads, which the function itself is left one of.
    """
    threads = torch.get_num_threads()
    if threads == 1 or not all(as_on_cpu(weight.device) for weight in weights.values()):
        return [function(index, weight) for index, weight in weights.items()]
    largest_first = sorted(weights, key=lambda index: weights[index].numel(), reverse=True)
    torch.set_num_threads(1)
    try:
        under_way = {index: _pool(threads).submit(function, index, weights[index]) for index in largest_first}
        return [under_way[index].result() for index in weights]
    finally:
        torch.set_num_threads(threads)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Return threads that each use one core; they are kept, because new ones would cost more than small layers."""
    return ThreadPoolExecutor(threads, "mobench-layer", initializer=torch.set_num_threads, initargs=(1,))
