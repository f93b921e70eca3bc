"""What a bundle may be at most. A bundle is a stranger's file: every size is bounded before it is used."""

from __future__ import annotations

import re

COMPRESSED_BYTES = 8 * 2**20
"""Size of the file. A pull request should not make a repository heavy."""
UNPACKED_BYTES = 64 * 2**20
"""Size of the text inside; unpacking stops there."""
MANIFEST_BYTES = 2 * 2**20
"""Length of the first line."""
RECORD_BYTES = 128 * 2**10
"""Length of every other line."""
RECORDS = 20_000
SUITES = 32
METHODS = 16
SWEEP = 1_000
"""Configurations of one method on one suite."""
ENVIRONMENTS = 64
DEPTH = 12
"""Nesting of lists and mappings."""
ENTRIES = 256
"""Entries of a mapping or list inside a record."""
CURVE_POINTS = 128
TEXT = 1_000
"""Characters of any text but the ones below."""
BY = 100
CONTACT = 200
NOTES = 1_000
SOURCE = 200_000
"""Characters of a plugin's source."""
LARGEST = 1e150
"""Magnitude of any number: the square of a larger one, as a variance takes it, is no longer finite."""
WHOLE = 2**53
"""Magnitude of whole numbers: beyond, a float does not hold them."""

SUFFIX = ".jsonl.gz"
METHOD_NAME = re.compile(r"(?=.{1,32}\Z)[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
PROBLEM_ID = re.compile(r"(?=.{1,64}\Z)[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*@[1-9][0-9]{0,3}")
SUITE_NAME = re.compile(r"(?=.{1,64}\Z)[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)*")
SETTING_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
METRIC_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}(?:[/@][A-Za-z0-9_.-]{1,63})?")
TIMING_NAME = re.compile(
    r"seconds|seconds_per_step|method_seconds_per_step|steps|runs_in_lockstep|[a-z_]{1,40}_(?:ms|seconds)(?:@[a-z0-9.]{1,10})?"
)
"""A timing has its unit in its name, so that none can pass for a metric, which is checked more strictly."""
DIGEST = re.compile(r"[0-9a-f]{64}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:\+00:00|Z)")
