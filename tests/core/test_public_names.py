"""What `import mobench` offers."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

import mobench


def test_names_that_are_listed_are_there_and_the_version_is_the_packages() -> None:
    listed = dir(mobench)
    assert {"Method", "MultiObjective", "combine", "register", "__version__"} <= set(listed)
    assert all(hasattr(mobench, name) for name in listed)
    assert mobench.__version__ == version("mobench")
    with pytest.raises(AttributeError, match="no attribute 'Methud'"):
        mobench.Methud  # type: ignore[attr-defined]  # noqa: B018


def test_importing_the_package_does_not_import_torch() -> None:
    script = "import sys, mobench; dir(mobench); mobench.__version__; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
