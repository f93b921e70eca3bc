"""gzip with one spelling, unpacked in bounded steps.

A single compressed stream has no entries with names, so no path, link or duplicate can be hidden in it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from mobench.submissions import limits
from mobench.submissions.text import RefusedError

_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
"""gzip without name, time or system."""
_CHUNK = 2**18
PLACE = "the file"


def pack(text: bytes) -> bytes:
    """Return gzip over `text`; equal texts give equal bytes (with one zlib)."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(text) + deflate.flush()
    return _HEADER + body + zlib.crc32(text).to_bytes(4, "little") + len(text).to_bytes(4, "little")


def unpack_lines(packed: bytes) -> Iterator[bytes]:
    """Yield the lines inside, without their ends; never more than the limits are in memory."""
    if len(packed) > limits.COMPRESSED_BYTES:
        raise RefusedError(PLACE, f"it is larger than {limits.COMPRESSED_BYTES:,} bytes")
    if packed[: len(_HEADER)] != _HEADER:
        raise RefusedError(PLACE, "it is not a bundle: it does not start like gzip as mobench writes it")
    rest, first = b"", True
    for chunk in _chunks(packed):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in [*lines, *([rest] if len(rest) > limits.MANIFEST_BYTES else [])]:
            limit = limits.MANIFEST_BYTES if first else limits.RECORD_BYTES
            if len(line) > limit:
                raise RefusedError(PLACE, f"a line is longer than {limit:,} bytes")
            first = False
            yield line
    if rest:
        raise RefusedError(PLACE, "its last line is cut")


def _chunks(packed: bytes) -> Iterator[bytes]:
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    total, waiting = 0, packed
    while not inflate.eof:
        try:
            chunk = inflate.decompress(waiting, _CHUNK)
        except zlib.error:
            raise RefusedError(PLACE, "it is damaged: it cannot be unpacked") from None
        if not chunk and not inflate.eof and not inflate.unconsumed_tail:
            raise RefusedError(PLACE, "it is cut: its end is missing")
        waiting = inflate.unconsumed_tail
        total += len(chunk)
        if total > limits.UNPACKED_BYTES:
            raise RefusedError(PLACE, f"it unpacks to more than {limits.UNPACKED_BYTES:,} bytes")
        yield chunk
    if inflate.unused_data:
        raise RefusedError(PLACE, "something follows after its end")
