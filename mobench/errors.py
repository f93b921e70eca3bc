"""Errors a person can act on: what was given, what is accepted, the nearest spelling."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """A mistake in the input. The command line prints the message alone and exits with 2."""


class NonFiniteError(ValueError):
    """A loss, gradient or weight is NaN or infinite; the message says which and where."""


class MethodError(RuntimeError):
    """A method broke its contract, e.g. by returning the wrong number of weights."""


def unknown(kind: str, given: str, accepted: Iterable[str]) -> UserError:
    """Build the error for a name that is not among the accepted ones."""
    names = sorted(accepted)
    nearest = get_close_matches(given, names, n=1, cutoff=0.5)
    hint = f" Did you mean '{nearest[0]}'?" if nearest else ""
    listing = ", ".join(names) if names else "none"
    return UserError(f"unknown {kind} '{given}'.{hint} Accepted: {listing}")
