"""YAML as people write it: `1e-4` is a number, a date is a text, and a key that stands twice is a mistake."""

from __future__ import annotations

import re
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from mobench.core.plain_text import plain
from mobench.errors import UserError, spelled

_TAG = "tag:yaml.org,2002:"
_PLAIN = tuple(_TAG + kind for kind in ("null", "bool", "int", "float", "str", "seq", "map"))


class _Loader(yaml.SafeLoader):
    """The safe loader with the number syntax of YAML 1.2, for plain values under keys that are texts."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag not in (f"{_TAG}str", f"{_TAG}merge"):
                shown = f"'{key.value}'" if isinstance(key, yaml.ScalarNode) else "a list or mapping"
                raise ConstructorError(None, None, f"the key {shown} is not a text; quote it", key.start_mark)
            if key.value in seen:
                raise ConstructorError(None, None, f"the key '{key.value}' stands twice", key.start_mark)
            seen.add(key.value)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep=True)  # deep: what contains itself is refused
        except ValueError:
            raise ConstructorError(None, None, "this value cannot be read", node.start_mark) from None
        if isinstance(value, str) and plain(value) != value:
            raise ConstructorError(None, None, f"unseen characters in '{spelled(plain(value))}'", node.start_mark)
        return value


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != f"{_TAG}timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    f"{_TAG}float",
    re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$|^[-+]?\.(inf|Inf|INF)$|^\.(nan|NaN|NAN)$"),
    list("-+0123456789."),
)
_Loader.yaml_constructors = {
    tag: construct for tag, construct in yaml.SafeLoader.yaml_constructors.items() if tag is None or tag in _PLAIN
}


def read_yaml(text: str) -> Any:
    """Return the value of a YAML text; raises `yaml.YAMLError`."""
    try:
        return yaml.load(text, Loader=_Loader)
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None


@lru_cache(maxsize=64)
def _parsed(text: str) -> Any:
    """Return what `read_yaml` does; commands read a suite several times, and the parser takes 0.1 s for a long one."""
    return read_yaml(text)


def read_mapping(file: Path, place: str) -> dict[str, Any]:
    """Return the mapping that a YAML file holds; `place` stands before what is wrong with it."""
    try:
        raw = deepcopy(_parsed(file.read_text(encoding="utf-8")))
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise UserError(f"{place}: not valid YAML: {line}{error.problem}") from None
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise UserError(f"{place}: not valid YAML: {str(error).partition(chr(10))[0]}") from None
    if not isinstance(raw, dict):
        raise UserError(f"{place}: the file must hold a mapping, not {type(raw).__name__}")
    return raw
