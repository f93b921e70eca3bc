"""What plots are made of."""

from mobench.scoring.suite_results import SuiteResults as Source

__all__ = ["Source"]
