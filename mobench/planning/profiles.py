"""Which profile of a suite is meant: the one asked for, the suite's default, or what fits this machine.

A suite whose default is `auto` says what to pick, and what to tell the user about it:

    default_profile: auto
    auto: {cpu: digits, cuda: cifar-small, hint: "profile=paper is the whole published protocol"}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mobench.errors import unknown

STANDARD = "standard"
AUTO = "auto"


def profile_names(raw: Mapping[str, Any]) -> list[str]:
    """Return the profiles of a suite's file; one that names no default also has `standard`."""
    named = raw.get("profiles", {})
    return sorted(named) if "default_profile" in raw else sorted({STANDARD, *named})


def choose_profile(suite: str, raw: Mapping[str, Any], asked: str | None) -> tuple[str, str]:
    """Return the profile that is meant, and a sentence for the user where the machine decided."""
    names = profile_names(raw)
    chosen = asked or raw.get("default_profile", STANDARD)
    if chosen == AUTO and AUTO in raw:
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
        reason = "a CUDA device is here" if device == "cuda" else "no CUDA device here"
        chosen = raw[AUTO][device]
        return chosen, f"{suite}: picked profile={chosen} ({reason}); {raw[AUTO]['hint']}"
    if chosen not in names:
        raise unknown(f"profile of suite {suite}:", chosen, names)
    return chosen, ""
