"""Classical test problems with known fronts: ZDT, DTLZ and two engineering problems, in boxes."""

from . import dtlz, engineering, zdt

__all__ = ["dtlz", "engineering", "zdt"]
