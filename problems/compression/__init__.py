"""Compression of neural networks: the problem, its data, networks, penalties and pruning."""

from .problem import Compression

__all__ = ["Compression"]
