"""Names of files and pages, made of names that strangers may have chosen."""

from __future__ import annotations

import hashlib
import re

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_PROBLEM = re.compile(r"([a-z0-9][a-z0-9_-]{0,50})@([0-9]{1,6})")


def file_stem(name: str) -> str:
    """Return a name as a stem that is safe in a path, in a URL and in markup, and different for different names.

    `pcd` stays as it is, `two-wells@1` becomes `two-wells.v1`. Whatever else is in a name is replaced, and
    the start of its hash keeps names apart that would then be equal.
    """
    if _PLAIN.fullmatch(name):
        return name
    if problem := _PROBLEM.fullmatch(name):
        return f"{problem[1]}.v{problem[2]}"
    kept = re.sub(r"[^a-z0-9]+", "-", name.lower())[:40].strip("-")
    return f"{kept or 'name'}.{hashlib.sha256(name.encode()).hexdigest()[:10]}"


def suite_stem(suite: str, profile: str, differs: str = "") -> str:
    """Return the stem of everything that belongs to a suite under a profile, or to an experiment that differs."""
    return ".".join(file_stem(name) for name in (suite, profile, differs) if name)
