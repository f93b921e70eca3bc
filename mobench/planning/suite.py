"""A suite is a YAML file: problems, methods with sweeps, seeds, training settings, profiles and what to report.

A suite whose default profile is `auto` says what to pick, and what to tell the user about it:

    default_profile: auto
    auto: {cpu: digits, cuda: cifar-small, hint: "profile=paper is the whole published protocol"}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from functools import cache
from importlib import resources
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar
from warnings import warn

from pydantic import ValidationError
from pydantic.dataclasses import dataclass

from mobench.core.cuda import cuda_is_available
from mobench.errors import UserError, misshaped, nearest, unknown
from mobench.planning.overrides import overlay, with_one_length
from mobench.planning.suite_parts import AUTO, SEEDS, STANDARD, STRICT, Parts, Profile, SuiteFile
from mobench.planning.variants import without_other_length
from mobench.planning.yaml_text import read_mapping

SUFFIXES = (".yaml", ".yml")
Document = TypeVar("Document")


@dataclass(frozen=True, config=STRICT)
class Suite(Parts):
    """One suite under one profile, as read from its file; not yet checked against the registry."""

    name: str
    profile: str
    title: str
    remark: str = ""
    """What to tell the user about how the profile was chosen."""
    cpu_profile: str = ""
    """Where the machine picked the profile for its GPU: the one that it would pick without."""
    seeds: tuple[int, ...] = (0,)
    file: str = ""
    """The path of a file of the user's own; empty for a suite that has a name."""


def suite_files(folder: str = "") -> dict[str, Path]:
    """Return the suites that ship with mobench or with installed packages, or the files of a folder beside ours.

    A package announces its suites as an entry point of the group `mobench.suites` that names a package of YAML files.
    """
    root = Path(str(resources.files("mobench.suites"))) / folder
    own = {file.stem: file for file in sorted(root.glob("*.yaml"))}
    return own if folder else {**_packaged_suites(), **own}


def _package(entry: EntryPoint) -> str:
    """Return who announced an entry point, and what it names."""
    return f"the package {entry.dist.name if entry.dist else 'unknown'} ({entry.value})"


@cache
def _packaged_suites() -> dict[str, Path]:
    """Return the suites of installed packages; a package that is broken costs only its own, with a warning."""
    found: dict[str, Path] = {}
    for entry in entry_points(group="mobench.suites"):
        try:
            folder = find_spec(entry.value)
        except (ImportError, ValueError, AttributeError) as error:
            warn(f"suites of {_package(entry)} cannot be found: {error}", RuntimeWarning, stacklevel=2)
            continue
        places = folder.submodule_search_locations if folder else None
        if not places:
            warn(f"suites of {_package(entry)} cannot be found: it is no package", RuntimeWarning, stacklevel=2)
        found |= {file.stem: file for place in places or () for file in sorted(Path(place).glob("*.yaml"))}
    return found


def load_suite(name: str, profile: str | None = None, device: str = "auto") -> Suite:
    """Read a suite by its name or by the path of a YAML file, under a profile, by default one that fits `device`."""
    file, raw, whole = _read(name)
    chosen, remark = choose_profile(file.stem, whole, profile, device)
    body = {key: value for key, value in raw.items() if key not in ("profiles", "default_profile", AUTO)}
    own = raw.get("profiles", {}).get(chosen) or {}
    merged = overlay(body, own)
    parts = validated(Profile, merged, f"{file.name}, profile {chosen}")
    if parts.training:
        common = body.get("training") or {}
        try:
            lengths = [with_one_length(common, {}), with_one_length(own.get("training") or {}, common)]
        except UserError as error:
            raise UserError(f"{file.name}, profile {chosen}: {error}") from None
        parts = replace(parts, training={**lengths[0], **lengths[1]})
    if parts.include and set(merged) - {"title", "about", "include"}:
        raise UserError(f"{file.name}: a suite that includes others has a title, about and profiles, and nothing else")
    if not parts.include and not parts.problems:
        raise UserError(f"{file.name}: a suite needs problems (or includes other suites)")
    resolved = {
        "methods": _with_common(parts),
        "title": parts.title or file.stem,
        "file": "" if name in suite_files() else name,
        "seeds": parse_seeds(parts.seeds, tuple(whole.seeds) if isinstance(whole.seeds, list) else ()),
        "include": _beside(file, "include", parts.include, suite_files()),
        "published_tables": _beside(file, "published_tables", parts.published_tables, suite_files("published")),
    }
    same: dict[str, Any] = {part.name: getattr(parts, part.name) for part in fields(Parts)}
    cpu_profile = whole.auto.cpu if remark and whole.auto and chosen != whole.auto.cpu else ""
    return Suite(name=file.stem, profile=chosen, remark=remark, cpu_profile=cpu_profile, **{**same, **resolved})


def _with_common(parts: Parts) -> dict[str, Any]:
    """Return the entries of the methods, with what the suite says of every method."""
    if not parts.every_method:
        return dict(parts.methods)
    listed = {name: entry if isinstance(entry, list) else [entry] for name, entry in parts.methods.items()}
    return {name: [_with_own(parts.every_method, variant) for variant in entry] for name, entry in listed.items()}


def _with_own(common: Mapping[str, Any], variant: Mapping[str, Any]) -> dict[str, Any]:
    for key in variant:
        common = without_other_length(common, key)
    return {**common, **variant}


def choose_profile(name: str, suite: SuiteFile, asked: str | None, device: str = "auto") -> tuple[str, str]:
    """Return the profile that is meant, and a sentence for the user where the machine decided."""
    chosen = asked or suite.default_profile or STANDARD
    if chosen == AUTO and suite.auto is not None:
        there = cuda_is_available() if device == "auto" else device.startswith("cuda")
        here = "a CUDA device is here" if there else "no CUDA device here"
        reason = here if device == "auto" else f"device={device}"
        chosen = suite.auto.cuda if there else suite.auto.cpu
        return chosen, f"{name}: picked profile={chosen} ({reason}); {suite.auto.hint}"
    if chosen not in suite.profile_names:
        raise unknown(f"profile of suite {name}:", chosen, suite.profile_names)
    return chosen, ""


def included(name: str, profile: str | None = None, above: tuple[str, ...] = ()) -> list[str]:
    """Return the suites that a suite consists of, by name or path: those it includes, or itself."""
    if name in above:
        raise UserError(f"suite {name} includes itself: {' → '.join((*above, name))}")
    parts = load_suite(name, profile).include
    return [leaf for part in parts for leaf in included(part, profile, (*above, name))] if parts else [name]


def load_suites(names: Iterable[str], profile: str | None = None, device: str = "auto") -> list[Suite]:
    """Read the named suites; one that includes others becomes its parts."""
    return [load_suite(part, profile, device) for name in names for part in included(name, profile)]


def profiles_of(name: str) -> list[str]:
    """Return the names of a suite's profiles."""
    return _read(name)[2].profile_names


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
    if name in files or (file.suffix in SUFFIXES and file.is_file()):
        return file
    raise UserError(f"{kind}={name}: there is no such file") if file.suffix in SUFFIXES else unknown(kind, name, files)


def validated(type_: type[Document], raw: dict[str, Any], place: str) -> Document:
    """Return what a document says, or refuse it with the path of what does not fit `type_`."""
    try:
        return type_(**raw)
    except ValidationError as error:
        raise misshaped(place, raw, error) from None


def _read(name: str) -> tuple[Path, dict[str, Any], SuiteFile]:
    """Return a suite's file and what it says, which has the right shape in every profile."""
    file = find_file("suite", name, suite_files())
    raw = read_mapping(file, file.name)
    suite = validated(SuiteFile, raw, file.name)
    named = {"auto.cpu": suite.auto.cpu, "auto.cuda": suite.auto.cuda} if suite.auto else {}
    if suite.default_profile and not (suite.default_profile == AUTO and suite.auto):
        named["default_profile"] = suite.default_profile
    for key, profile in named.items():
        if profile not in suite.profile_names:
            accepted = nearest(profile, suite.profile_names)
            raise UserError(f"{file.name}: {key}={profile} is not one of its profiles.{accepted}")
    return file, raw, suite


def _beside(file: Path, key: str, names: tuple[str, ...], known: dict[str, Path]) -> tuple[str, ...]:
    """Resolve YAML files that another one names: they lie beside it."""
    found = [str((file.parent / name).resolve()) if Path(name).suffix in SUFFIXES else name for name in names]
    for position, name in enumerate(found):
        try:
            find_file(key, name, known)
        except UserError as error:
            raise UserError(f"{file.name}: {key}[{position}]: {error}") from None
    return tuple(found)
