"""Facts about results as sentences. Scoring states facts; every sentence about a table is made here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mobench.reporting.atlas_page import spelled_class
from mobench.scoring.atlas import Classes
from mobench.scoring.claims import ClaimResult
from mobench.scoring.contender import spelled
from mobench.scoring.headline import AIM
from mobench.scoring.indicators.paired import FEWEST_SEEDS
from mobench.scoring.indicators.ranks import LEVEL
from mobench.scoring.indicators.signed_rank import smallest_p_value
from mobench.scoring.pairs import Pair
from mobench.scoring.provenance import Provenance
from mobench.scoring.results import SuiteResults
from mobench.scoring.runs import LACKS
from mobench.scoring.standings import Standings
from mobench.scoring.tables import Estimate, Note, Table

INTERVALS = "In brackets: 95 % bootstrap interval over seeds."
REFERENCES = (
    "Below the methods: other algorithms at the largest stored number of evaluations that the largest sweep affords. "
    "A step counts as one evaluation, and its gradients are not counted."
)


def sentences(table: Table) -> list[str]:
    """Return the notes of a table as sentences, each once."""
    meanings = [f"{column.label}: {column.note.rstrip('.')}." for column in table.columns if column.note]
    return list(dict.fromkeys([*meanings, *map(sentence, table.notes)]))


def sentence(note: Note) -> str:
    """Return a fact as a sentence."""
    return _SENTENCES[note.kind](*note.values)


def verdict(table: Table) -> str:
    """Say which row is first, and how many others cannot be told from it."""
    ranked = [row for row in table.rows if isinstance(cell := row.cells[table.place(AIM)], Estimate) and cell.values]
    if not ranked:
        return "No method finished."
    first, others = ranked[0].title, len(ranked) - 1
    if not others:
        return f"{first} is the only method."
    if not table.leaders:
        return f"{first} is first; it takes {FEWEST_SEEDS} seeds to tell methods apart."
    tied = len(table.leaders) - 1
    above = ranked[: 1 + max(place for place, row in enumerate(ranked) if row.label in table.leaders)]
    apart = [row.title for row in above if row.label not in table.leaders]
    if not tied:
        return (
            f"{first} is first, and at equal seeds told from {'the other' if others == 1 else f'all {others} others'}."
        )
    words = f"{first} is first; {tied} of {others} others cannot be told from it at equal seeds."
    if apart:
        words += f" Above the line, {_listed(apart)} {'is' if len(apart) == 1 else 'are'} told from it all the same."
    return words


def verdict_on_claims(claims: Sequence[ClaimResult]) -> str:
    """Say how many claims hold."""
    looked_at = [claim for claim in claims if claim.holds is not None]
    return f"{sum(bool(claim.holds) for claim in looked_at)} of {len(looked_at)} claims hold in these runs."


def verdict_on_pair(pair: Pair) -> str:
    """Say whether two contenders are told apart, in a sentence or two."""
    first, second, count = pair.first, pair.second, len(pair.frame)
    ahead = int((pair.frame["won"] > pair.frame["lost"]).sum())
    behind = int((pair.frame["won"] < pair.frame["lost"]).sum())
    counted = f"{first} is ahead in {ahead} and {second} in {behind} of {_contests(count)}"
    if pair.p is None:
        return f"{counted}: they are equal everywhere."
    told = f"exact signed-rank test over contests, p = {pair.p:.3g}"
    if pair.p < LEVEL:
        return f"{counted} ({told}): {first if ahead > behind else second} is better."
    least = smallest_p_value(ahead + behind)
    few = f" With {_contests(ahead + behind)}, p is never below {least:.2g}." if least >= LEVEL else ""
    return f"{counted} ({told}): this does not tell them apart.{few}"


def _contests(number: int) -> str:
    return f"{number} contest{'' if number == 1 else 's'}"


def state(results: SuiteResults) -> str:
    """Say how many runs are stored, and how many of them failed."""
    failed = f", {results.failed} of them failed" if results.failed else ""
    failed += f" ({results.diverged} diverged)" if results.diverged else ""
    return f"{len(results.table)} of {results.planned} planned runs are stored{failed}"


def incomplete_lines(results: SuiteResults) -> list[str]:
    """Say, for every method and set of missing metrics, whose runs count as failed, and why."""
    table = results.table
    found = table[table["error"].astype(str).str.startswith(LACKS)]
    return [
        f"{contender}: {len(runs)} of its runs {'counts' if len(runs) == 1 else 'count'} as failed: {error}"
        for (contender, error), runs in found.groupby(["contender", "error"], sort=False)
    ]


def remarks_on(found: Standings) -> list[str]:
    """Say who and what is not ranked, and what the ranks cannot tell."""
    ranked, said = found.ranked, []
    if ranked.unranked:
        said.append(f"Not ranked, since not entered in every ranked suite: {', '.join(ranked.unranked)}.")
    if ranked.left_out:
        suites = sorted({contest.suite for contest in ranked.left_out})
        said.append(f"Not part of the ranking, since not all ranked contenders entered: {', '.join(suites)}.")
    single = sorted({contest.suite for contest in ranked.contests if len(contest.values) == 1})
    if single:
        said.append(f"One seed only in {', '.join(single)}: intervals lack its noise.")
    if ranked.contests and found.critical_difference is None:
        blocks = f"{found.blocks} {found.unit}{'s' * (found.blocks != 1)}"
        said.append(f"{blocks} cannot tell {len(ranked.contenders)} contenders apart.")
    return said


def provenance_facts(found: Provenance) -> list[tuple[str, list[str]]]:
    """Return where results come from, as terms and descriptions."""

    def counted(counts: dict[str, int]) -> list[str]:
        return [f"{key} ({count} runs)" for key, count in sorted(counts.items(), key=lambda item: -item[1])]

    rows = [
        ("mobench", counted(found.versions)),
        ("commit", counted(found.commits)),
        ("libraries", counted(found.libraries)),
        ("machines", counted(found.machines)),
        ("ran", [f"{_minute(found.first)} to {_minute(found.last)}"] if found.first else []),
    ]
    notes = ["A plus after a commit: the sources differed from it."] if any("+" in key for key in found.commits) else []
    return [(term, entries) for term, entries in [*rows, ("", notes)] if entries]


def _minute(stamp: str) -> str:
    return f"{stamp[:10]} {stamp[11:16]} UTC"


def selection_policy(results: SuiteResults) -> list[str]:
    """Say on which data configurations are selected, and on which they are measured."""
    notes = (note for table in results.tables for note in table.notes if note.kind == "selected")
    return list(dict.fromkeys(map(sentence, notes)))


def _listed(names: Sequence[str]) -> str:
    *some, last = names
    return f"{', '.join(some)} and {last}" if some else last


def how_selected(on: Iterable[tuple[str, str, bool]], measured: str) -> str:
    """Say how configurations are chosen, without a full stop.

    `on` has the data, the label of the metric and whether it is the number shown, for each way of choosing.
    """
    ways: dict[str, None] = {}
    for data, label, itself in on:
        place = f"on {data} data" if data else ""
        if itself:
            place = f"{place} by the numbers shown, so that a longer sweep has an advantage".strip()
        ways[place or f"by {label}"] = None
    if not ways:
        return "every method has one configuration, so none is selected"
    words = f"configurations are selected {', or '.join(ways)}"
    return f"{words}; they are measured on {measured} data" if measured else words


def _selected(on: Iterable[tuple[str, str, bool]], measured: str) -> str:
    words = how_selected(on, measured)
    return f"{words[0].upper()}{words[1:]}."


def _fixed(label: str, settings: Mapping[str, Mapping[str, Any]]) -> str:
    shown = [
        f"{name} at {', '.join(f'{k}={spelled(v)}' for k, v in given.items())}" for name, given in settings.items()
    ]
    return f"{label}: {', '.join(shown)}, not selected."


def _one_direction(k: int, classes: Classes) -> str:
    signs = "one direction (∥), or are one update (=) and differ by rounding alone"
    return f"On any {k} gradients these have {signs}: {'; '.join(map(spelled_class, classes))}."


_SENTENCES: dict[str, Callable[..., str]] = {
    "one-direction": _one_direction,
    "intervals": lambda: INTERVALS,
    "differences": lambda: (
        "In brackets: 95 % interval over seeds, of the difference to the first Student's t at equal seeds."
    ),
    "too-few-seeds": lambda fewest: f"It takes {fewest} seeds to tell methods apart.",
    "selected": _selected,
    "fixed": _fixed,
    "references": lambda: REFERENCES,
    "remark": lambda text: text,
    "published": lambda text: f"Published: {text}",
}
"""By kind of note, what makes its sentence."""
