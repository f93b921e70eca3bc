"""Submissions: results of a method as one portable file, and what is checked before they are shown."""

from __future__ import annotations

from mobench.bundle.completeness import incomplete
from mobench.bundle.form import Bundle, SubmittedMethod, SubmittedSuite
from mobench.bundle.plausibility import implausible
from mobench.bundle.reading import find_bundles, parse_bundle, read_bundle
from mobench.bundle.text import BundleError
from mobench.bundle.writing import encode_bundle

__all__ = [
    "Bundle",
    "BundleError",
    "SubmittedMethod",
    "SubmittedSuite",
    "encode_bundle",
    "find_bundles",
    "findings",
    "parse_bundle",
    "read_bundle",
]


def findings(bundle: Bundle) -> list[str]:
    """Return what is wrong with a well-formed bundle without running anything: empty if all is in order."""
    return incomplete(bundle) + implausible(bundle)
