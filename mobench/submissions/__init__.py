"""Submissions: results of a method as one portable file, and what is checked before they are shown."""

from __future__ import annotations

from mobench.submissions.accepted import BundleError
from mobench.submissions.bundle import Bundle
from mobench.submissions.bundle_file import encode_bundle, find_bundles, parse_bundle, read_bundle
from mobench.submissions.completeness import incomplete
from mobench.submissions.plausibility import implausible

__all__ = ["Bundle", "BundleError", "encode_bundle", "find_bundles", "findings", "parse_bundle", "read_bundle"]


def findings(bundle: Bundle) -> list[str]:
    """Return what is wrong with a well-formed bundle without running anything: empty if all is in order."""
    return incomplete(bundle) + implausible(bundle)
