"""`mobench submit`: the results of a method, or the reference results of a suite, as one file for the leaderboard."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobench.cli.command import RESULTS, Command, names
from mobench.core.settings import choice, text
from mobench.errors import UserError

if TYPE_CHECKING:
    from mobench.submissions import Bundle

COMMANDS = 5
"""How many commands for missing runs are printed."""


class Submit(Command):
    """Write the results of a method as one file, for the leaderboard."""

    name = "submit"
    loads = "packages"
    examples = """
  mobench run suite=plane plugins=mine.py methods=+mine
  mobench submit by="Ada Lovelace" plugins=mine.py out=mine.jsonl.gz
  mobench submit results=out suite=escape profile=paper methods=mine by="Ada" \\
      plugins=mine.py source=yes out=mine.jsonl.gz
  mobench submit reference=yes suite=escape by="The maintainers" \
      out=leaderboard/submissions/reference-escape.jsonl.gz
  mobench submit reference=yes suite=reference by="The maintainers" out=leaderboard/submissions
"""

    by: str = text("", meaning="who submits; shown on the leaderboard", shown="NAME")
    contact: str = text("", meaning="where to ask")
    notes: str = text("", meaning="what a reader should know")
    out: str = text("", meaning="the bundle; a folder takes one reference for each suite", shown="FILE.jsonl.gz|DIR")
    results: str = RESULTS
    suite: list[str] = names(meaning="only these suites; left out: all with runs of the methods", shown="NAME[,NAME]")
    profile: str | None = text(None, meaning="only this profile; left out: all that were run", shown="NAME")
    reference: str = choice(
        "no", ("yes", "no"), meaning="all runs of the suites with the methods they list: results that ship with mobench"
    )
    methods: list[str] = names(meaning="which methods; left out: those that do not ship with mobench", shown="A,B")
    plugins: list[str] = names(meaning="the files of these methods; only their hashes are taken", shown="PATH[,PATH]")
    source: str = choice("no", ("yes", "no"), meaning="put the files' text into the bundle, for reviewers")

    def execute(self) -> int:
        self.by, self.contact, self.notes = self.by.strip(), self.contact.strip(), self.notes.strip()
        _check_texts(self)
        from mobench.store.atomic import write_atomically
        from mobench.store.folder import Store
        from mobench.submissions import encode_bundle, findings, parse_bundle
        from mobench.submissions.collecting import Collected, Request, collect, plugin_files
        from mobench.submissions.reference import collect_reference, split_by_suite

        root = Path(self.results)
        if not root.is_dir():
            raise UserError(f"results={root}: there is no such folder")
        request = Request(
            by=self.by,
            contact=self.contact,
            notes=self.notes,
            suites=list(self.suite) or None,
            profile=self.profile,
            methods=list(self.methods) or None,
        )
        store, out = Store(root), Path(self.out)
        if self.reference == "yes":
            asked = split_by_suite(request, out) if out.is_dir() else {out: request}
            gathered = [(file, Collected(collect_reference(store, part), ())) for file, part in asked.items()]
        else:
            gathered = [(out, collect(store, request, plugin_files(self.plugins), self.source == "yes"))]
        written, refused = [], []
        for file, collected in gathered:
            content = encode_bundle(collected.bundle)
            bundle = parse_bundle(file.name, content)
            if found := findings(bundle):
                whole = bundle.is_reference
                refused += [
                    *_points(found),
                    *(_suite_commands(bundle, root) if whole else _commands(bundle, root, self.plugins)),
                ]
            written.append((file, content, bundle, collected.left_out))
        if refused:
            raise UserError("\n".join(["nothing was written: these results would be refused", *refused]))
        for file, content, bundle, left_out in written:
            write_atomically(file, content, sync=True)
            _print_summary(bundle, file, len(content), left_out)
        return 0


def _check_texts(asked: Submit) -> None:
    from mobench.submissions import limits
    from mobench.submissions.accepted import is_plain

    if not asked.by:
        raise UserError('by="Your Name" is missing; the leaderboard shows who submitted')
    if not asked.out:
        raise UserError(f"out=FILE is missing, e.g. out=my-method{limits.SUFFIX}")
    if not asked.out.endswith(limits.SUFFIX) and not (asked.reference == "yes" and Path(asked.out).is_dir()):
        raise UserError(f"out={asked.out} is not accepted; a bundle's name ends in {limits.SUFFIX}")
    if asked.reference == "yes":
        from mobench.submissions.reference import PREFIX

        if asked.plugins or asked.source == "yes":
            raise UserError("reference=yes takes no plugins and no source: it holds methods that ship with mobench")
        if not Path(asked.out).name.startswith(PREFIX) and not Path(asked.out).is_dir():
            raise UserError(f"out={asked.out}: the name of a reference bundle starts with {PREFIX}")
    for key, length in (("by", limits.BY), ("contact", limits.CONTACT), ("notes", limits.NOTES)):
        text = getattr(asked, key)
        if len(text) > length:
            raise UserError(f"{key} has {len(text)} characters; {key} takes at most {length}")
        if not is_plain(text):
            raise UserError(f"{key} is not accepted; it takes one line without control or invisible characters")


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


def _suite_commands(bundle: Bundle, root: Path) -> list[str]:
    """Return the commands that run what is missing of whole suites."""
    from mobench.submissions.expected_runs import expected_runs

    place = [f"results={root}"] if str(root) != "results" else []
    lacking = [part for part in bundle.suites if not expected_runs(bundle, part).keys() <= {*part.runs}]
    words = (["mobench", "run", f"suite={part.suite}", f"profile={part.profile}", *place] for part in lacking)
    return ["This runs what is missing:", *(f"  {shlex.join(line)}" for line in words)] if lacking else []


def _spell(value: Any) -> str:
    return f"[[{','.join(map(str, value))}]]" if isinstance(value, tuple) else str(value)


def _points(texts: Sequence[str]) -> list[str]:
    from textwrap import fill

    return [fill(text, 79, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False) for text in texts]


def _print_summary(bundle: Bundle, out: Path, size: int, left_out: Sequence[str]) -> None:
    failed = sum(record.outcome.status == "failed" for record in bundle.records)
    print(f"{out}: {len(bundle.records)} runs ({failed} failed), {size / 1024:,.0f} KiB")
    for part in () if bundle.is_reference else bundle.suites:
        sizes = (f"{name} {len(points)}" for name, points in part.sweeps.items())
        print(f"  {part.label}: configurations tried: {', '.join(sizes)}")
    for point in _points(left_out):
        print(point.replace("- ", "  left out: ", 1))
    if not bundle.is_reference:
        print("Of curves only what is drawn is kept, of errors their last line.")
        print("Add the file under leaderboard/submissions/ in a pull request.")
