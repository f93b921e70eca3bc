"""A program that runs many small runs, and whenever it was stopped resumes at a word on its input.

Usage: `script.py ROOT COUNT`.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from mobench.running.executor import execute
from mobench.store.folder import Store
from tests.running import trainers


def main(root: Path, count: int) -> None:
    # What is in place outside of `execute`; a shell may also have told us to ignore Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: None)
    store = Store(root)
    print("ready", flush=True)
    for _ in sys.stdin:
        groups = [[spec] for spec in store.pending(trainers.counted(root, count))]
        tally = execute(groups, store, jobs=2, train=trainers.train_slowly)
        print(f"failed={tally.failed} interrupted={tally.interrupted} signal={tally.signal}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
