"""Physics-informed networks: a small network that solves a differential equation, with each condition an objective."""

from . import burgers, helmholtz, kovasznay, schroedinger

__all__ = ["burgers", "helmholtz", "kovasznay", "schroedinger"]
