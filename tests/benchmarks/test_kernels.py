"""The kernels that asv tracks, for a quick look: `make bench`."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.tracked.kernels import data, runner, site, solvers, step, store

pytestmark = pytest.mark.bench


@pytest.mark.benchmark(group="solve")
@pytest.mark.parametrize("k", solvers.SIZES)
@pytest.mark.parametrize("method", solvers.SOLVERS)
def test_solve(benchmark: BenchmarkFixture, method: str, k: int) -> None:
    benchmark(solvers.solve(method, k))


@pytest.mark.benchmark(group="weights")
@pytest.mark.parametrize("k", [2, 8])
@pytest.mark.parametrize("method", solvers.METHODS)
def test_weights(benchmark: BenchmarkFixture, method: str, k: int) -> None:
    benchmark(solvers.weigh(method, k))


@pytest.mark.benchmark(group="combine")
@pytest.mark.parametrize("n", step.SIZES)
@pytest.mark.parametrize("k", [2, 8])
def test_combine(benchmark: BenchmarkFixture, k: int, n: int) -> None:
    benchmark(step.combine("pcd", k, n))


@pytest.mark.benchmark(group="rows")
@pytest.mark.parametrize("n", step.SIZES)
@pytest.mark.parametrize("k", step.OBJECTIVES)
def test_gram_and_apply(benchmark: BenchmarkFixture, k: int, n: int) -> None:
    benchmark(step.apply_rows(k, n))


@pytest.mark.benchmark(group="digits")
@pytest.mark.parametrize("k", step.PENALTIES)
@pytest.mark.parametrize("kind", ["plain", "pcd"])
def test_digits_step(benchmark: BenchmarkFixture, kind: str, k: int) -> None:
    benchmark({"plain": step.plain_step, "pcd": step.pcd_step}[kind](k))


@pytest.mark.benchmark(group="data")
@pytest.mark.parametrize("augment", [False, True])
def test_epoch(benchmark: BenchmarkFixture, augment: bool) -> None:
    benchmark(data.epoch(augment))


@pytest.mark.benchmark(group="runner")
def test_plan(benchmark: BenchmarkFixture) -> None:
    benchmark(runner.plan)


@pytest.mark.benchmark(group="runner")
def test_tiny_runs(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    benchmark(runner.run_tiny(tmp_path, 1))


@pytest.mark.benchmark(group="store")
@pytest.mark.parametrize("kind", ["save", "load", "tabulate"])
def test_thousand_records(benchmark: BenchmarkFixture, tmp_path: Path, kind: str) -> None:
    benchmark({"save": store.save, "load": store.load, "tabulate": store.tabulate}[kind](tmp_path))


@pytest.mark.benchmark(group="site")
def test_site(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    benchmark.pedantic(site.build(tmp_path), rounds=2)
