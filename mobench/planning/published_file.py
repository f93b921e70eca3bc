"""Files of published numbers: how they are written, and that every list has one number for each column.

A number stands beside a cell of ours only if every run behind that cell agrees with all the `where`s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Annotated, Any

from pydantic import BaseModel, StrictFloat
from pydantic.dataclasses import dataclass

from mobench.core.settings import in_words
from mobench.errors import UserError
from mobench.planning.suite import find_file, suite_files, validated
from mobench.planning.suite_parts import STRICT, Label, PublishedEntry, Strict, Text, Where
from mobench.planning.yaml_text import read_mapping

Numbers = Annotated[StrictFloat | list[StrictFloat], in_words("a number, or one for each column")]


class Instance(BaseModel, extra="allow"):
    """Some of a table's runs and, by metric, one number for each column, or one that is the same for all."""

    __pydantic_extra__: dict[str, Numbers]
    where: Where = {}


@dataclass(frozen=True, config=STRICT)
class Table(Strict):
    """One published table."""

    columns: list[Text | Where]
    """One for each method: its name, or columns of the results table."""
    instances: list[Instance]
    title: Label = ""
    where: Where = field(default_factory=dict)
    """The runs it speaks of, as columns of the results table."""
    units: dict[Text, StrictFloat] = field(default_factory=dict)
    """By metric or pattern (`flops*`), the factor from the published unit to the metric's own."""
    notes: dict[Text, Text] = field(default_factory=dict)
    """By metric or pattern, what a reader must know before comparing."""

    def cells(self, instance: Instance) -> Iterator[tuple[str, dict[str, Any], float]]:
        """Yield metric, the runs that are meant, and the number, for every number of an instance."""
        for metric, numbers in (instance.model_extra or {}).items():
            listed = numbers if isinstance(numbers, list) else [numbers] * len(self.columns)
            for column, number in zip(self.columns, listed, strict=True):
                own = {"method": column} if isinstance(column, str) else column
                yield metric, {**self.where, **instance.where, **own}, number


@dataclass(frozen=True, config=STRICT)
class PublishedFile(Strict):
    """A file of published numbers."""

    tables: list[Table]
    source: Text = ""
    """Where the numbers come from."""
    quantities: list[PublishedEntry] = field(default_factory=list)
    """Numbers that stand in no table, with the question to our results that they answer."""


def read_published(name: str) -> PublishedFile:
    """Read a file of `suites/published` by its name, or a YAML file by its path."""
    file = find_file("file of published_tables", name, suite_files("published"))
    read = validated(PublishedFile, read_mapping(file, file.name), file.name)
    for at, table in enumerate(read.tables):
        for position, instance in enumerate(table.instances):
            for metric, numbers in (instance.model_extra or {}).items():
                if isinstance(numbers, list) and len(numbers) != len(table.columns):
                    counts = f"{len(numbers)} numbers for {len(table.columns)} columns"
                    raise UserError(f"{file.name}: tables[{at}].instances[{position}].{metric} has {counts}")
    return read
