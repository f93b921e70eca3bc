"""YAML as people write it: `1e-4` is a number (the YAML 1.1 of PyYAML reads it as a text)."""

from __future__ import annotations

import re
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """The safe loader with the number syntax of YAML 1.2."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$|^[-+]?\.(inf|Inf|INF)$|^\.(nan|NaN|NAN)$"),
    list("-+0123456789."),
)


def read_yaml(text: str) -> Any:
    """Return the value of a YAML text; raises `yaml.YAMLError`."""
    return yaml.load(text, Loader=_Loader)
