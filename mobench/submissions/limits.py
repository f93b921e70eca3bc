"""What a bundle may be at most. A bundle is a stranger's file: every size is bounded before it is used."""

from __future__ import annotations

COMPRESSED_BYTES = 8 * 2**20
"""Size of the file. A pull request should not make a repository heavy."""
UNPACKED_BYTES = 64 * 2**20
"""Size of the text inside; unpacking stops there."""
HEADER_BYTES = 2 * 2**20
"""Length of the first line."""
RECORD_BYTES = 128 * 2**10
"""Length of every other line."""
RECORDS = 20_000
SUITES = 32
METHODS = 64
SWEEP = 1_000
"""Configurations of one method on one suite."""
ENVIRONMENTS = 64
DEPTH = 12
"""Nesting of lists and mappings in the definition of a suite."""
ENTRIES = 256
"""Entries of a mapping or list inside a record."""
CURVE_POINTS = 128
CURVES = 16
"""Kinds of curves."""
OBJECTIVES = 64
"""Numbers of one sample of a curve."""
PICTURE_SIDE = 64
"""Rows, and columns, of a picture."""
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
