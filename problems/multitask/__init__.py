"""Several tasks on the same inputs: a trunk that all share, and a head for each."""

from . import celeba, regression, two_digits

__all__ = ["celeba", "regression", "two_digits"]
