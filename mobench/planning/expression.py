"""Small formulas over the columns of a results table, e.g. `1.536 * sqrt(problem.k - 1)`.

A formula is arithmetic on numbers and columns, with `sqrt`, `abs`, `cos`, `arccos` (of degrees), `min` and `max`.
A column whose name is no Python name stands in backticks, `loss/wells`; one value of a list is `method.tau[0]`.
Nothing else is read, so that a formula can do no harm.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np

from mobench.errors import UserError, unknown

Numbers = Any
"""A number, or a numpy array with one number for each row."""

OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt,
    "abs": np.abs,
    "cos": lambda degrees: np.cos(np.radians(degrees)),
    "arccos": lambda cosine: np.degrees(np.arccos(cosine)),
    "min": lambda *values: reduce(np.minimum, values),
    "max": lambda *values: reduce(np.maximum, values),
}
TWO_OR_MORE = ("min", "max")
_QUOTED = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Expression:
    """A formula as it is written; `UserError` says what in it cannot be read."""

    text: str

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, each once."""
        found: dict[str, None] = {}
        self._value(self._tree, lambda name, _: found.setdefault(name))
        return tuple(found)

    def of(self, columns: Mapping[str, Sequence[Any]]) -> Numbers:
        """Return its value for each row of `columns`; NaN where a column has no number."""
        with np.errstate(all="ignore"):
            return self._value(self._tree, lambda name, index: _numbers(columns[name], index))

    @cached_property
    def _quoted(self) -> list[str]:
        return _QUOTED.findall(self.text)

    @cached_property
    def _tree(self) -> ast.expr:
        places = iter(range(len(self._quoted)))
        plain = _QUOTED.sub(lambda _: f"_{next(places)}_", self.text)
        try:
            return ast.parse(plain.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise UserError(f"'{self.text}' is not a formula of numbers and columns") from None

    def _value(self, node: ast.expr, read: Callable[[str, int | None], Any]) -> Any:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return np.float64(number)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                value = self._value(inner, read)
                return None if value is None else -value
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
                return self._applied(OPERATORS[type(sign)], [left, right], read)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                if name not in FUNCTIONS:
                    raise unknown("function", name, FUNCTIONS)
                if (len(arguments) < 2) if name in TWO_OR_MORE else (len(arguments) != 1):
                    takes = "two or more numbers" if name in TWO_OR_MORE else "one number"
                    raise UserError(f"{name} in '{self.text}' takes {takes}")
                return self._applied(FUNCTIONS[name], arguments, read)
            case ast.Subscript(value=inner, slice=ast.Constant(value=int() as index)) if index >= 0:
                return read(self._column(inner), index)
        return read(self._column(node), None)

    def _applied(self, function: Callable[..., Any], nodes: Sequence[ast.expr], read: Any) -> Any:
        values = [self._value(node, read) for node in nodes]
        return None if any(value is None for value in values) else function(*values)

    def _column(self, node: ast.expr) -> str:
        """Return the column that a name, a dotted name or a backticked one stands for."""
        match node:
            case ast.Name(id=name):
                place = re.fullmatch(r"_(\d+)_", name)
                return self._quoted[int(place[1])] if place else name
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                return f"{owner}.{name}"
        raise UserError(f"'{self.text}' is not a formula of numbers and columns")


def _numbers(column: Sequence[Any], index: int | None) -> Numbers:
    """Return a column as numbers; of lists the entry at `index`, and a plain number counts as its only entry."""
    if index is not None:
        column = [_entry(value, index) for value in column]
    return np.array([_number(value) for value in column], dtype=np.float64)


def _entry(value: Any, index: int) -> Any:
    if not isinstance(value, (list, tuple)):
        return value
    return value[index] if index < len(value) else None


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float, np.integer, np.floating)) else np.nan
