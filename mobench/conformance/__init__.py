"""One battery of properties for every method and every problem, ours or yours.

`check_method` and `check_problem` take a class and return findings. A *required* property that does
not hold makes the plugin non-conforming; a *measured* one describes it. They load torch when they are asked for;
whoever only reads findings needs none.
"""

from typing import TYPE_CHECKING, Any

from mobench.conformance.finding import Finding, conforms

if TYPE_CHECKING:
    from mobench.conformance.battery import check_method, check_problem

__all__ = ["Finding", "check_method", "check_problem", "conforms"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mobench.conformance import battery

    return getattr(battery, name)
