"""Rankings for the pages: the standings, with what every contender ran and cost in runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from mobench.reporting.notes import remarks_on
from mobench.scoring.contests import Contest
from mobench.scoring.indicators.ranks import LEVEL
from mobench.scoring.provenance import SentIn
from mobench.scoring.results import SuiteResults
from mobench.scoring.standings import Standings, standings

from .contender_links import ContenderLink
from .markers import mark_class
from .old_tables import Ranking, RankRow

NOT_REPEATED = "Only results that were repeated here are ranked. Sent in, and not ranked:"

NAMED = 3
"""A caption names so many suites; more are a note."""
BAR = 150
"""The width of a ranking's bars in pixels."""
_COUNTS = ("contests", "failed_contests")


def fullest_profiles(results: Iterable[SuiteResults]) -> list[SuiteResults]:
    """Return one experiment of each suite, since results of different experiments never meet.

    It is the one with most runs: of those that are a profile as it is, or else of all.
    """
    chosen: dict[str, SuiteResults] = {}
    for found in results:
        other = chosen.get(found.suite.name)
        if other is None or (not found.differs, len(found.table)) > (not other.differs, len(other.table)):
            chosen[found.suite.name] = found
    return list(chosen.values())


def rank(results: Sequence[SuiteResults], links: Mapping[str, ContenderLink]) -> Ranking | None:
    """Return the standings over these suites, None where no two contenders met."""
    listed = [contest for found in results for contest in found.contests]
    found = standings(listed)
    if len(found.ranked.contenders) < 2:
        return None
    runs = _counts(results)
    sent_in: dict[str, list[SentIn]] = {}
    for method, part in (entry for one in results for entry in one.submitted.items()):
        sent_in.setdefault(method, []).append(part)
    rows = []
    kept_out = sorted({name for one in results for name in one.unranked} - {*found.frame["contender"]})
    nothing: dict[Any, Any] = {"ranked": False, **dict.fromkeys(_COUNTS, 0)}
    for line in (*found.frame.to_dict("records"), *({**nothing, "contender": name} for name in kept_out)):
        link = links[line["contender"]]
        ranked = bool(line["ranked"])
        rows.append(
            RankRow(
                link.name,
                link.href,
                link.marker,
                link.submitted,
                verdict_over(sent_in.get(link.method, [])),
                rank=f"{line['mean_rank']:.2f}" if ranked else "not ranked",
                rank_value=repr(float(line["mean_rank"])) if ranked else "",
                interval=_interval(line["low"], line["high"]) if ranked else "",
                bar=_bar(line, len(found.ranked.contenders), link.method) if ranked else Markup(),
                **{name: int(line[name]) for name in _COUNTS},
                runs=runs[link.name][0],
                failed=runs[link.name][1],
            )
        )
    notes = _notes(found, listed)
    if kept_out:
        notes.append(f"{NOT_REPEATED} {', '.join(kept_out)}.")
    return Ranking(found, _caption(found), rows, notes)


def _counts(results: Iterable[SuiteResults]) -> dict[str, tuple[int, int]]:
    counts: dict[str, tuple[int, int]] = {}
    for found in results:
        for name, runs in found.table.groupby("contender"):
            before = counts.get(str(name), (0, 0))
            counts[str(name)] = (before[0] + len(runs), before[1] + int((runs["status"] != "done").sum()))
    return counts


def _interval(low: float, high: float) -> str:
    return "" if math.isnan(low) else f"[{low:.2f}, {high:.2f}]"


def _bar(line: Mapping[Any, Any], last: int, method: str) -> Markup:
    """Return a line from rank 1 to the last one, with the mean rank and its interval on it."""

    def place(rank: float) -> float:
        return 4 + (BAR - 8) * (rank - 1) / max(1, last - 1)

    middle = place(float(line["mean_rank"]))
    ends = [middle if math.isnan(line[end]) else place(float(line[end])) for end in ("low", "high")]
    return Markup(
        '<svg class="range {}" width="{}" height="14" viewBox="0 0 {} 14" aria-hidden="true" focusable="false">'
        '<path class="axis" d="M4 7H{}"/><path class="span" d="M{:.1f} 7H{:.1f}"/>'
        '<circle cx="{:.1f}" cy="7" r="4"/></svg>'
    ).format(mark_class(method), BAR, BAR, BAR - 4, *ends, middle)


def _caption(found: Standings) -> str:
    suites = _suites(found)
    count = len(found.ranked.contests)
    contested = "1 contest" if count == 1 else f"{count} contests"
    named = ", ".join(suites) if len(suites) <= NAMED else f"{len(suites)} suites"
    return f"{len(found.ranked.contenders)} contenders over {contested} of {named}"


def _suites(found: Standings) -> list[str]:
    return list(dict.fromkeys(f"{contest.suite} ({contest.profile})" for contest in found.ranked.contests))


def _notes(found: Standings, listed: Sequence[Contest]) -> list[str]:
    metrics = ", ".join(dict.fromkeys(contest.metric for contest in listed))
    notes = [
        f"A contest is one problem instance, decided by {metrics}; every suite counts the same. In brackets: 95 % "
        "bootstrap interval of the mean rank.",
        "A failed method is ranked last there.",
    ]
    if len(suites := _suites(found)) > NAMED:
        notes.insert(0, f"Suites: {', '.join(suites)}.")
    if found.friedman_p is not None:
        verdict = (
            "the ranks differ by more than chance" if found.friedman_p < LEVEL else "chance alone may explain the ranks"
        )
        notes.append(f"Friedman’s test over {found.blocks} {found.unit}s: p = {found.friedman_p:.2g}; {verdict}.")
    return [*notes, *remarks_on(found)]


def verdict_over(parts: Sequence[SentIn]) -> str:
    """Return the verdict on a method's runs in several suites, empty where none were sent in."""
    if len(parts) < 2:
        return parts[0].verdict if parts else ""
    unranked = sum(not part.ranked for part in parts)
    words = f"{sum(len(part.repeated) for part in parts)} of {sum(part.runs for part in parts)} runs repeated"
    return f"{words}; too few in {unranked} of {len(parts)} suites" if unranked else words
