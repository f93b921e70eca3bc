"""The interactive figure: what each method makes of two gradients, computed here and looked up by the page.

The weights of a method depend on the lengths of the gradients and the angle between them. In the figure the tips move
on a grid of angles and lengths, and for every method there is a table of its weights on that grid: what is shown is
the method's own answer, not an estimate between answers. A gradient is lengthened by multiplying its objective, loss
included. Methods with a state or random draws are shown at their first step, those that need a second batch as if it
were the same as the first.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from mobench.core.method import Matrix, Method, Step, Vector, checked_weights
from mobench.core.registry import methods
from mobench.core.settings import Setting

from .cards import spelled
from .markers import mark_class, markers
from .names import file_stem
from .output import SiteFolder
from .pages import Pages
from .script_data import script_of

if TYPE_CHECKING:
    import torch

DEGREES = 5
"""Between neighbouring angles; they go from 0 to 180."""
PER_DECADE, REACH = 8, 14
"""‖g_1‖ = 1, and ‖g_2‖ is a power of 10 with the exponents −REACH/PER_DECADE, …, REACH/PER_DECADE."""
GRID = {"degrees": DEGREES, "per_decade": PER_DECADE, "reach": REACH}
VALUES = 5
"""How many values of a knob are computed."""

Table = npt.NDArray[np.float32]

_RNG = np.random.default_rng(0)
_FIRST = _RNG.bit_generator.state
"""The draws of every first step are the same ones. Setting a state is much faster than making a generator."""

FIRST = frozenset({"auxinash", "cagrad", "famo", "mgda", "pcd", "pcgrad", "ws"})
"""The methods that are drawn when the page opens, those of the paper's figures; thirty arrows cannot be read."""
FEW = "data/directions-first.js"
"""The tables of these at their default settings alone, for the front page."""


@dataclass(frozen=True)
class Knob:
    """The setting that can be turned in the figure: the first that a method declares."""

    name: str
    meaning: str
    values: list[str]
    chosen: int
    """The place of the default."""
    slides: bool
    """Whether the values are numbers."""


@dataclass(frozen=True)
class Row:
    """A method in the figure."""

    key: str
    label: str
    marker: Markup
    look: str
    """The class that has its colour."""
    script: str
    """The file of its table."""
    knob: Knob | None
    shown: bool
    """Whether its arrow is there when the page opens."""


Turned = tuple[Knob | None, list[Table]]
"""A method's knob and a table for each of its values; without a knob one table."""


def all_tables(names: Iterable[str]) -> dict[str, Turned]:
    """Return the tables of every registered method and of those of `names` that are forms of one, first ones first."""
    found = dict(sorted(_contenders(names), key=lambda entry: (entry[0] not in FIRST, entry[0])))
    return {name: _tables(method, tuple(settings.items())) for name, (method, settings) in found.items()}


def directions_rows(turned: Mapping[str, Turned], folder: SiteFolder) -> list[Row]:
    """Write the tables and return the rows of the figure."""
    drawn = markers(turned)
    rows, few = [], b""
    for name, (knob, tables) in turned.items():
        method = methods()[name if name in methods() else name.partition("(")[0]]
        script = f"data/directions/{file_stem(name)}.js"
        values = knob.values if knob else []
        content = {"values": values, "tables": [base64.b64encode(one.tobytes()).decode() for one in tables]}
        folder.write(script, script_of(f"directions/{file_stem(name)}", content))
        if name in FIRST:
            default = {"values": [], "tables": [content["tables"][knob.chosen if knob else 0]]}
            few += script_of(f"directions/{file_stem(name)}", default)
        label = method.title if name == method.name else f"{method.title} {name.removeprefix(method.name)}"
        rows.append(Row(file_stem(name), label, drawn[name], mark_class(name), script, knob, name in FIRST))
    folder.write(FEW, few)
    return rows


def few_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of the figure that the script `FEW` is enough for."""
    return [replace(row, script=FEW, knob=None) for row in rows if row.shown]


def directions_page(pages: Pages, rows: Sequence[Row]) -> str:
    """Return the page of the figure with all methods."""
    return pages.render("directions.html", "directions.html", "What each method does", rows=rows, grid=GRID)


def _contenders(names: Iterable[str]) -> Iterator[tuple[str, tuple[type[Method], dict[str, str]]]]:
    """Yield the class and the settings of every registered method, and of every name such as `ws(form=penalty)`."""
    known = methods()
    for name in sorted({*known, *names}):
        method, _, form = name.partition("(")
        settings = dict(part.partition("=")[::2] for part in form.removesuffix(")").split(", ") if part)
        if name in known:
            method, settings = name, {}
        if method in known and _made(known[method], settings) is not None:
            yield name, (known[method], settings)


def _made(method: type[Method], settings: Mapping[str, Any]) -> Method | None:
    """Return the method with these settings, None where it does not accept them."""
    try:
        return method(**settings)
    except Exception:  # noqa: BLE001 - a plugin may refuse by any error
        return None


@cache
def _tables(method: type[Method], given: tuple[tuple[str, str], ...]) -> Turned:
    settings = dict(given)
    name, setting = next(((name, one) for name, one in method.settings.items() if name not in settings), ("", None))
    if setting is None:
        return None, [weights_table(method(**settings))]
    made = {spelled(value): _made(method, {**settings, name: value}) for value in _values(setting)}
    tables = {value: weights_table(one) for value, one in made.items() if one is not None}
    default = tables[spelled(setting.default)]
    if all(np.array_equal(one, default, equal_nan=True) for one in tables.values()):
        return None, [default]
    chosen = list(tables).index(spelled(setting.default))
    return Knob(name, setting.meaning, list(tables), chosen, setting.kind in ("real", "reals")), list(tables.values())


def _values(setting: Setting) -> list[Any]:
    """Return some values of a setting, its default among them.

    Of words the first; of a number between two bounds both, and three between them; of another number the default,
    doubled and halved.
    """
    default = setting.default
    if setting.kind == "choice":
        return sorted(setting.choices, key=lambda word: word != default)[:VALUES]
    if setting.kind == "flag":
        return [False, True]
    if setting.interval is None or isinstance(default, tuple):
        return [default]
    low, high, low_open, high_open = setting.interval
    if math.isinf(low) or math.isinf(high):
        return sorted({default * 2.0**power for power in range(-2, 3)})
    margin = 0.01 * (high - low)
    ends = low + margin * low_open, high - margin * high_open
    between = np.round(np.linspace(*ends, VALUES)[1:-1], 2).tolist()
    between[int(np.argmin(np.abs(np.array(between) - default)))] = default
    return sorted({*ends, *between})


def weights_table(method: Method) -> Table:
    """Return the method's weights at the first step of a run (angle × length × 2); NaN where it raises."""
    lengths = 10.0 ** (np.arange(-REACH, REACH + 1) / PER_DECADE)
    angles = np.deg2rad(np.arange(0, 181, DEGREES))
    units = np.round(np.column_stack([np.cos(angles), np.sin(angles)]), 15)
    weights = np.full((len(units), len(lengths), 2), np.nan, dtype="<f4")
    for (i, unit), (j, length) in product(enumerate(units), enumerate(lengths)):
        try:
            weights[i, j] = first_weights(method, np.array([1.0, length]), np.array([[1.0, 0.0], length * unit]))
        except Exception:  # noqa: BLE001 - whatever a method raises costs its own arrow alone
            continue
    return weights


def first_weights(method: Method, losses: Vector, gradients: Matrix) -> Vector:
    """Return the method's weights at the first step of a run, on two gradients of the plane."""
    _RNG.bit_generator.state = _FIRST
    method.reset(2, _RNG)
    plane, bounds = _Plane(gradients), np.zeros(2)
    step = Step(losses, plane, bounds, second_batch=lambda: Step(losses, plane, bounds))
    if not method.overrides("direction"):
        return checked_weights(method, step)
    solved: Vector = np.linalg.lstsq(gradients.T, method.direction(step).numpy(), rcond=None)[0]
    return solved


class _Plane:
    """Two gradients in the plane, as a step reads them."""

    def __init__(self, gradients: Matrix) -> None:
        self._gradients = gradients

    def gram(self) -> Matrix:
        """Return the inner products."""
        return self._gradients @ self._gradients.T

    def gradients(self) -> torch.Tensor:
        """Return the gradients as rows."""
        import torch

        return torch.from_numpy(self._gradients)
