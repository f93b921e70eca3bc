"""`mobench submit`: the results of a method as one file, for a pull request to the leaderboard."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobench.core.settings import Choice
from mobench.errors import UserError
from mobench.planning.overrides import parse_overrides

if TYPE_CHECKING:
    from mobench.submissions import Bundle

TEXTS = ("by", "contact", "notes", "out")
"""Keys whose value is taken as it is written."""
KEYS = ("results", "suite", "profile", "methods", "plugins", "source")
COMMANDS = 5
"""How many commands for missing runs are printed."""

EXAMPLES = """
examples:
  mobench run suite=plane plugins=mine.py methods=+mine
  mobench submit by="Ada Lovelace" plugins=mine.py out=mine.jsonl.gz
  mobench submit results=out suite=escape profile=paper methods=mine by="Ada" \\
      plugins=mine.py source=yes out=mine.jsonl.gz

keys:
  by=NAME                who submits; shown on the leaderboard
  contact=TEXT           where to ask
  notes=TEXT             what a reader should know
  out=FILE.jsonl.gz      the bundle
  results=DIR            where records are stored (default: results)
  suite=NAME[,NAME]      only these suites (default: all with runs of the methods)
  profile=NAME           only this profile (default: all that were run)
  methods=A,B            which methods (default: those that do not ship with mobench)
  plugins=PATH[,PATH]    the files of these methods; only their hashes are taken
  source=yes|no          put the files' text into the bundle, for reviewers (no)
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("settings", nargs="+", metavar="key=value", help="what to submit, see below")
    parser.epilog = EXAMPLES


def execute(arguments: argparse.Namespace) -> int:
    """Write the bundle, or refuse with everything that is missing."""
    texts, rest = _split(arguments.settings)
    overrides = parse_overrides(rest, (*KEYS, *TEXTS))
    _check_texts(texts)
    from mobench.store.atomic import write_atomically
    from mobench.store.folder import Store
    from mobench.submissions import encode_bundle, findings, parse_bundle
    from mobench.submissions.collecting import Request, collect, plugin_files

    root = Path(str(overrides.get("results", "results")))
    if not root.is_dir():
        raise UserError(f"results={root}: there is no such folder")
    request = Request(
        by=texts["by"],
        contact=texts.get("contact", ""),
        notes=texts.get("notes", ""),
        suites=overrides.get("suite"),
        profile=None if "profile" not in overrides else str(overrides["profile"]),
        methods=overrides.get("methods"),
    )
    files = plugin_files(overrides.get("plugins", []))
    collected = collect(Store(root), request, files, _wants_source(overrides))
    out = Path(texts["out"])
    content = encode_bundle(collected.bundle)
    bundle = parse_bundle(out.name, content)
    found = findings(bundle)
    if found:
        commands = _commands(bundle, root, overrides.get("plugins", []))
        raise UserError("\n".join(["nothing was written: these results would be refused", *_points(found), *commands]))
    write_atomically(out, content, sync=True)
    _print_summary(bundle, out, len(content), collected.left_out)
    return 0


def _split(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Take out the texts: a name like `Yes: 42` is not YAML."""
    texts: dict[str, str] = {}
    rest = []
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals or key not in TEXTS:
            rest.append(argument)
        elif key in texts:
            raise UserError(f"{key} is given twice")
        else:
            texts[key] = text.strip()
    return texts, rest


def _check_texts(texts: dict[str, str]) -> None:
    from mobench.submissions import limits
    from mobench.submissions.accepted import is_plain

    if not texts.get("by"):
        raise UserError('by="Your Name" is missing; the leaderboard shows who submitted')
    if not texts.get("out"):
        raise UserError(f"out=FILE is missing, e.g. out=my-method{limits.SUFFIX}")
    if not texts["out"].endswith(limits.SUFFIX):
        raise UserError(f"out={texts['out']} is not accepted; a bundle's name ends in {limits.SUFFIX}")
    for key, length in (("by", limits.BY), ("contact", limits.CONTACT), ("notes", limits.NOTES)):
        text = texts.get(key, "")
        if len(text) > length:
            raise UserError(f"{key} has {len(text)} characters; {key} takes at most {length}")
        if not is_plain(text):
            raise UserError(f"{key} is not accepted; it takes one line without control or invisible characters")


def _wants_source(overrides: dict[str, Any]) -> bool:
    value = overrides.get("source", "no")
    word = {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value
    return bool(Choice("no", "whether the source goes along", ("yes", "no")).parse("source", word) == "yes")


def _commands(bundle: Bundle, root: Path, plugins: Sequence[str]) -> list[str]:
    """Return the commands that run what is missing."""
    from mobench.submissions.expected_runs import expected_runs, requirements

    commands: dict[str, None] = {}
    for part in bundle.suites:
        for spec in (spec for id_, spec in expected_runs(bundle, part).items() if id_ not in part.runs):
            name = spec.method.partition("@")[0]
            method = next(method for method in bundle.methods if method.name == name)
            words = ["mobench", "run", f"suite={part.suite}", f"profile={part.profile}", f"methods={name}"]
            if requirements(part.suite, part.profile).sweep_of(method) is None:
                words += [f"methods.{name}.{key}={_spell(value)}" for key, value in spec.method_settings.items()]
            words += [f"results={root}"] if str(root) != "results" else []
            if method.source is not None:
                words.append(f"plugins={','.join(plugins) or 'FILE'}")
            commands[shlex.join(words)] = None
    if not commands:
        return []
    more = [f"… and {len(commands) - COMMANDS} more"] if len(commands) > COMMANDS else []
    return ["This runs what is missing:", *(f"  {command}" for command in list(commands)[:COMMANDS]), *more]


def _spell(value: Any) -> str:
    return f"[[{','.join(map(str, value))}]]" if isinstance(value, tuple) else str(value)


def _points(texts: Sequence[str]) -> list[str]:
    from textwrap import fill

    return [fill(text, 79, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False) for text in texts]


def _print_summary(bundle: Bundle, out: Path, size: int, left_out: Sequence[str]) -> None:
    failed = sum(record.outcome.status == "failed" for record in bundle.records)
    print(f"{out}: {len(bundle.records)} runs ({failed} failed), {size / 1024:,.0f} KiB")
    for part in bundle.suites:
        sizes = (f"{name} {len(points)}" for name, points in part.sweeps.items())
        print(f"  {part.label}: configurations tried: {', '.join(sizes)}")
    for text in _points(left_out):
        print(text.replace("- ", "  left out: ", 1))
    print("Of curves only what is drawn is kept, of errors their last line.")
    print("Add the file under leaderboard/submissions/ in a pull request.")
