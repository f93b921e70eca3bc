"""`mobench new`: files to begin with, which run as they are."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from string import Template

from mobench.cli.command import Command
from mobench.core.settings import choice, text
from mobench.errors import UserError

FILES = {
    "method": {"method.py.txt": "{module}.py", "test_method.py.txt": "test_{module}.py"},
    "problem": {"problem.py.txt": "{module}.py", "test_problem.py.txt": "test_{module}.py"},
    "suite": {"suite.yaml.txt": "{name}.yaml"},
}
"""What is written for each kind: template and file name."""
NEXT = {
    "method": (
        "mobench check methods={name} plugins={path}",
        "mobench run suite=plane plugins={path} methods=+{name}",
        "mobench leaderboard build plugins={path}",
        "python -m http.server -d site",
    ),
    "problem": (
        "mobench check problems={name} plugins={path}",
        "mobench run problem={name} plugins={path} methods=pcd,mgda,ws",
        "mobench leaderboard build plugins={path}",
        "python -m http.server -d site",
    ),
    "suite": ("mobench run suite={path} --dry-run", "mobench run suite={path}", "mobench report suite={path}"),
}
"""The commands that come next."""
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class New(Command):
    """Write a method, problem or suite to begin with, and its test.

    Nothing that exists is overwritten.
    """

    name = "new"
    loads = "packages"
    words = ("kind", "called")
    examples = """
  mobench new method unit-sum
  mobench new problem my-problem folder=plugins
  mobench new suite my-suite
"""

    kind: str = choice(None, tuple(FILES), meaning="what to write")
    called: str | None = text(None, meaning="its name, in lower case, e.g. unit-sum", shown="NAME")
    folder: str = text(".", meaning="where to write it", shown="DIR")

    def execute(self) -> int:
        self.need("kind")
        self.need("called")
        name = str(self.called)
        if not _NAME.fullmatch(name):
            accepted = "a letter, then letters and digits in lower case, words divided by '-'"
            raise UserError(f"'{name}' is not accepted as a name; it takes {accepted}")
        self._refuse_taken(name)
        module = name.replace("-", "_")
        files = {template: file.format(name=name, module=module) for template, file in FILES[self.kind].items()}
        first, *tests = (str(Path(self.folder) / file) for file in files.values())
        fields = {
            "name": name,
            "title": name.replace("-", " ").capitalize(),
            "class_name": "".join(word.capitalize() for word in name.split("-")),
            "file": Path(first).name,
            "test_file": Path(tests[0]).name if tests else "",
        }
        scaffold = resources.files("mobench.scaffold")
        texts = {
            Path(self.folder) / file: Template((scaffold / template).read_text(encoding="utf-8")).substitute(fields)
            for template, file in files.items()
        }
        _write(texts)
        print(f"Wrote {' and '.join([first, *tests])}. It runs as it is; change it to yours. Next:")
        tested = [f"python -m pytest {test}" for test in tests]
        for command in (*(line.format(name=name, path=first) for line in NEXT[self.kind]), *tested):
            print(f"  {command}")
        return 0

    def _refuse_taken(self, name: str) -> None:
        """Refuse a name that something else already has."""
        from mobench.core import registry
        from mobench.planning.suite import suite_files

        known = {
            "method": lambda: {*registry.methods()},
            "problem": lambda: {id_.partition("@")[0] for id_ in registry.problems()},
            "suite": lambda: {*suite_files()},
        }
        if name in known[self.kind]():
            raise UserError(f"there is a {self.kind} called '{name}' already; choose another name")


def _write(texts: dict[Path, str]) -> None:
    """Write all files, or none."""
    for path in texts:
        if path.exists():
            raise UserError(f"{path} exists already; choose another name, or folder=DIR")
    written = []
    try:
        for path, content in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(content)
    except OSError as error:
        for path in written:
            path.unlink(missing_ok=True)
        raise UserError(f"{error.filename} cannot be written: {error.strerror}") from None
