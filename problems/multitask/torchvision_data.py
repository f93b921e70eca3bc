"""Data sets that torchvision reads, or a message that says how to get them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mobench.errors import MissingDataError

Read = TypeVar("Read")


def read_or_explain(key: str, folder: Path, read: Callable[[], Read], needs: str = "") -> Read:
    """Return what `read` does, or say that `folder` does not hold the data that `key` asks for, and why."""
    try:
        return read()
    except Exception as error:  # noqa: BLE001 - downloaders have exceptions of their own
        reason = str(error).partition("\n")[0]
        raise MissingDataError(
            f"{key}: {folder} does not hold it ({reason}); data.root=DIR names another folder, "
            f"and data.download=true fetches it{needs}"
        ) from None
