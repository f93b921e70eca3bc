"""A suite is a YAML file: problems, methods with sweeps, seeds, training settings, profiles and what to report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, fields
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictFloat, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from mobench.core.settings import in_words
from mobench.errors import UserError, misshaped, nearest, unknown
from mobench.planning.overrides import overlay
from mobench.planning.profiles import AUTO, choose_profile, profile_names
from mobench.planning.suite_parts import (
    SEEDS,
    STRICT,
    Auto,
    Entry,
    PlotEntry,
    PublishedEntry,
    Seeds,
    SelectedEntry,
    Strict,
    TableEntry,
    Text,
    Variant,
)
from mobench.planning.yaml_text import read_mapping

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Parts(Strict):
    """What a suite, its file and each profile have in common."""

    about: Text = ""
    problems: dict[Text, Entry] = field(default_factory=dict)
    """Problem id → settings; a list is a sweep; a list of mappings are variants."""
    methods: dict[Text, Entry] = field(default_factory=dict)
    """Method name → settings, with the same meaning of lists."""
    training: Variant = field(default_factory=dict)
    """The optimizer, its schedule and the length of every run."""
    metrics: tuple[Text, ...] = ()
    """The metrics that the suite is about, most important first."""
    tables: tuple[TableEntry, ...] = ()
    """Tables printed at the end of a run."""
    published: tuple[PublishedEntry, ...] = ()
    """Published numbers to print beside ours."""
    published_tables: tuple[Text, ...] = ()
    """Files of published numbers to show beside `selected`: of `suites/published`, or YAML files beside this one."""
    selected: tuple[SelectedEntry, ...] = ()
    """Rows that report the selected configuration of every method."""
    split: tuple[Text, ...] = ()
    """Settings that make different contenders of one method, e.g. `method.form`."""
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

    profiles: dict[Text, Annotated[Profile, BeforeValidator(lambda given: {} if given is None else given)]] = field(
        default_factory=dict
    )
    """Variants by name; `profile=NAME` chooses one."""
    default_profile: Text = ""
    """The profile that is meant where none is asked for; `auto` where the machine decides."""
    auto: Auto | None = None


@dataclass(frozen=True, config=STRICT)
class Suite(Parts):
    """One suite under one profile, as read from its file; not yet checked against the registry."""

    name: str
    profile: str
    title: str
    remark: str = ""
    """What to tell the user about how the profile was chosen."""
    seeds: tuple[int, ...] = (0,)


def suite_files() -> dict[str, Path]:
    """Return the suites that ship with mobench, by name."""
    return _shipped("")


def published_files() -> dict[str, Path]:
    """Return the files of published numbers that ship with mobench, by name."""
    return _shipped("published")


def load_suite(name: str, profile: str | None = None) -> Suite:
    """Read a suite by its name or by the path of a YAML file, under a profile."""
    file, raw = _read(name)
    chosen, remark = choose_profile(file.stem, raw, profile)
    profiles = raw.pop("profiles", {})
    whole = overlay({key: raw[key] for key in raw if key not in ("default_profile", AUTO)}, profiles.get(chosen) or {})
    merged = validated(Profile, whole, f"{file.name}, profile {chosen}")
    if merged.include and set(whole) - {"title", "about", "include"}:
        raise UserError(f"{file.name}: a suite that includes others has a title, about and profiles, and nothing else")
    if not merged.include and not merged.problems:
        raise UserError(f"{file.name}: a suite needs problems (or includes other suites)")
    listed = raw.get("seeds")
    parts: dict[str, Any] = {part.name: getattr(merged, part.name) for part in fields(Parts)}
    parts["include"] = _beside(file, "include", merged.include, suite_files())
    parts["published_tables"] = _beside(file, "published_tables", merged.published_tables, published_files())
    return Suite(
        name=file.stem,
        profile=chosen,
        remark=remark,
        title=merged.title or file.stem,
        seeds=parse_seeds(merged.seeds, tuple(listed) if isinstance(listed, list) else ()),
        **parts,
    )


def included(name: str, profile: str | None = None, above: tuple[str, ...] = ()) -> list[str]:
    """Return the suites that a suite consists of, by name or path: those it includes, or itself."""
    if name in above:
        raise UserError(f"suite {name} includes itself: {' → '.join((*above, name))}")
    parts = load_suite(name, profile).include
    return [leaf for part in parts for leaf in included(part, profile, (*above, name))] if parts else [name]


def load_suites(names: Iterable[str], profile: str | None = None) -> list[Suite]:
    """Read the named suites; one that includes others becomes its parts."""
    return [load_suite(part, profile) for name in names for part in included(name, profile)]


def profiles_of(name: str) -> list[str]:
    """Return the names of a suite's profiles."""
    return profile_names(_read(name)[1])


def parse_seeds(value: Any, listed: tuple[int, ...]) -> tuple[int, ...]:
    """Return the seeds meant by a count or a list; a count takes the listed ones first."""
    seeds = SEEDS.parse("seeds", list(value) if isinstance(value, tuple) else value)
    if isinstance(seeds, list):
        return tuple(seeds)
    more = (seed for seed in range(seeds + len(listed)) if seed not in listed)
    return (*listed[:seeds], *(next(more) for _ in range(seeds - len(listed))))


def find_file(kind: str, name: str, files: dict[str, Path]) -> Path:
    """Return the YAML file that is called `name`, or that lies there."""
    file = files.get(name, Path(name))
    if name not in files and not (file.suffix in SUFFIXES and file.is_file()):
        if file.suffix in SUFFIXES:
            raise UserError(f"{kind}={name}: there is no such file")
        raise unknown(kind, name, files)
    return file


def validated(type_: type[Any], raw: dict[str, Any], place: str) -> Any:
    """Return what a document says, or refuse it with the path of what does not fit `type_`."""
    try:
        return adapter(type_).validate_python(raw)  # type: ignore[arg-type]
    except ValidationError as error:
        raise misshaped(place, raw, error) from None


@cache
def adapter(type_: type[Any]) -> TypeAdapter[Any]:
    """Return what validates a type and describes it as JSON Schema."""
    return TypeAdapter(type_)


def _shipped(folder: str) -> dict[str, Path]:
    root = Path(str(resources.files("mobench.suites"))) / folder
    return {file.stem: file for file in sorted(root.glob("*.yaml"))}


def _read(name: str) -> tuple[Path, dict[str, Any]]:
    """Return a suite's file and its content, whose shape is right in every profile."""
    file = find_file("suite", name, suite_files())
    raw = read_mapping(file, file.name)
    validated(SuiteFile, raw, file.name)
    names = profile_names(raw)
    asked = {
        "default_profile": raw.get("default_profile"),
        **{f"auto.{key}": raw[AUTO][key] for key in ("cpu", "cuda") if AUTO in raw},
    }
    for key, profile in asked.items():
        if profile not in (None, *names) and not (profile == AUTO and AUTO in raw):
            raise UserError(f"{file.name}: {key}={profile} is not one of its profiles.{nearest(profile, names)}")
    return file, raw


def _beside(file: Path, key: str, names: tuple[str, ...], known: dict[str, Path]) -> tuple[str, ...]:
    """Resolve YAML files that another one names: they lie beside it."""
    found = []
    for position, name in enumerate(names):
        found.append(str((file.parent / name).resolve()) if Path(name).suffix in SUFFIXES else name)
        try:
            find_file(key, found[-1], known)
        except UserError as error:
            raise UserError(f"{file.name}: {key}[{position}]: {error}") from None
    return tuple(found)
