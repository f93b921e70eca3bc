"""Hypervolume in the paper's form, drawn like the one in frozen bounds."""

from __future__ import annotations

from mobench.core.registry import register

from .hypervolume import Hypervolume


@register
class PaperHypervolume(Hypervolume):
    """Hypervolume in the paper's form."""

    name = "paper-hypervolume"
    form = "paper"
