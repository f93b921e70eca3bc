"""Memory that a PCD step needs beyond plain Adam training, as a multiple of the parameters' size in float32.

    python -m benchmarks.memory [--network resnet-34] [--batch 2] [--k 2 3] [--json FILE]

Each contestant (see `contestants.py`) takes three steps in a process of its own. Every allocation and
release by torch's CPU allocator is recorded from the start on, temporary memory inside an operation
included, so the peak is exact and the same in every repetition; the extra memory is its difference to
that of plain training. The batch is small, because activations, which all contestants share, would
only hide the difference: with large batches plain training peaks before any gradient exists.

Beside it stands the process's resident peak (`VmHWM`), from separate runs without the recorder. It
also holds what malloc and the mathematics library keep for themselves, and varies by some tens of MB
from run to run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

STEPS = 3
LIMIT = 1.2
"""What mobench may need, in multiples of the parameters' size."""


def main() -> None:
    arguments = _arguments()
    if arguments.child:
        (k,) = arguments.k
        print(json.dumps(measure(arguments.child, arguments.network, arguments.batch, k, arguments.record)))
        return
    from benchmarks.contestants import CONTESTANTS

    base = _both("plain", arguments.network, arguments.batch, 2)
    size = base["parameter_bytes"]
    print(f"{arguments.network}, {size / 1e6:.1f} MB of parameters, batch {arguments.batch}, {STEPS} steps")
    print(f"plain Adam peaks at {base['allocated'] / size:.2f} × that; extra memory of a PCD step:")
    print(f"{'K':>2}  {'step':<16} {'allocated':>10} {'resident':>10} {'limit':>6}")
    rows = []
    for k in arguments.k:
        for name in CONTESTANTS:
            found = _both(name, arguments.network, arguments.batch, k)
            row = {"k": k, "step": name}
            row |= {kind: (found[kind] - base[kind]) / size for kind in ("allocated", "resident")}
            rows.append(row)
            limit = f"{LIMIT:.2f}" if name == "mobench" else ""
            print(f"{k:>2}  {name:<16} {row['allocated']:>8.2f} × {row['resident']:>8.2f} × {limit:>6}", flush=True)
    if arguments.json:
        described = {"network": arguments.network, "batch": arguments.batch, "parameter_bytes": size, "plain": base}
        arguments.json.write_text(json.dumps({**described, "rows": rows}, indent=2), encoding="utf-8")


def measure(name: str, network: str, batch: int, k: int, record: bool) -> dict[str, Any]:
    """Take a few steps in this process and return the peak of its memory in bytes."""
    import torch

    from benchmarks.contestants import CONTESTANTS, Subject, plain

    def run() -> Subject:
        # Only mobench keeps penalties between steps; the group lasso of the others stores next to nothing.
        subject = Subject(network, batch, k if name == "mobench" else 2)
        take = plain(subject, k) if name == "plain" else CONTESTANTS[name](subject, k)
        for _ in range(STEPS):
            take()
        return subject

    torch.set_num_threads(1)
    if record:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
            subject = run()
        return {"allocated": _highest(profiler), "parameter_bytes": 4 * subject.size}
    run()
    return {"resident": _resident_peak()}


def _highest(profiler: Any) -> int:
    """Return the most bytes that were allocated at one time."""
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    live = highest = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        live += event.nbytes()
        highest = max(highest, live)
    return highest


def _resident_peak() -> int:
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    raise OSError("this system does not tell a process's resident peak")


def _both(name: str, network: str, batch: int, k: int) -> dict[str, Any]:
    """Measure in two fresh processes: with the recorder, and without for the resident peak."""
    found: dict[str, Any] = {}
    for extra in (["--record"], []):
        command = [sys.executable, "-m", "benchmarks.memory", "--child", name]
        command += ["--network", network, "--batch", str(batch), "--k", str(k), *extra]
        ended = subprocess.run(command, capture_output=True, text=True)
        if ended.returncode:
            sys.exit(ended.stderr)
        found |= json.loads(ended.stdout)
    return found


def _arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--network", default="resnet-34")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--k", type=int, nargs="+", choices=(2, 3), default=[2, 3])
    parser.add_argument("--json", type=Path, help="also write everything to this file")
    parser.add_argument("--child", metavar="STEP", help="measure this one in the current process")
    parser.add_argument("--record", action="store_true", help="with --child: record every allocation")
    return parser.parse_args(given)


if __name__ == "__main__":
    main()
