"""A program that saves large records as fast as it can: `saver.py ROOT COUNT`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from mobench.store.folder import Store
from tests.running import trainers
from tests.running.records import make_record

if __name__ == "__main__":
    store = Store(Path(sys.argv[1]))
    todo = store.pending(trainers.specs(int(sys.argv[2])))
    print("ready", flush=True)
    for spec in todo:
        curve = [0.123456789 * index for index in range(20_000)]
        store.save(make_record(spec, replace(trainers.outcome(spec), history={"losses": curve})))
