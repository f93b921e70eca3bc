"""Torch's compiler, which takes as long to load as torch itself, and 150 MB: not needed where nothing is compiled."""

from __future__ import annotations

import sys


def leave_compiler_out(kind: type) -> None:
    """Let methods of a torch class run without loading the compiler.

    Torch excludes some methods from compilation. Such a method loads the compiler at its first call, has a function
    made of itself that is marked as excluded, and keeps that; if it has one already, it just calls it. Here it
    gets itself. A torch that keeps it under another name loads its compiler, as it would without this.
    """
    if "torch._dynamo" in sys.modules:
        return
    for method in vars(kind).values():
        if (itself := getattr(method, "__wrapped__", None)) is not None:
            itself.__dynamo_disable = itself
