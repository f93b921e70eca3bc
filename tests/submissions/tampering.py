"""Open a bundle without mobench, change it, and seal it again with checksums that fit."""

import gzip
import hashlib
import json

from mobench.submissions.bundle_file import pack


def spell(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def opened(content):
    """Return the header and the runs."""
    header, *runs = map(json.loads, gzip.decompress(content).decode("ascii").splitlines())
    return header, runs


def sealed(header, runs):
    """Return a bundle whose counts and checksums fit, as a careful forger would."""
    lines = b"".join(spell(run) + b"\n" for run in runs)
    body = {key: value for key, value in header.items() if key != "checksum"}
    body["records"] = {"count": len(runs), "sha256": hashlib.sha256(lines).hexdigest()}
    return pack(spell({**body, "checksum": hashlib.sha256(spell(body)).hexdigest()}) + b"\n" + lines)


def renamed(run):
    """Return a run whose id is that of its changed spec."""
    return {**run, "id": hashlib.sha256(spell(run["spec"])).hexdigest()}


def in_order(runs):
    return sorted(runs, key=lambda run: run["id"])
