"""Submissions: results of a method as one portable file, and what is checked before they are shown."""

from __future__ import annotations

from mobench.submissions.completeness import incomplete
from mobench.submissions.form import Bundle, SubmittedMethod, SubmittedSuite
from mobench.submissions.plausibility import implausible
from mobench.submissions.reading import find_bundles, parse_bundle, read_bundle
from mobench.submissions.text import BundleError
from mobench.submissions.writing import encode_bundle

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
