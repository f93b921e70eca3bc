"""The parts of a suite file, each declared once: validation, error messages and the JSON Schema come from here."""

from __future__ import annotations

from dataclasses import field, fields
from typing import Annotated, Any, Literal, NotRequired

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
    with_config,
)
from pydantic.dataclasses import dataclass
from pydantic_core import ArgsKwargs, PydanticCustomError
from typing_extensions import TypeAliasType, TypedDict

from mobench.core.settings import LARGEST, Setting, in_words

STANDARD, AUTO = "standard", "auto"
"""The profile of a suite that names none, and the one that stands for what fits this machine."""
EVERYWHERE = ("precision", "compile")
"""Settings of problems that have a key of their own on the command line: they change a run's numbers and its cost."""
STRICT = ConfigDict(extra="forbid", use_attribute_docstrings=True)

Text = StrictStr
Label = Annotated[str, Field(coerce_numbers_to_str=True)]
Scalar = TypeAliasType("Scalar", bool | int | float | str | None)
Value = TypeAliasType(
    "Value", Annotated[Scalar | list[Scalar | list[Scalar]], in_words("a value, or a list of values")]
)
Where = TypeAliasType("Where", dict[Text, Value])
"""Columns of the results table, and what the runs that are meant have there; a list means any of them."""
Variant = TypeAliasType("Variant", dict[Text, Value])
"""Settings; a list is a sweep, and one value per objective is a list inside the list."""
_MAY_BE_EMPTY = BeforeValidator(lambda given: {} if given is None else given)
Entry = TypeAliasType("Entry", Annotated[Variant | Annotated[list[Variant], Field(min_length=1)], _MAY_BE_EMPTY])
"""The settings of a method or problem, or a list of variants of them."""
STEP_COLUMNS = (
    "step.number", "step.losses", "step.next_losses", "step.weights", "step.gradient_norms", "step.cosines",
    "step.update_norm", "step.alignment",
)  # fmt: skip
"""What a claim may read of a step: of lists `[0]` is the primary's; `cosines` are those of the secondaries with it."""
Aggregate = Literal["mean", "median", "max", "min", "sum", "spread"]
Direction = Literal["max", "min"]


def _once(seeds: list[int]) -> list[int]:
    if len(set(seeds)) < len(seeds):
        raise ValueError("a seed stands twice")
    return seeds


_SEEDS = "a count like 3, or a list like [7,42] that has each seed once"
_COUNT = Annotated[StrictInt, Field(ge=1, le=10**6)]
_LIST = Annotated[list[Annotated[StrictInt, Field(ge=0, le=LARGEST)]], Field(min_length=1), AfterValidator(_once)]
Seeds = Annotated[_COUNT | _LIST, in_words(_SEEDS)]
SEEDS = Setting(None, "how many seeds, or which", "seeds", _SEEDS, Seeds, shown="N|[7,42]")


@dataclass(frozen=True, config=STRICT)
class Strict:
    """A mapping whose unknown keys are refused with the nearest spelling."""

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, given: Any) -> Any:
        accepted = [known.name for known in fields(cls)]
        for key in given.kwargs or () if isinstance(given, ArgsKwargs) else given if isinstance(given, dict) else ():
            if key not in accepted:
                raise PydanticCustomError("unknown_key", "unknown key", {"key": key, "accepted": accepted})
        return given


@dataclass(frozen=True, config=STRICT)
class TableEntry(Strict):
    """One metric, methods down, a problem's setting across."""

    title: Label
    value: Text
    """The metric that is shown."""
    columns: Text
    """What stands across, e.g. `problem.k`."""
    rows: Text = "contender"
    """What stands down: `contender` (a whole sweep together), `method_label` (one row each), or e.g. `method.tau`."""
    over: Aggregate = "mean"
    """How the numbers of many runs become one."""
    where: Where = field(default_factory=dict)


@dataclass(frozen=True, config=STRICT)
class PublishedEntry(Strict):
    """A published number and the question to our results that it answers."""

    quantity: Label
    paper: Annotated[StrictInt | StrictFloat | Text, in_words("a number or a text")]
    value: Text
    """The metric that is asked for; `hypervolume/NAME` is how many times that of the best other contender."""
    per: Text = ""
    """The metric that the value of each run is divided by."""
    over: Aggregate = "mean"
    by: Text | None = None
    """Take the aggregate for each value of this column; the mean and the range of these are shown."""
    where: Where = field(default_factory=dict)
    note: Text = ""
    """What was left open."""


@dataclass(frozen=True, config=STRICT)
class ClaimEntry(Strict):
    """What is said to hold of every run: `measured relation bound`, both sides formulas of its columns."""

    claim: Label
    measured: Text
    """A formula, e.g. `primary_gradient_norm` or ``-`loss/wells` / 2``."""
    relation: Literal["<=", ">=", "==", "<", ">"]
    bound: Annotated[StrictInt | StrictFloat | Text, in_words("a number or a formula")]
    """A number or a formula, e.g. `1.536 * sqrt(problem.k - 1)`."""
    tolerance: Annotated[StrictFloat, Field(ge=0, allow_inf_nan=False), in_words("a number from 0")] = 0.0
    """How far beyond the bound still counts as holding, for rounding; `<` and `>` take none."""
    source: Text = ""
    """Where it is stated: the theorem or equation."""
    each: Literal["run", "step"] = "run"
    """`step`: of every step that the curves keep together with the next one; columns `step.losses[0]` and so on."""
    where: Where = field(default_factory=dict)
    note: Text = ""


@dataclass(frozen=True, config=STRICT)
class SelectedEntry(Strict):
    """A row with one number per method, of the configuration that was selected for it."""

    label: Label
    value: Text
    """The metric that is reported, measured on test data."""
    select: Text
    """The metric that chooses, measured on validation data."""
    best: Direction = "max"
    """Which way the value is better."""
    select_best: Direction | None = None
    """Which way the metric that chooses is better; left out: like `best`."""
    select_test: Text | None = None
    """The metric that chooses with `selection=test`; left out: the value itself."""
    unit: Annotated[StrictFloat, Field(gt=0, allow_inf_nan=False), in_words("a number above 0")] = 1.0
    """What numbers are divided by to be shown."""
    decimals: Annotated[StrictInt, Field(ge=0, le=12), in_words("a whole number from 0 up to 12")] | None = None
    """Digits after the point."""
    fixed: dict[Text, Variant] = field(default_factory=dict)
    """Methods that are not selected but shown at the given settings."""
    table: Label = ""
    """The title of the table that the row stands in; rows without one make the suite's main table."""
    against: Text = ""
    """Show how far the value lies below that of this contender at the same seed."""
    against_value: Text = ""
    """The metric of that contender; left out: the value itself."""


@with_config(ConfigDict(extra="allow", use_attribute_docstrings=True))
class PlotEntry(TypedDict):
    """A plot with options of its own, e.g. `{plot: curves, objective: 2}`."""

    plot: Text
    """The name of the plot."""
    title: NotRequired[Text]
    """Its title, where the plot's own would not tell it from others."""
    where: NotRequired[Where]
    """Only runs whose columns have these values."""


@dataclass(frozen=True, config=STRICT)
class Auto(Strict):
    """The profile that fits this machine, where `default_profile` is `auto`."""

    cpu: Text
    cuda: Text
    hint: Text
    """What the user is told about the other profiles."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Parts(Strict):
    """What a suite, its file and each profile have in common."""

    about: Text = ""
    problems: dict[Text, Entry] = field(default_factory=dict)
    """Problem id → settings; a list is a sweep; a list of mappings are variants."""
    methods: dict[Text, Entry] = field(default_factory=dict)
    """Method name → settings, with the same meaning of lists."""
    every_method: Variant = field(default_factory=dict)
    """Settings of every method, unless its own entry says otherwise, e.g. `{training.lr: [0.01, 0.1]}`."""
    training: Variant = field(default_factory=dict)
    """The optimizer, its schedule and the length of every run."""
    metrics: tuple[Text, ...] = ()
    """The metrics that the suite is about, most important first."""
    tables: tuple[TableEntry, ...] = ()
    """Tables printed at the end of a run."""
    published: tuple[PublishedEntry, ...] = ()
    """Published numbers to print beside ours."""
    claims: tuple[ClaimEntry, ...] = ()
    """Statements about the runs, each shown with whether it holds."""
    published_tables: tuple[Text, ...] = ()
    """Files of published numbers to show beside `selected`: of `suites/published`, or YAML files beside this one."""
    selected: tuple[SelectedEntry, ...] = ()
    """Rows that report the selected configuration of every method."""
    split: tuple[Text, ...] = ()
    """Settings that make different contenders of one method, e.g. `method.form`."""
    baselines: dict[Text, Where] = field(default_factory=dict)
    """By metric, the runs that `delta_m` compares with, e.g. those of single-task training."""
    plots: tuple[Text | PlotEntry, ...] = ()
    """Plots of a report: names, or mappings with the key `plot` and its options."""
    time_limit: Annotated[StrictFloat, Field(gt=0, allow_inf_nan=False), in_words("a number of seconds above 0")] = (
        3600.0
    )
    """Seconds that one run may take."""
    include: tuple[Text, ...] = ()
    """Other suites that make up this one: names, or YAML files beside this one."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Profile(Parts):
    """A variant of a suite: what it says is laid over the suite."""

    title: Text = ""
    seeds: Seeds = 1
    """How many seeds, or which; a count takes the seeds that the suite lists first."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class SuiteFile(Profile):
    """A suite of mobench."""

    profiles: dict[Text, Annotated[Profile, _MAY_BE_EMPTY]] = field(default_factory=dict)
    """Variants by name; `profile=NAME` chooses one."""
    default_profile: Text = ""
    """The profile that is meant where none is asked for; `auto` where the machine decides."""
    auto: Auto | None = None

    @property
    def profile_names(self) -> list[str]:
        """The profiles that can be asked for; a suite that names no default also has `standard`."""
        return sorted(self.profiles) if self.default_profile else sorted({STANDARD, *self.profiles})
