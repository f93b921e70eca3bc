"""What repeating some of a method's runs says about all of them.

A run that is repeated to the last bit is proven. One that only agrees within a tolerance, because its record names
another setup, leaves room for a forger who claims one: its own numbers prove nothing, only ours do. So a method is
ranked on a suite if runs of it were repeated to the last bit, and all of them claim the setup on which that was
done; or else if every single run was repeated, because then the numbers shown are the reviewer's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mobench.store.record import Environment, RunRecord
from mobench.submissions.agreement import differences, same_setup, seed_spread
from mobench.submissions.bundle import Bundle
from mobench.submissions.completeness import spec_label
from mobench.submissions.curves import KeptCurve
from mobench.submissions.plausibility import declared

ALL = "all methods"


@dataclass(frozen=True)
class Verdict:
    """What came of repeating runs."""

    runs: int
    """How many runs there are."""
    exact: int = 0
    """How many were repeated to the last bit."""
    close: int = 0
    """How many agree within the tolerance, on another setup."""
    elsewhere: int = 0
    """How many claim another setup than the one on which runs were repeated."""
    findings: tuple[str, ...] = ()
    """In what repeated runs differ."""

    @property
    def repeated(self) -> int:
        """How many were repeated, and agree."""
        return self.exact + self.close

    @property
    def proven(self) -> bool:
        """Whether runs were repeated to the last bit, and none claims a setup where that cannot be asked of it."""
        return not self.findings and self.exact > 0 and self.close == self.elsewhere == 0

    @property
    def ranked(self) -> bool:
        """Whether the results may be ranked."""
        return self.proven or (not self.findings and 0 < self.runs == self.repeated)

    @property
    def words(self) -> str:
        """The verdict and the share of runs it rests on, for people."""
        if self.findings:
            return "differs when repeated"
        if not self.repeated:
            return f"not repeated: 0 of {self.runs} runs"
        kind = "repeated to the last bit" if self.proven else "agrees within a tolerance, on another setup"
        return f"{kind}: {self.repeated} of {self.runs} runs"


def judge(bundle: Bundle, records: Sequence[RunRecord], repeated: Mapping[str, RunRecord]) -> Verdict:
    """Compare some runs of a bundle with those of them that were repeated, by id."""
    exact = close = 0
    findings: list[str] = []
    for record in records:
        again = repeated.get(record.id)
        if again is None:
            continue
        same = same_setup(record.environment, again.environment)
        metrics = declared(record.spec.build_problem())
        spread = seed_spread(bundle.records, record)
        found = differences(record, again, metrics, spread, _curves(bundle, record), exact=same)
        findings += [f"re-run of {spec_label(record.spec)}: {text}" for text in found]
        exact += not found and same
        close += not found and not same
    setups = _distinct(again.environment for again in repeated.values())
    elsewhere = sum(not any(same_setup(record.environment, setup) for setup in setups) for record in records)
    return Verdict(len(records), exact, close, elsewhere if setups else 0, tuple(findings))


def _curves(bundle: Bundle, record: RunRecord) -> Mapping[str, KeptCurve]:
    """Return the curves to compare. A reference keeps a picture of the first seed alone, so these are its own."""
    if not bundle.is_reference:
        return bundle.curves
    return {name: kept for name, kept in bundle.curves.items() if name in record.outcome.history}


def verdicts(bundle: Bundle, repeated: Mapping[str, RunRecord]) -> dict[tuple[str, str, str], Verdict]:
    """Return the verdict on every method of every suite of a bundle, by suite, profile and method.

    A reference is one claim of one author: the verdict on a suite is on `ALL` of its methods.
    """
    found = {}
    for part in bundle.suites:
        ids = set(part.runs)
        if bundle.is_reference:
            records = [record for record in bundle.records if record.id in ids]
            found[part.suite, part.profile, ALL] = judge(bundle, records, repeated)
            continue
        for method in bundle.methods:
            records = [record for record in bundle.records if record.id in ids and record.spec.method == method.label]
            if records:
                found[part.suite, part.profile, method.name] = judge(bundle, records, repeated)
    return found


def _distinct(environments: Iterable[Environment]) -> list[Environment]:
    found: list[Environment] = []
    for environment in environments:
        if environment not in found:
            found.append(environment)
    return found
