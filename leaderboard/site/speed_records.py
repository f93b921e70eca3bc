"""What `asv publish` has written, read from its JSON files.

`index.json` names the benchmarks, their parameters and units, and the commits; below `graphs/` lies one
folder per machine with a file per benchmark: pairs of a revision's number and its value, or its list of
values, one for each combination of the parameters.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from mobench.errors import UserError


@dataclass(frozen=True)
class Point:
    """One commit's value."""

    commit: str
    date: datetime
    value: float


@dataclass(frozen=True)
class Series:
    """One benchmark with one combination of its parameters, over the commits; oldest first."""

    benchmark: str
    parameters: str
    unit: str
    points: tuple[Point, ...]

    @property
    def layer(self) -> str:
        """The file of the benchmark, which is the layer that it measures."""
        return self.benchmark.partition(".")[0]

    @property
    def name(self) -> str:
        """The benchmark within its layer, with its parameters."""
        name = self.benchmark.partition(".")[2]
        return f"{name}({self.parameters})" if self.parameters else name


@dataclass(frozen=True)
class Machine:
    """The records of one machine."""

    name: str
    series: tuple[Series, ...]


def read_records(folder: Path) -> list[Machine]:
    """Return every machine's records; refuse what `asv publish` has not written."""
    try:
        index = orjson.loads((folder / "index.json").read_bytes())
        machines = list(_machines(folder / "graphs", index))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"speed={folder} is no output of `asv publish`: {_reason(error)}") from None
    if not any(machine.series for machine in machines):
        raise UserError(f"speed={folder} holds no records; `make speed` makes one of the present commit")
    return machines


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{Path(str(error.filename)).name}: {error.strerror}"
    return f"{type(error).__name__}: {error}"


def _machines(graphs: Path, index: Mapping[str, Any]) -> Iterator[Machine]:
    folders = sorted({file.parent for file in graphs.rglob("*.json")} - {graphs / "summary"})
    names: dict[str, int] = {}
    for folder in folders:
        name = _machine_name(folder.relative_to(graphs).parts)
        names[name] = names.get(name, 0) + 1
        number = "" if names[name] == 1 else f" ({names[name]})"
        series = itertools.chain.from_iterable(
            _series(folder, benchmark, index) for _, benchmark in sorted(index["benchmarks"].items())
        )
        yield Machine(name + number, tuple(series))


def _machine_name(parts: Sequence[str]) -> str:
    """Name the processor; asv also has the host's name and the interpreter's path, which are not published."""
    facts = dict(part.split("-", 1) for part in parts if "-" in part)
    cores = facts.get("num_cpu", "")
    return facts.get("cpu", "unknown processor") + (f", {cores} cores" if cores else "")


def _series(folder: Path, benchmark: Mapping[str, Any], index: Mapping[str, Any]) -> Iterator[Series]:
    file = folder / f"{benchmark['name']}.json"
    if not file.exists():
        return
    graph = sorted(orjson.loads(file.read_bytes()))
    names = benchmark["param_names"]
    combinations = [
        ", ".join(f"{name}={_plain(value)}" for name, value in zip(names, values, strict=True))
        for values in itertools.product(*benchmark["params"])
    ]
    for position, parameters in enumerate(combinations):
        points = []
        for revision, values in graph:
            value = values[position] if isinstance(values, list) else values
            if isinstance(value, (int, float)) and math.isfinite(value):
                commit = str(index["revision_to_hash"][str(revision)])
                date = datetime.fromtimestamp(index["revision_to_date"][str(revision)] / 1000, UTC)
                points.append(Point(commit[: index.get("hash_length", 8)], date, float(value)))
        if points:
            yield Series(benchmark["name"], parameters, str(benchmark["unit"]), tuple(points))


def _plain(parameter: object) -> str:
    """Return a parameter as asv spells it, without the quotation marks of a text."""
    return re.sub(r"^'(.*)'$", r"\1", str(parameter))
