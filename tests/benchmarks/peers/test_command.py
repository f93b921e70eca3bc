"""The command `python -m benchmarks.peers`: arguments, table, JSON, picture."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.peers import command, quoted, table
from benchmarks.peers.row import Asked, Ratio, Row, interleaved
from mobench.errors import UserError

ROOT = Path(__file__).resolve().parents[3]
ROWS = [
    Row("solvers", "PCD K=2", 29.0, "×", "make peers only=solvers", Asked("≥", 10.0), 25.0, 31.0),
    Row("step", "a name that is far too long for the first column of the table", 1.2, "×", "c", Asked("≤", 1.1)),
    Row("solvers", "error", 7.7e-16, "", "c", Asked("≤", 1e-8)),
    Row("bandwidth", "reading", 12.345, "GB/s", "c"),
]


def test_the_command_prints_a_table_and_writes_everything(tmp_path: Path) -> None:
    out = tmp_path / "figures"
    arguments = ["size=quick", "only=hypervolume,startup", f"out={out}"]
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers", *arguments], capture_output=True, text=True, cwd=ROOT
    )
    assert ended.returncode in (0, 1), ended.stderr
    lines = ended.stdout.splitlines()
    assert "cores" in lines[0]
    assert max(len(line) for line in lines if not line.startswith(str(out))) <= table.WIDTH
    assert {file.name for file in out.iterdir()} == {"peers.json", "peers.svg", "peers.png"}
    found = json.loads((out / "peers.json").read_text(encoding="utf-8"))
    assert {"schema", "taken", "size", "versions", "hardware", "code", "rows"} == found.keys()
    keys = {"part", "what", "asked", "measured", "low", "high", "unit", "command", "met"}
    assert all(row.keys() == keys for row in found["rows"])
    assert {row["part"] for row in found["rows"]} == {"hypervolume", "startup"}
    assert "torchjd" in found["versions"]


def test_the_table_that_documents_quote_has_ranges_what_is_asked_and_what_is_missed(tmp_path: Path) -> None:
    solving = [
        Row("solvers", f"PCD K={k}: 2 µs, TorchJD 9 µs", ratio, "×", "c", Asked("≥", 10.0))
        for k, ratio in ((2, 29.0), (3, 7))
    ]
    memory = Row("memory", "resnet-34 K=2 mobench: extra / parameters", 0.124, "×", "c")
    text = quoted.quoted_table([*solving, memory], "two cores", "2026-01-01")
    lines = text.splitlines()
    assert lines[0] == "two cores, 2026-01-01; 1 of 2 asked figures are met."
    assert lines[-1] == "Missed: PCD K=3: 2 µs, TorchJD 9 µs."
    ends = [line.split(" | ", 1)[1] for line in lines if line.startswith("| ")][1:]
    assert len(ends) == len(quoted.QUOTES) and ends[0] == "≥ 10.0 | 7 … 29.0 |"
    assert sorted({*ends[1:]}) == ["– | 0.124 |", "– | – |"]
    document = tmp_path / "performance.md"
    document.write_text(f"before\n\n{quoted.BEGIN}\n\nold\n\n{quoted.END}\n\nafter\n", encoding="utf-8")
    for _ in range(2):
        quoted.write_quoted(text, document)
        assert document.read_text(encoding="utf-8") == (
            f"before\n\n{quoted.BEGIN}\n\n{text}\n\n{quoted.END}\n\nafter\n"
        )
    document.write_text("no marks", encoding="utf-8")
    with pytest.raises(UserError, match="lacks the marks"):
        quoted.write_quoted(text, document)


def test_the_document_has_a_line_for_every_quote_and_each_is_measured() -> None:
    text = quoted.DOCUMENT.read_text(encoding="utf-8").partition(quoted.BEGIN)[2].partition(quoted.END)[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines] == [said for said, _, _ in quoted.QUOTES]
    assert not any(line.endswith("| – |") for line in lines)


def test_lines_fit_into_eighty_columns_and_mark_what_is_missed() -> None:
    lines = [table.line(row) for row in ROWS]
    assert all(len(line) <= table.WIDTH for line in lines)
    assert [line.endswith("!") for line in lines] == [False, True, False, False]
    assert table.closing(ROWS) == "2 of 3 asked figures are met; a line with ! is not"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["size=quik"], "Did you mean 'quick'"),
        (["only=solver"], "Did you mean 'solvers'"),
        (["data.rot=x"], "data.root"),
        (["quick"], "key=value"),
    ],
)
def test_mistakes_are_named(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        command.Peers.read(arguments).request()


@pytest.mark.parametrize("size", command.SIZES)
def test_every_part_is_measured_unless_some_are_named(size: str) -> None:
    assert command.Peers.read([f"size={size}"]).request().parts == command.PARTS
    assert command.Peers.read([f"size={size}", "only=site,suites"]).request().parts == ("site", "suites")


def test_a_ratio_is_the_median_of_pairs_and_not_the_ratio_of_medians() -> None:
    found = Ratio.of([1.0, 10.0, 3.0], [1.0, 2.0, 3.0])
    assert (found.median, found.low, found.high) == (1.0, 1.0, 3.0)


def test_rounds_are_interleaved_and_the_first_is_not_counted() -> None:
    order: list[str] = []
    ticks = iter(range(1000))
    calls = {name: lambda name=name: order.append(name) for name in "ab"}  # type: ignore[misc]
    seconds = interleaved(calls, 3, lambda: float(next(ticks)))
    assert "".join(order) == "baabbaab"
    assert seconds == {"a": [1.0] * 3, "b": [1.0] * 3}
