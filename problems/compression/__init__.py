"""Compression of neural networks: the problem, its data, networks, penalties and pruning."""

from .problem import Compression
from .step_progress import StepProgress

__all__ = ["Compression", "StepProgress"]
