"""Answers of several networks to the same images, where those that begin alike compute the beginning once.

Networks pruned from one network often have its first layers unchanged: those have few parameters, and most of the
arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn


class SharedStart:
    """Networks as a tree of their layers: a path from the root to a leaf for each."""

    def __init__(self, networks: Iterable[nn.Module]) -> None:
        self._root = _Node()
        for number, network in enumerate(networks):
            self._root.insert(_layers(network.eval()), number)

    def __call__(self, images: Tensor) -> list[Tensor]:
        """Return what each network answers, to the last bit what it answers by itself."""
        found: dict[int, Tensor] = {}
        self._root.collect(images, found)
        return [found[number] for number in sorted(found)]


class _Node:
    """What follows the same first layers: other layers, or the end of networks."""

    def __init__(self) -> None:
        self._branches: list[tuple[nn.Module, _Node]] = []
        self._ends: list[int] = []

    def insert(self, layers: Sequence[nn.Module], number: int) -> None:
        if layers:
            self._after(layers[0]).insert(layers[1:], number)
        else:
            self._ends.append(number)

    def _after(self, layer: nn.Module) -> _Node:
        """Return what follows a layer like this one, beginning a branch where there is none."""
        for other, node in self._branches:
            if _alike(other, layer):
                return node
        self._branches.append((layer, node := _Node()))
        return node

    def collect(self, values: Tensor, found: dict[int, Tensor]) -> None:
        """Put the answers of all networks that end below into `found`.

        Copies of one network differ in layers with parameters only, and none of these writes to what it is given.
        """
        found.update(dict.fromkeys(self._ends, values))
        version = values._version
        for layer, node in self._branches:
            assert values._version == version, "a layer has changed what the next network reads"
            node.collect(layer(values), found)


def _layers(network: nn.Module) -> list[nn.Module]:
    """Return what a network applies one after another: itself, if it is not a plain sequence."""
    return list(network) if type(network) is nn.Sequential else [network]


def _alike(one: nn.Module, other: nn.Module) -> bool:
    """Say whether two layers do the same arithmetic on the same numbers."""
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=False)
    return str(one) == str(other) and all(_same(*pair) for pair in pairs)


def _same(one: Tensor, other: Tensor) -> bool:
    return one.stride() == other.stride() and torch.equal(one, other)
