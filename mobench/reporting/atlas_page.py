"""The atlas as text, as a grid of letters and as a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from mobench.errors import UserError
from mobench.scoring.atlas import Atlas, Classes, Column, Comparison, Condition, method_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEGEND = (
    "Columns: the number of objectives, × where gradients conflict, = where they have equal lengths. Methods with one "
    "letter in a column have one direction there: a capital over whole runs, a small letter at the first step only. "
    "± marks a direction that is opposite in a share of steps, a dot one like no other. In the lists = joins methods "
    "with the same update, ∥ methods with the same direction."
)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
COLORS = ("#2f6fb5", "#c9782b", "#3f8f4f", "#b5485d", "#7a5aa6", "#8a6d3b", "#2a9d9d", "#c25fb0", "#9a9a2e", "#5f6b7a")
PICTURE = "atlas.png"
BEGIN, END = '[atlas]: # "written by mobench atlas from here"', '[atlas-end]: # "to here"'
"""Link definitions that nothing refers to: no reader of Markdown shows them."""


@dataclass(frozen=True)
class Mark:
    """The entry of a method on one kind of gradients."""

    run: str = ""
    """The letter of its direction over whole runs."""
    first: str = ""
    """The letter of its direction at the first step, where more methods have it there."""
    opposite: bool = False
    """Whether its direction is opposite to that of the letter in a share of steps."""

    @property
    def text(self) -> str:
        """The mark as it is printed."""
        return f"{self.run}{self.first.lower()}{'±' if self.opposite else ''}" or "·"


def spelled_class(updates: Sequence[Sequence[str]]) -> str:
    """Return a class of one direction in signs; settings are left out where the method's defaults are in it too."""
    inside = {label for same in updates for label in same}
    shown = [[label for label in same if label == (name := method_of(label)) or name not in inside] for same in updates]
    return " ∥ ".join(" = ".join(same) for same in shown if same)


def sections(atlas: Atlas, methods: Collection[str] = ()) -> list[tuple[str, list[str]]]:
    """Return headings with lines: what is found for each K whatever the gradients, then what each kind of them adds.

    With `methods` only the lines about these.
    """
    found = [(f"K = {k}, whatever the gradients", _directions(atlas.always(k), methods)) for k in atlas.counts]
    for first, run in zip(atlas.columns[::2], atlas.columns[1::2], strict=True):
        known = _directions(atlas.always(run.condition.k), methods)
        over = [line for line in _directions(run.classes, methods) if line not in known]
        at_first = [line for line in _directions(first.classes, methods) if line not in (*known, *over)]
        lines = [f"over whole runs: {line}" for line in over] + [f"at the first step: {line}" for line in at_first]
        for one in _about(first.opposite, methods):
            lines.append(f"one line: {one.one} and {one.other}, opposite in {100 * one.value:.2g} % of steps")
        lines += [
            f"nearly ({f'{one.value:.0e}'.replace('e-0', 'e-')}): {one.one} ∥ {one.other}"
            for one in _about(run.nearly, methods)
        ]
        found.append((first.condition.words, lines))
    return [(heading, lines) for heading, lines in found if lines]


def _directions(classes: Classes, methods: Collection[str]) -> list[str]:
    chosen = (
        updates
        for updates in classes
        if not methods or any(method_of(label) in methods for same in updates for label in same)
    )
    return [spelled_class(updates) for updates in chosen]


def _about(comparisons: Iterable[Comparison], methods: Collection[str]) -> list[Comparison]:
    return [one for one in comparisons if not methods or {method_of(one.one), method_of(one.other)} & {*methods}]


def grid(atlas: Atlas) -> dict[str, dict[Condition, Mark]]:
    """Return the marks of every method, and of settings that give a method another direction, related ones together."""
    marks: dict[str, dict[Condition, Mark]] = {name: {} for name in atlas.methods}
    letters = _Letters()
    pairs = zip(atlas.columns[::2], atlas.columns[1::2], strict=True)
    for first, run in sorted(pairs, key=lambda pair: pair[0].condition.equal):
        runs = letters.of(_lines(run))
        firsts = letters.of(_lines(first), runs)
        turned = {one.other for one in first.opposite}
        for label, letter in firsts.items():
            own = runs.get(label, "")
            mark = Mark(own, "" if own == letter else letter, label in turned)
            marks.setdefault(label, {})[first.condition] = mark
    shown = {label: found for label, found in marks.items() if _matters(label, found, marks[method_of(label)])}
    order = [column.condition for column in atlas.columns[::2]]

    def place(row: tuple[str, dict[Condition, Mark]]) -> list[tuple[str, str]]:
        texts = [row[1].get(each, Mark()).text for each in order]
        return [(text.upper(), text) for text in texts]

    return dict(sorted(shown.items(), key=place))


def _lines(column: Column) -> list[list[str]]:
    """Return the classes that get one letter: one direction, sometimes the opposite one."""
    lines = [[label for same in updates for label in same] for updates in column.classes]
    for one in column.opposite:
        line = next((line for line in lines if one.one in line), None)
        if line is None:
            lines.append([one.one, one.other])
        else:
            line.append(one.other)
    return lines


def _matters(label: str, found: Mapping[Condition, Mark], defaults: Mapping[Condition, Mark]) -> bool:
    """Say whether a row is of defaults, or of settings with a direction that the defaults lack on unequal lengths."""
    return found is defaults or any(
        mark.run and mark.run != defaults.get(condition, Mark()).run
        for condition, mark in found.items()
        if not condition.equal
    )


def atlas_text(atlas: Atlas, methods: Collection[str] = ()) -> str:
    """Return the atlas as it is printed, in 80 columns: the grid, then the lists; with `methods` only about these."""
    conditions = [column.condition for column in atlas.columns[::2]]
    heads = [f"{each.k}{'×' if each.conflict else ''}{'=' if each.equal else ''}" for each in conditions]
    rows = {label: marks for label, marks in grid(atlas).items() if not methods or method_of(label) in methods}
    width = max(map(len, ("method", *rows)))
    lines = [f"{'method':{width}} {' '.join(f'{head:3}' for head in heads)}"]
    for label, marks in rows.items():
        lines.append(f"{label:{width}} {' '.join(f'{marks.get(each, Mark()).text:3}' for each in conditions)}")
    scope = (
        f"{len(atlas.methods)} methods; {atlas.draws:,} first steps and {atlas.runs} runs of {atlas.steps} steps each."
    )
    found = sections(atlas, methods) or [("No other method has their update or direction.", [])]
    left_out = [f"{name}: {why}" for name, why in atlas.left_out.items()]
    lines += ["", *wrap(f"{LEGEND} {scope}", 80)]
    for heading, listed in [*found, *([("Left out", left_out)] if left_out else [])]:
        lines += ["", heading]
        for line in listed:
            lines += wrap(line, 80, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(map(str.rstrip, lines))


def atlas_page(atlas: Atlas, page: str = "") -> str:
    """Return the page of an atlas; of a `page` that exists only what stands between the marks is written anew."""
    head, begin, rest = (page or f"# Which methods differ\n\n![]({PICTURE})\n\n{BEGIN}\n{END}\n").partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise UserError(f"the page of the atlas lacks the marks between which tables go: {BEGIN} and {END}")
    return f"{head}{BEGIN}\n\n```text\n{atlas_text(atlas)}\n```\n\n{END}{tail}"


class _Letters:
    """Letters of classes, such that a class keeps its letter from column to column as far as it can."""

    def __init__(self) -> None:
        self.given: Counter[tuple[str, str]] = Counter()
        """How often a label was given a letter."""

    def of(self, classes: Iterable[Sequence[str]], finer: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the letter of every label, another one for each class; `finer` has the letters of parts of classes."""
        found: dict[str, str] = {}
        known = {letter for _, letter in self.given}
        for labels in sorted(classes, key=len, reverse=True):
            parts = Counter((finer or {}).get(label) for label in labels)
            free = [letter for letter in ALPHABET if letter not in found.values()]
            score = {each: (parts[each], sum(self.given[label, each] for label in labels)) for each in free}
            found |= dict.fromkeys(labels, max(free, key=lambda letter: (score[letter], letter not in known)))
        self.given.update((label, letter) for label, letter in found.items())
        return found


def draw_atlas(atlas: Atlas) -> Figure:
    """Return the picture: a row per method, a column per kind of gradients, a colour for each direction."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    rows = grid(atlas)
    conditions = [column.condition for column in atlas.columns[::2]]
    lefts = [place + 0.5 * (place // 4) for place in range(len(conditions))]
    width = lefts[-1] + 1.0
    figure = Figure(figsize=(2.6 + 0.46 * width, 1.3 + 0.19 * len(rows)))
    axis = figure.subplots()
    for height, (label, marks) in enumerate(rows.items()):
        axis.text(-0.25, height, label, ha="right", va="center", fontsize=7.5, color="#222222" if marks else "#8a8a8a")
        for left, condition in zip(lefts, conditions, strict=True):
            mark = marks.get(condition, Mark())
            letter = mark.run or mark.first
            if not letter:
                axis.text(left + 0.5, height, "·", ha="center", va="center", color="#8a8a8a")
                continue
            color = COLORS[ALPHABET.index(letter) % len(COLORS)]
            face = color if mark.run else "none"
            axis.add_patch(Rectangle((left + 0.04, height - 0.42), 0.92, 0.84, facecolor=face, edgecolor=color))
            ink = "white" if mark.run else color
            axis.text(left + 0.5, height, mark.text, ha="center", va="center", fontsize=7, color=ink, weight="bold")
    for left, condition in zip(lefts, conditions, strict=True):
        words = f"{'conflict' if condition.conflict else 'no conflict'}{', equal' if condition.equal else ''}"
        axis.text(left + 0.5, -0.8, words, rotation=60, ha="left", va="bottom", fontsize=7, color="#444444")
        if not condition.equal and condition.conflict:
            axis.text(left + 2.0, len(rows), f"K = {condition.k}", ha="center", va="top", fontsize=9, weight="bold")
    axis.set_xlim(0, width)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.axis("off")
    return figure
