"""The figures that documents quote, as a Markdown table between two marks of docs/performance.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.row import Row
from benchmarks.peers.table import asked_text, number
from mobench.errors import UserError
from mobench.store.atomic import write_atomically

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "performance.md"
BEGIN, END = '[peers]: # "written by make peers from here"', '[peers-end]: # "to here"'
"""Link definitions that nothing refers to: no reader of Markdown shows them."""
SOLVING = r"(PCD|MGDA|CAGrad|Nash) K=\d+: .*, TorchJD "
QUOTES = (
    ("TorchJD's time ÷ ours: solving for PCD, MGDA, CAGrad, Nash, K = 2 … 16", "solvers", SOLVING),
    ("A loop over TorchJD ÷ ours: a run in the suite `escape`", "escape", "a run in the suite, "),
    ("the same for a run alone", "escape", "a run alone, "),
    ("A PCD step in plain Adam steps: ResNet-34, batch 32, K = 2", "step", "resnet-34 32 K=2 mobench"),
    ("by TorchJD", "step", "resnet-34 32 K=2 torchjd"),
    ("ResNet-34, batch 32, K = 3 with a nuclear norm", "step", "resnet-34 32 K=3 mobench"),
    ("by TorchJD", "step", "resnet-34 32 K=3 torchjd"),
    ("ResNet-34, batch 128, K = 2", "step", "resnet-34 128 K=2 mobench"),
    ("ResNet-34, batch 128, K = 3", "step", "resnet-34 128 K=3 mobench"),
    ("digits network, batch 32, K = 2", "step", "digits-cnn 32 K=2 mobench:"),
    ("by TorchJD", "step", "digits-cnn 32 K=2 torchjd"),
    ("digits network, batch 32, K = 3", "step", "digits-cnn 32 K=3 mobench:"),
    ("by TorchJD", "step", "digits-cnn 32 K=3 torchjd"),
    ("one of 16 runs of the digits network, K = 2", "lockstep", "digits-cnn 64 K=2, one of 16 runs"),
    ("one of 16 runs of the digits network, K = 3", "lockstep", "digits-cnn 64 K=3, one of 16 runs"),
    ("Extra memory of a step in parameter sizes: ResNet-34, K = 2", "memory", "resnet-34 K=2 mobench"),
    ("by TorchJD", "memory", "resnet-34 K=2 torchjd"),
    ("Two workers, times faster than one", "workers", "two workers"),
    ("Seconds of `suite=synthetic`", "suites", r"suite=synthetic, [\d,]+ runs"),
    ("Seconds of `suite=compression`", "suites", r"suite=compression, [\d,]+ runs"),
)
"""What a line of the table says, and the rows that it is about: a part, and how their names begin."""


def quoted_table(rows: Sequence[Row], machine: str, day: str) -> str:
    """Return the table; a line that is about several rows has their range."""
    held = [row for row in rows if row.met is not None]
    missed = [row.what for row in held if not row.met]
    lines = [f"{machine}, {day}; {len(held) - len(missed)} of {len(held)} asked figures are met.", ""]
    lines += ["| figure | asked | measured |", "|---|---|---|"]
    for said, part, name in QUOTES:
        found = [row for row in rows if row.part == part and re.match(name, row.what)]
        asked = ", ".join(dict.fromkeys(asked_text(row) for row in found if row.asked is not None))
        lines.append(f"| {said} | {asked or '–'} | {_range([row.measured for row in found])} |")
    if missed:
        lines += ["", f"Missed: {'; '.join(missed)}."]
    return "\n".join(lines)


def write_quoted(table: str, document: Path = DOCUMENT) -> None:
    """Put the table between the marks of the document, in the place of the one before."""
    text = document.read_text(encoding="utf-8")
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise UserError(f"{document} lacks the marks between which the table goes: {BEGIN} and {END}")
    write_atomically(document, f"{head}{begin}\n\n{table}\n\n{end}{tail}".encode(), sync=False)


def _range(values: Sequence[float]) -> str:
    if not values:
        return "–"
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} … {high}"
