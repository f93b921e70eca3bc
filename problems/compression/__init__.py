"""Compression of neural networks: the problem, its data, networks, penalties and pruning."""

from .problem import Compression
from .version_1 import FirstCompression

__all__ = ["Compression", "FirstCompression"]
