"""`mobench export RUN`: what a stored run trained, as a file to use elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mobench.core.settings import Setting
from mobench.errors import UserError
from mobench.planning.overrides import parse_overrides

KEYS = ("out", "results", "plugins")

EXAMPLES = """
examples:
  mobench export 3f2a target=0.9 out=model.pt
  mobench export 3f2a target=0.9 out=model.onnx results=elsewhere

keys:
  out=FILE      where to write; the suffix says in which form (for networks: .pt, .pth, .pt2, .onnx)
  results=DIR   where records are stored (default: results)
  plugins=PATH  Python files or folders with problems of your own
  and what the run's problem takes, e.g. target=0.9: remove this fraction of a network's parameters
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run", metavar="RUN", help="the run's id, or enough of its beginning")
    parser.add_argument("settings", nargs="*", metavar="key=value", help="out=FILE and more, see below")
    parser.epilog = EXAMPLES


def execute(arguments: argparse.Namespace) -> int:
    """Write the file and say what is in it."""
    from mobench.core.registry import load_plugins
    from mobench.store.folder import Store

    own = parse_overrides([given for given in arguments.settings if given.partition("=")[0] in KEYS], KEYS)
    load_plugins(own.get("plugins", []))
    store = Store(Path(str(own.get("results", "results"))))
    record = store.load(arguments.run)
    problem = record.spec.build_problem()
    given = parse_overrides(arguments.settings, (*KEYS, *problem.export_options))
    options = _checked(problem.export_options, given)
    if "out" not in given:
        raise UserError("out=FILE is missing; it says where to write, and its suffix in which form")
    if record.outcome.status != "done":
        raise UserError(f"run {record.id[:12]} failed and left nothing to export: {record.outcome.reason}")
    tensors, out = store.load_artifact(record.id), Path(str(given["out"]))
    try:
        told = problem.export(tensors, record.outcome.metrics, out, options)
    except OSError as error:
        raise UserError(f"out={out} cannot be written: {error}") from error
    print(f"run {record.id[:12]}: {record.spec.method} on {record.spec.problem}, seed {record.spec.seed}\n{told}")
    return 0


def _checked(declared: Mapping[str, Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every option the problem takes."""
    return {
        name: setting.parse(name, given[name]) if name in given else setting.default
        for name, setting in declared.items()
    }
