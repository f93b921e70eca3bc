"""One battery of properties for every method and every problem, ours or yours.

`check_method` and `check_problem` take a class and return findings. A *required* property that does
not hold makes the plugin non-conforming; a *measured* one describes it.
"""

from mobench.conformance.battery import check_method, check_problem
from mobench.conformance.finding import Finding, conforms

__all__ = ["Finding", "check_method", "check_problem", "conforms"]
