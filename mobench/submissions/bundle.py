"""What a bundle holds.

On disk it is gzip over lines of JSON: first the header, then one line per run in the order of ids.
`zcat FILE | head -1 | python -m json.tool` shows the header.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from typing_extensions import TypedDict

from mobench.core.outcome import Count, Outcome, Status
from mobench.core.registry import methods
from mobench.core.spec import RunSpec
from mobench.store.record import Environment, PeakMemory, RunRecord
from mobench.submissions import accepted, limits
from mobench.submissions.curves import KeptCurve

Kind = Literal["mobench-bundle", "mobench-reference"]
"""What somebody sends in of methods, or the project's own runs of a whole suite with the methods that it lists."""
STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True)
class SubmittedMethod:
    """A method with results in the bundle."""

    name: accepted.MethodName
    version: Annotated[Count, Field(le=9999)]
    source: accepted.Digest | None
    """sha256 of the plugin's file, None for a method that ships with mobench."""

    @classmethod
    def shipped(cls, label: str) -> SubmittedMethod:
        """Return the method that ships with mobench under a label."""
        name, _, version = label.partition("@")
        return cls(name, int(version), None)

    @property
    def label(self) -> str:
        """Name and version as specs spell them."""
        return f"{self.name}@{self.version}"

    @property
    def sources(self) -> dict[str, str]:
        """The sources of its runs on problems that ship with mobench, as specs have them."""
        return {} if self.source is None else {"method": self.source}


@dataclass(frozen=True)
class DeclaredSuite:
    """A suite under one profile, and what was tried on it."""

    suite: accepted.SuiteName
    profile: accepted.SuiteName
    definition: Annotated[Mapping[str, Any], AfterValidator(accepted.check_nested)]
    """Problems, seeds, training and metrics of the suite when the bundle was written."""
    sweeps: Annotated[Mapping[accepted.MethodName, accepted.Sweep], accepted.few(limits.METHODS)]
    """Method name → every configuration that was tried, as its submitter declares."""

    @property
    def label(self) -> str:
        """Suite and profile for people."""
        return f"{self.suite} ({self.profile})"


@dataclass(frozen=True)
class SubmittedSuite(DeclaredSuite):
    """A suite with the ids of its runs in sorted order."""

    runs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Submission:
    """Who submits which methods. Texts are as the submitter wrote them: plain, but not escaped for HTML."""

    kind: Kind = "mobench-bundle"
    schema: Literal[1] = 1
    """Raised when the layout of a bundle changes."""
    mobench: Annotated[str, accepted.text(64)]
    """The version of mobench that wrote the bundle."""
    by: Annotated[str, accepted.text(limits.BY), accepted.that(str.strip, "is empty; it names who submits")]
    contact: Annotated[str, accepted.text(limits.CONTACT)]
    notes: Annotated[str, accepted.text(limits.NOTES)]
    methods: Annotated[
        tuple[SubmittedMethod, ...],
        Field(min_length=1, max_length=limits.METHODS),
        accepted.distinct(lambda method: method.name, "method"),
    ]
    sources: accepted.Sources
    """sha256 → source of a plugin, for people to read. It is never run."""


@dataclass(frozen=True, kw_only=True)
class Bundle(Submission):
    """A submission with its runs."""

    name: str
    """The file's name."""
    sha256: str = ""
    """Of the file; empty for one that was not read from a file."""
    suites: tuple[SubmittedSuite, ...]
    curves: Mapping[str, KeptCurve]
    """What its runs keep of curves."""
    records: list[RunRecord]
    """In the order of ids. Curves are thinned and errors cut to one line, see `mobench.submissions.collecting`."""

    @property
    def is_reference(self) -> bool:
        """Whether it holds the project's own runs."""
        return self.kind == "mobench-reference"


@dataclass(frozen=True)
class Revision:
    """The code that ran."""

    commit: Annotated[str, accepted.text(64)]
    dirty: bool


@dataclass(frozen=True)
class Setup:
    """An `Environment` in the header."""

    versions: Annotated[Mapping[accepted.SettingName, Annotated[str, accepted.text(64)] | None], accepted.few(32)]
    hardware: Annotated[Mapping[accepted.SettingName, accepted.HardwareValue], accepted.few(32)]
    code: Revision | None


@dataclass(frozen=True)
class Seal:
    """How many runs follow, and the sha256 of their lines."""

    count: Annotated[Count, Field(ge=1, le=limits.RECORDS)]
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Header(Submission):
    """The first line."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    suites: Annotated[
        tuple[DeclaredSuite, ...],
        Field(min_length=1, max_length=limits.SUITES),
        accepted.distinct(lambda suite: suite.label, "suite"),
    ]
    environments: Annotated[tuple[Setup, ...], Field(min_length=1, max_length=limits.ENVIRONMENTS)]
    records: Seal
    checksum: str
    """sha256 of the line without this field."""


@dataclass(frozen=True, kw_only=True)
class BundleHeader(Header):
    """The first line of what somebody sends in."""

    kind: Literal["mobench-bundle"] = "mobench-bundle"


@dataclass(frozen=True, kw_only=True)
class ReferenceHeader(Header):
    """The first line of the project's own runs of suites."""

    kind: Literal["mobench-reference"] = "mobench-reference"
    curves: Annotated[Mapping[accepted.SettingName, KeptCurve], accepted.few(limits.CURVES)]
    """What the plots and claims of its suites read of curves."""


class Curves(TypedDict, total=False):
    """What is drawn of a run: nothing, or the steps and at least one curve."""

    step: Annotated[list[Count], Field(max_length=limits.CURVE_POINTS)]
    gradient_norms: accepted.Curve
    point: accepted.PathCurve
    losses: accepted.Curve
    weights: accepted.Curve
    cosines: accepted.Curve
    update_norm: accepted.NumberCurve
    alignment: accepted.NumberCurve
    picture: accepted.PictureCurve


_NOTED = TypeAdapter(dict[str, accepted.Curve], config=STRICT)


def _with_noted_curves(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Check the curves of the benchmark, and those that a known method declares as `curves`."""
    more = {*value} - {*Curves.__annotations__} if isinstance(value, dict) else set()
    declared = {name for method in methods().values() for name in method.curves} if more else set()
    noted = {name: value[name] for name in more & declared}
    if not noted:
        return check(value)
    found = check({name: curve for name, curve in value.items() if name not in noted})
    found |= _NOTED.validate_python(noted)
    return {name: found[name] for name in value if name in found}


@dataclass(frozen=True)
class SpecLine:
    """A `RunSpec`; its names are compared with known ones, see `mobench.submissions.name_conflicts`."""

    format: Literal[1]
    problem: str
    problem_settings: accepted.Settings
    method: str
    method_settings: accepted.Settings
    training: accepted.Settings
    seed: Count
    sources: Mapping[str, str]


@dataclass(frozen=True)
class OutcomeLine:
    """An `Outcome` with thinned curves."""

    status: Status
    metrics: Annotated[Mapping[accepted.MetricName, accepted.Number], accepted.few()]
    history: Annotated[
        Curves,
        WrapValidator(_with_noted_curves),
        accepted.that(lambda curves: not curves or {"step"} < set(curves), "has steps without curves, or curves alone"),
        accepted.that(lambda curves: len(set(map(len, curves.values()))) < 2, "has curves that differ in length"),
    ]
    diagnostics: Annotated[Mapping[accepted.DiagnosticName, accepted.MeanAndTotal], accepted.few()]
    timings: Annotated[
        Mapping[accepted.TimingName, Annotated[accepted.Number, Field(ge=0)]],
        accepted.few(),
        accepted.that(lambda timings: "seconds" in timings, "has no seconds"),
    ]
    backward_passes: Count
    error: Annotated[str, accepted.text()] | None
    failed_at_step: Count | None

    @property
    def is_consistent(self) -> bool:
        """Whether a finished run has metrics and no error, and a failed one has an error."""
        return self.error is None and len(self.metrics) > 0 if self.status == "done" else self.error is not None


@dataclass(frozen=True)
class RunLine:
    """Every other line: a run. Its environment and its suites are numbers of the header's lists."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    id: str
    spec: SpecLine
    outcome: Annotated[
        OutcomeLine,
        accepted.that(
            lambda outcome: outcome.is_consistent,
            "is neither that of a finished run, with metrics and no error, nor that of a failed one, with an error",
        ),
    ]
    memory: PeakMemory | None
    environment: Count
    started: accepted.Time
    finished: accepted.Time
    suites: Annotated[
        tuple[Count, ...],
        Field(min_length=1, max_length=limits.SUITES),
        accepted.that(lambda numbers: list(numbers) == sorted(set(numbers)), "is not ascending without repetition"),
    ]

    @classmethod
    def of(cls, record: RunRecord, environment: int, suites: Sequence[int]) -> RunLine:
        """Return what a bundle holds of a thinned record."""
        return cls(
            id=record.id,
            spec=SpecLine(**json.loads(record.spec.canonical)),
            outcome=OutcomeLine(**{name: value for name, value in vars(record.outcome).items() if name != "artifact"}),
            memory=record.memory,
            environment=environment,
            started=record.started,
            finished=record.finished,
            suites=tuple(suites),
        )

    def record(self, environments: Sequence[Environment]) -> RunRecord:
        """Return the run as the store knows it."""
        return RunRecord(
            spec=RunSpec.from_json(vars(self.spec)),
            outcome=Outcome(**vars(self.outcome)),
            memory=self.memory,
            environment=environments[self.environment],
            started=self.started,
            finished=self.finished,
        )
