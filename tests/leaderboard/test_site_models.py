"""The numbers behind the pages, against the functions that define them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mobench.errors import UserError
from mobench.leaderboard.site.details import details
from mobench.leaderboard.site.old_tables import SuiteNumbers
from mobench.leaderboard.site.ranking import fullest_profiles
from mobench.leaderboard.site.reading import read_results
from mobench.leaderboard.site.submissions import Submitted
from mobench.leaderboard.site.suite_numbers import suite_numbers
from mobench.scoring.provenance import SentIn
from mobench.scoring.results import SuiteResults
from mobench.store.folder import Store
from tests.leaderboard.conftest import RealSite


@pytest.fixture
def escape(site: RealSite) -> SuiteResults:
    found = {results.suite.name: results for results in _read(site) if results.suite.name != "hostile"}
    return found["escape"]


def _read(site: RealSite) -> list[SuiteResults]:
    def fail(damage: UserError) -> None:
        raise damage

    return list(read_results(Store(site.results), {}, {}, fail))


@pytest.fixture
def grid(escape: SuiteResults) -> SuiteNumbers:
    return suite_numbers(escape)


def test_hypervolumes_are_those_of_the_report(escape: SuiteResults, grid: SuiteNumbers) -> None:
    position = [measure.metric for measure in grid.measures].index("hypervolume")
    found = escape.volume_estimates("frozen")
    assert sum(map(len, found.values())) == 12
    for instance, estimates in found.items():
        for contender, estimate in estimates.items():
            assert grid.entries[position, instance, contender].values == estimate.values


def test_what_opens_repeats_the_stored_runs(escape: SuiteResults, grid: SuiteNumbers) -> None:
    position = [measure.metric for measure in grid.measures].index("loss/wells")
    for instance, contender, detail in details(grid):
        runs = escape.table[(escape.table["instance"] == instance) & (escape.table["contender"] == contender)]
        assert {run["id"] for run in detail["runs"]} == {id_[:12] for id_ in runs["id"]}
        best = runs.groupby("configuration")["loss/wells"].mean().min()
        values = dict(detail["measures"][str(position)]["values"])
        assert sum(values.values()) / len(values) == pytest.approx(best, rel=1e-12)
        assert set(values) == set(runs["seed"])
        place = detail["measures"][str(position)]["configuration"]
        mean, low, high = detail["configurations"][place]["points"]["loss/wells"]
        assert low <= mean <= high and mean == pytest.approx(best, rel=1e-12)


def test_a_ranking_takes_one_profile_of_each_suite(escape: SuiteResults) -> None:
    small = replace(escape, suite=replace(escape.suite, profile="other"), table=escape.table.head(3))
    assert fullest_profiles([small, escape]) == [escape]
    assert fullest_profiles([escape, small]) == [escape]


def test_provenance_counts_every_run(escape: SuiteResults) -> None:
    found = escape.provenance
    for counts in (found.versions, found.libraries, found.machines):
        assert sum(counts.values()) == len(escape.table)
    assert found.first <= found.last


def test_submitted_runs_of_a_method_that_is_there_already_are_left_out_aloud(site: RealSite) -> None:
    store = Store(site.results)
    ids = store.find_manifests(["plane"], "quick")[0].runs
    records = tuple(record for record in store.records(ids) if record.spec.method.startswith("pcd@"))
    sent = {
        ("plane", "quick"): [Submitted("plane", "quick", records, {"pcd": SentIn("Eve", "", True, 3, frozenset())})]
    }
    said: list[str] = []
    found = {results.suite.name: results for results in read_results(store, sent, {}, said.append)}
    assert said == ["left out: submitted runs of pcd in plane (quick), which has runs of its own there"]
    assert found["plane"].submitted == {} and len(found["plane"].table) == len(ids)
