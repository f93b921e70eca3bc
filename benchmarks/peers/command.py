"""mobench beside its peers and beside the machine's limits, in one table.

    make peers [size=quick|default|all] [only=PART,PART] [out=DIR] [data.root=DIR]

`size` is how often everything is measured; `all` also lets every peer take the steps with large batches,
and trains on CIFAR-10 where `data.root` says that it is there. Without `data.root` the input pipeline is
measured on random images. `out` (default .peers) gets peers.json with every figure, and the ratios as
peers.svg and peers.png. All parts together, and not quick, also renew the table in docs/performance.md.

A figure is the median of paired ratios from interleaved rounds, with their quartiles. The exit code is
1 if an asked figure is missed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

import orjson

from benchmarks.peers import table
from benchmarks.peers.chart import draw
from benchmarks.peers.quoted import DOCUMENT, quoted_table, write_quoted
from benchmarks.peers.row import Row
from mobench.cli.command import Command, names
from mobench.core.settings import choice, text
from mobench.errors import UserError, unknown
from mobench.running.environment import environment
from mobench.store.atomic import write_atomically
from mobench.store.record import Environment

PARTS = (
    "solvers", "escape", "hypervolume", "bandwidth", "data", "step", "lockstep", "epoch", "workers", "operations",
    "memory", "networks", "startup", "suites", "site", "stored",
)  # fmt: skip
SIZES = ("quick", "default", "all")
NEEDED = {"torchjd": "0.18", "cvxpy": "1.5", "ecos": "2.0"}
"""The libraries of the extra `peers` without which there is nothing to compare with."""


@dataclass(frozen=True)
class Request:
    """What the command line asks for."""

    parts: tuple[str, ...]
    size: str = "default"
    out: Path = Path(".peers")
    data_root: Path | None = None


class Peers(Command):
    """Measure mobench beside its peers and beside the machine's limits."""

    spelling: ClassVar = {"data_root": "data.root"}

    size: str = choice("default", SIZES, meaning="how often everything is measured")
    only: list[str] = names(meaning="only these parts", shown="PART,PART")
    out: str = text(".peers", meaning="where the figures go", shown="DIR")
    data_root: str | None = text(None, meaning="where CIFAR-10 is", shown="DIR")

    def execute(self) -> int:
        check_libraries()
        return measure(self.request())

    def request(self) -> Request:
        for name in self.only:
            if name not in PARTS:
                raise unknown("part", name, PARTS)
        root = None if self.data_root is None else Path(self.data_root)
        return Request(tuple(self.only) or PARTS, self.size, Path(self.out), root)


def main(arguments: Sequence[str]) -> int:
    """Measure, print and write; return 0 if every asked figure is met."""
    if {"-h", "--help"} & set(arguments):
        print((__doc__ or "").strip() + f"\n\nparts: {', '.join(PARTS)}")
        return 0
    try:
        return Peers.read(arguments).execute()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def measure(request: Request) -> int:
    where = with_peers(environment())
    print(table.machine_line(where), f"size={request.size}", "", table.heading(), sep="\n", flush=True)
    found: list[Row] = []
    for part in request.parts:
        print(f"— {part}", flush=True)
        for row in measured(part, request):
            print(table.line(row), flush=True)
            found.append(row)
    print("", table.closing(found), sep="\n")
    for file in write(found, where, request):
        print(file)
    if request.parts == PARTS and request.size != "quick":
        day = datetime.now(UTC).date().isoformat()
        write_quoted(quoted_table(found, " ".join(table.machine_line(where).split()), day))
        print(DOCUMENT)
    return 0 if all(row.met is not False for row in found) else 1


def check_libraries() -> None:
    """Refuse to start without the libraries to compare with."""
    for name in NEEDED:
        try:
            version(name)
        except PackageNotFoundError:
            raise UserError(f"{name} is not installed; `pip install 'mobench[peers]'` brings it") from None


def with_peers(found: Environment) -> Environment:
    """Add the peers' versions to what is recorded."""
    return replace(found, versions={**found.versions, **{name: version(name) for name in NEEDED}})


def measured(part: str, request: Request) -> Iterator[Row]:
    """Yield a part's rows as they are measured; the part is imported only now."""
    warnings.filterwarnings("ignore", module=r"cvxpy|torchjd")  # on the problems that peers cannot solve well
    module: Any = import_module(f"benchmarks.peers.{part}")
    size = module.SIZES[request.size]
    if part in ("data", "suites"):
        size = replace(size, root=request.data_root)
    yield from module.rows(size)


def write(rows: Sequence[Row], where: Environment, request: Request) -> list[Path]:
    """Write all files and return their paths."""
    request.out.mkdir(parents=True, exist_ok=True)
    taken = datetime.now(UTC).isoformat(timespec="seconds")
    file = request.out / "peers.json"
    content = table.document(rows, where, request.size, taken)
    write_atomically(file, orjson.dumps(content, option=orjson.OPT_INDENT_2), sync=False)
    return [file, *draw(rows, request.out)]
