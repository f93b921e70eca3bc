"""A suite is a YAML file: problems, methods with sweeps, seeds, training settings and profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from mobench.errors import UserError, unknown
from mobench.planning.overrides import overlay
from mobench.planning.profiles import choose_profile, profile_names
from mobench.planning.yaml_text import read_yaml

KEYS: dict[str, type | tuple[type, ...]] = {
    "title": str,
    "about": str,
    "problems": dict,
    "methods": dict,
    "seeds": (list, int),
    "training": dict,
    "metrics": list,
    "tables": list,
    "published": list,
    "published_tables": list,
    "selected": list,
    "split": list,
    "plots": list,
    "profiles": dict,
    "default_profile": str,
    "auto": dict,
    "time_limit": (int, float),
    "include": list,
}
"""What a suite file may contain, and the type of each part."""

LISTS = tuple(key for key, type_ in KEYS.items() if type_ is list)


@dataclass(frozen=True)
class Suite:
    """One suite under one profile, as read from its file; not yet checked against the registry."""

    name: str
    profile: str
    title: str
    remark: str = ""
    """What to tell the user about how the profile was chosen."""
    about: str = ""
    problems: dict[str, Any] = field(default_factory=dict)
    """Problem id → settings; a list is a sweep; a list of mappings are variants."""
    methods: dict[str, Any] = field(default_factory=dict)
    """Method name → settings, with the same meaning of lists."""
    seeds: tuple[int, ...] = (0,)
    training: dict[str, Any] = field(default_factory=dict)
    metrics: tuple[str, ...] = ()
    """The metrics that the suite is about, most important first."""
    tables: tuple[dict[str, Any], ...] = ()
    """Tables printed at the end of a run, see `mobench.scoring.tables`."""
    published: tuple[dict[str, Any], ...] = ()
    """Published numbers to print beside ours, see `mobench.scoring.published`."""
    published_tables: tuple[str, ...] = ()
    """Files of published numbers to show beside `selected`, see `mobench.scoring.published_values`."""
    selected: tuple[dict[str, Any], ...] = ()
    """Rows that report the selected configuration of every method, see `mobench.scoring.selected`."""
    split: tuple[str, ...] = ()
    """Settings that make different contenders of one method, e.g. `method.form`, see `mobench.scoring.contenders`."""
    plots: tuple[str | dict[str, Any], ...] = ()
    """Plots of a report: names, or mappings with the key `plot` and its options."""
    time_limit: float = 3600.0
    include: tuple[str, ...] = ()
    """Other suites that make up this one."""


def suite_files() -> dict[str, Path]:
    """Return the suites that ship with mobench, by name."""
    folder = Path(str(resources.files("mobench.suites")))
    return {file.stem: file for file in sorted(folder.glob("*.yaml"))}


def load_suite(name: str, profile: str | None = None) -> Suite:
    """Read a suite by its name or by the path of a YAML file, under a profile."""
    file, raw = _read(name)
    _check_keys(file.name, raw)
    chosen, remark = choose_profile(file.stem, raw, profile)
    profiles = raw.pop("profiles", {})
    raw = {key: value for key, value in raw.items() if key not in ("default_profile", "auto")}
    listed = raw.get("seeds")
    merged = overlay(raw, profiles.get(chosen) or {})
    _check_keys(f"profile {chosen} of {file.name}", merged)
    if "include" not in merged and not merged.get("problems"):
        raise UserError(f"{file.name}: a suite needs problems (or includes other suites)")
    lists: dict[str, Any] = {
        key: tuple(merged.pop(key)) for key in ("metrics", "tables", "published", "include") if key in merged
    }
    return Suite(
        name=file.stem,
        profile=chosen,
        remark=remark,
        title=merged.pop("title", file.stem),
        seeds=parse_seeds(merged.pop("seeds", 1), tuple(listed) if isinstance(listed, list) else ()),
        **merged,
        **lists,
    )


def profiles_of(name: str) -> list[str]:
    """Return the names of a suite's profiles."""
    return profile_names(_read(name)[1])


def parse_seeds(value: Any, listed: tuple[int, ...]) -> tuple[int, ...]:
    """Return the seeds meant by a count or a list; a count takes the listed ones first."""
    numbers = value if isinstance(value, (list, tuple)) else [value]
    if any(isinstance(number, bool) or not isinstance(number, int) or number < 0 for number in numbers):
        raise UserError(f"seeds={value} is not accepted; seeds takes a count like 3 or a list like [7,42]")
    if isinstance(value, (list, tuple)):
        if len(set(value)) != len(value) or not value:
            raise UserError(f"seeds={value} is not accepted; a list of seeds has each seed once")
        return tuple(value)
    if value < 1:
        raise UserError(f"seeds={value} is not accepted; at least one seed is needed")
    more = (seed for seed in range(10**9) if seed not in listed)
    return (*listed[:value], *(next(more) for _ in range(value - len(listed))))


def _check_keys(place: str, raw: Mapping[str, Any]) -> None:
    for key, value in raw.items():
        if key not in KEYS:
            raise unknown(f"key in {place}:", str(key), KEYS)
        if not isinstance(value, KEYS[key]):
            raise UserError(f"{place}: {key} has the wrong type: {value!r}")


def _read(name: str) -> tuple[Path, dict[str, Any]]:
    files = suite_files()
    file = files.get(name, Path(name))
    if name not in files and not (file.suffix in (".yaml", ".yml") and file.is_file()):
        if file.suffix in (".yaml", ".yml"):
            raise UserError(f"suite={name}: there is no such file")
        raise unknown("suite", name, files)
    try:
        raw = read_yaml(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"suite={name}: the file is not valid YAML: {error}") from None
    if not isinstance(raw, Mapping):
        raise UserError(f"suite={name}: the file must hold a mapping with keys {', '.join(KEYS)}")
    return file, dict(raw)
