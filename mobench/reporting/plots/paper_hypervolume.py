"""Hypervolume in the paper's form, drawn like the one in frozen bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mobench.core.registry import register
from mobench.scoring.volumes import PAPER

from .hypervolume import Hypervolume

if TYPE_CHECKING:
    from mobench.core.plot import PlotResults


@register
class PaperHypervolume(Hypervolume):
    """Hypervolume in the paper's form."""

    name = "paper-hypervolume"

    def data(self, results: PlotResults, *, form: str = PAPER) -> pd.DataFrame:
        return super().data(results, form=form)
