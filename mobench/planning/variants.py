"""Overrides of an entry with variants: each value goes to the variants that are meant for it.

A suite may list variants that differ in a word and in what follows from it,

    compression@2:
      - {network: [densenet-121, resnet-34], prox: 1e-3}
      - {network: mobilenet-v2, prox: 5e-4}

and `network=resnet-34` then means the first of them. Put into both it would plan every run twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mobench.core.settings import OF_TRAINING, Setting

Variant = dict[str, Any]

LENGTHS = (f"{OF_TRAINING}steps", f"{OF_TRAINING}epochs")
"""The two settings that say how long a run is, as an entry of a suite spells them."""


def without_other_length(variant: Mapping[str, Any], setting: str) -> dict[str, Any]:
    """Return a variant without its own length of a run where `setting`, which is to be laid over it, is the other."""
    return {key: value for key, value in variant.items() if setting not in LENGTHS or key not in LENGTHS}


def overridden(
    variants: Sequence[Variant], name: str, given: Any, settings: Mapping[str, Setting]
) -> list[dict[str, Any]]:
    """Return the variants with the setting `name` overridden.

    A number is put into every variant. A word goes to the variants that list it; one that none of them lists goes to
    the first of those that agree in all other words. A variant for which no value is left is dropped.
    """
    declared = settings.get(name)
    if len(variants) < 2 or declared is None or declared.kind != "choice":
        return [{**variant, name: given} for variant in variants]
    values = given if isinstance(given, list) else [given]
    listed = [_list(variant.get(name, declared.default)) for variant in variants]
    unlisted = [value for value in values if not any(value in own for own in listed)]
    words = [key for key, setting in settings.items() if setting.kind == "choice" and key != name]
    found: list[dict[str, Any]] = []
    met: set[str] = set()
    for variant, own in zip(variants, listed, strict=True):
        others = str([sorted(map(str, _list(variant.get(key, settings[key].default)))) for key in words])
        kept = [value for value in values if value in own or (value in unlisted and others not in met)]
        met.add(others)
        if kept:
            found.append({**variant, name: kept if isinstance(given, list) else given})
    return found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
