"""Commands run in the process of the tests, which has loaded torch already: faster than a process for each."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path

from mobench.cli import main
from mobench.core import registry


def run_here(*arguments: str, cwd: Path, code: int = 0) -> str:
    """Run a command in this process; return what it prints, on standard error for exit code 2."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        returned = main(arguments)
    assert returned == code, out.getvalue() + err.getvalue()
    return err.getvalue() if code == 2 else out.getvalue()


@contextlib.contextmanager
def plugins_forgotten() -> Iterator[None]:
    """Forget afterwards what was registered inside."""
    registry.methods(), registry.problems()
    before, loaded = registry._found, set(sys.modules)
    registry._found = {kind: dict(getattr(registry, kind)()) for kind in registry.PACKAGES}
    try:
        yield
    finally:
        registry._found = before
        for name in set(sys.modules) - loaded:
            if name.startswith("mobench_plugin_"):
                del sys.modules[name]
