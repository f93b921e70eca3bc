"""The problems: one file or folder per family, found because it is there."""

from mobench.core.about import Reference

PAPER = Reference(
    "D. Varam and M. I. AlHajri",
    "Not All Objectives Are Born Equal: Priority-Constrained Descent for Hierarchical Multi-Objective Optimization",
    year=2026,
)
"""The experiments of this paper are where the problems come from."""
