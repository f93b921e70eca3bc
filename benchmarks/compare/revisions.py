"""A revision of the project in a worktree, installed into an environment of its own.

The heavy dependencies are not installed again: the environment sees the packages of the one that
runs the comparison, after its own. pip finds them there, so it installs mobench, and besides it only
what the revision requires and the present environment does not satisfy.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mobench.errors import UserError


@dataclass(frozen=True)
class Revision:
    """A commit, its files, and the interpreter that imports its mobench."""

    name: str
    commit: str
    files: Path
    python: Path


def commit_of(repository: Path, name: str) -> str:
    """Return the hash of the commit that `name` stands for."""
    found = _git(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", check=False)
    if found.returncode:
        raise UserError(f"unknown revision '{name}'; a branch, a tag or a commit of {repository} is accepted")
    return found.stdout.strip()


@contextmanager
def installed(repository: Path, name: str, folder: Path) -> Iterator[Revision]:
    """Check out a revision into `folder` and install it there; the worktree is removed at the end."""
    commit = commit_of(repository, name)
    files = folder / "files"
    _git(repository, "worktree", "add", "--quiet", "--detach", str(files), commit)
    try:
        yield Revision(name, commit, files, _install(files, folder / "environment"))
    finally:
        _git(repository, "worktree", "remove", "--force", str(files))


def _install(files: Path, environment: Path) -> Path:
    venv.create(environment, with_pip=False, symlinks=True)
    python = environment / "bin" / "python"
    (own,) = environment.glob("lib/python*/site-packages")
    # Names in a .pth file come after the folder it lies in, and the .pth files there are not read:
    # an editable mobench of the present environment stays out of sight.
    present = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (own / "present_environment.pth").write_text("".join(f"{path}\n" for path in present), encoding="utf-8")
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    answer = subprocess.run(
        [*pip, "install", "--no-build-isolation", str(files)], capture_output=True, text=True, cwd=environment
    )
    if answer.returncode:
        raise UserError(f"{files} cannot be installed: {answer.stderr.strip()}")
    where = subprocess.run(
        [python, "-c", "import mobench; print(mobench.__file__)"],
        capture_output=True,
        text=True,
        cwd=environment,
        check=True,
    ).stdout.strip()
    if not Path(where).is_relative_to(environment):
        raise UserError(f"{python} imports mobench from {where}; it has to come from {environment}")
    return python


def _git(repository: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, text=True, check=check)
