"""From a `Bundle` to bytes. Equal bundles give equal bytes: nothing of the moment or the machine is added."""

from __future__ import annotations

import hashlib
from dataclasses import asdict

from mobench.submissions.form import Bundle
from mobench.submissions.manifest import manifest_as_json
from mobench.submissions.packing import pack
from mobench.submissions.runs import run_as_json
from mobench.submissions.text import spell


def encode_bundle(bundle: Bundle) -> bytes:
    """Return the file's content."""
    environments = {spell(asdict(environment)): number for number, environment in enumerate(bundle.environments)}
    members: dict[str, list[int]] = {record.id: [] for record in bundle.records}
    for number, suite in enumerate(bundle.suites):
        for id_ in suite.runs:
            members[id_].append(number)
    lines = [
        spell(run_as_json(record, environments[spell(asdict(record.environment))], members[record.id])) + b"\n"
        for record in bundle.records
    ]
    runs = b"".join(lines)
    manifest = manifest_as_json(bundle, hashlib.sha256(runs).hexdigest())
    return pack(spell(manifest) + b"\n" + runs)
