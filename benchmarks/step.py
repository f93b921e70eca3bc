"""What a PCD step costs, as a multiple of a plain Adam step: the median of paired ratios.

    python -m benchmarks.step [--batch 128 32] [--k 2 3] [--pairs 7] [--threads 2] [--json FILE]

For each batch size, number of objectives and contestant (see `contestants.py`), steps alternate with
plain Adam steps on the same network; each pair gives one ratio, and the order within a pair changes
from pair to pair. So the machine's slow phases hit both sides, and their ratio hardly. One warm-up
pair is not counted. A ResNet-34 step on a batch of 128 takes seconds on a CPU, so pairs are few; the
quartiles say how far to trust the median.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import torch

from benchmarks.contestants import CONTESTANTS, Subject, TakeStep, plain

LIMITS = {(128, 2): 1.05, (128, 3): 1.15, (32, 2): 1.10, (32, 3): 1.40}
"""What mobench's ratio may be for ResNet-34, by batch size and K."""


def main() -> None:
    arguments = _arguments()
    torch.set_num_threads(arguments.threads)
    rows = []
    print(f"{arguments.network}, {arguments.threads} threads, {arguments.pairs} pairs; ratio to a plain Adam step")
    print(f"{'batch':>5} {'K':>2}  {'step':<16} {'ratio':>6}  {'quartiles':<11} {'ms':>7} {'plain ms':>9} {'limit':>6}")
    for batch in arguments.batch:
        for k in arguments.k:
            subject = Subject(arguments.network, batch, k)
            for name in arguments.contestants:
                row = {"batch": batch, "k": k, "step": name, **compare(subject, name, k, arguments.pairs)}
                rows.append(row)
                _print(row)
            del subject
            gc.collect()
    if arguments.json:
        described = {"network": arguments.network, "threads": arguments.threads, "torch": torch.__version__}
        arguments.json.write_text(json.dumps({**described, "rows": rows}, indent=2), encoding="utf-8")


def compare(subject: Subject, name: str, k: int, pairs: int) -> dict[str, Any]:
    """Time a contestant against plain steps on the same network."""
    take, take_plain = CONTESTANTS[name](subject, k), plain(subject, k)
    timed: list[tuple[float, float]] = []
    for number in range(pairs + 1):
        if number % 2:
            other = _seconds(take_plain)
            own = _seconds(take)
        else:
            own = _seconds(take)
            other = _seconds(take_plain)
        timed.append((own, other))
    counted = timed[1:]
    ratios = [own / other for own, other in counted]
    lower, _, upper = quantiles(ratios, n=4, method="inclusive")
    own_ms, plain_ms = (1e3 * median(times) for times in zip(*counted, strict=True))
    return {
        "ratio": median(ratios),
        "lower_quartile": lower,
        "upper_quartile": upper,
        "ms": own_ms,
        "plain_ms": plain_ms,
        "ratios": ratios,
    }


def _seconds(take: TakeStep) -> float:
    start = time.perf_counter()
    take()
    return time.perf_counter() - start


def _print(row: dict[str, Any]) -> None:
    limit = LIMITS.get((row["batch"], row["k"])) if row["step"] == "mobench" else None
    print(
        f"{row['batch']:>5} {row['k']:>2}  {row['step']:<16} {row['ratio']:>6.3f}  "
        f"{row['lower_quartile']:.2f}–{row['upper_quartile']:.2f}   {row['ms']:>7,.0f} {row['plain_ms']:>9,.0f} "
        f"{'' if limit is None else format(limit, '.2f'):>6}",
        flush=True,
    )


def _arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--network", default="resnet-34")
    parser.add_argument("--batch", type=int, nargs="+", default=[128, 32])
    parser.add_argument("--k", type=int, nargs="+", choices=(2, 3), default=[2, 3])
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--contestants", nargs="+", choices=tuple(CONTESTANTS), default=list(CONTESTANTS))
    parser.add_argument("--json", type=Path, help="also write everything to this file")
    return parser.parse_args(given)


if __name__ == "__main__":
    main()
