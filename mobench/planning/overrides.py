"""Overrides: dotted keys with values as they stand on the command line, laid over what a suite says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from mobench.core.settings import Setting
from mobench.errors import UserError, spelled
from mobench.planning.yaml_text import read_yaml


def read_value(key: str, setting: Setting | None, given: Any) -> Any:
    """Return the value of a text: as it stands for a text or a word, as YAML for everything else.

    In brackets or quotes a text is YAML too: a sweep, or what a shell would not let through.
    """
    plain = setting is not None and setting.kind in ("text", "choice")
    if not isinstance(given, str) or (plain and not given.startswith(("[", '"', "'"))):
        return given
    try:
        return read_yaml(given)
    except yaml.YAMLError:
        raise UserError(
            f"{key}={spelled(given)} cannot be read; give a number, a word, or a list like [0.1,0.2]"
        ) from None


def section(overrides: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the overrides below `name.`, with that prefix removed."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in overrides.items() if key.startswith(prefix)}


def with_one_length(change: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """Return training settings to be laid over less specific ones: a number of steps replaces one of epochs there.

    Both at one level are refused, since a run has one length.
    """
    if change.get("steps") and change.get("epochs"):
        raise UserError(
            f"training.steps={change['steps']} and training.epochs={change['epochs']} stand side by side, "
            "and a run has one length: leave one of them out"
        )
    return {**change, "epochs": 0} if change.get("steps") and base.get("epochs") else dict(change)


def overlay(base: Any, change: Any) -> Any:
    """Return `base` with `change` laid over it: mappings merge, everything else is replaced."""
    if isinstance(base, Mapping) and isinstance(change, Mapping):
        return {**base, **{key: overlay(base.get(key), value) for key, value in change.items()}}
    return change
