"""Several tasks on the same inputs: a trunk that all share, and a head for each."""

from . import regression, two_digits

__all__ = ["regression", "two_digits"]
