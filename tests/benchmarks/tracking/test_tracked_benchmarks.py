"""asv finds every benchmark, and each of them runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
TRACKED = ROOT / "benchmarks" / "tracked"
LAYERS = {"solvers", "step", "own_loop", "data", "runner", "store", "site"}


def run(*command: str | Path, folder: Path) -> str:
    answer = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=folder)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def test_asv_accepts_the_suite(tmp_path: Path) -> None:
    config = tmp_path / "asv.conf.json"
    settings = {"repo": str(ROOT), "benchmark_dir": str(TRACKED), "environment_type": "existing"}
    config.write_text(json.dumps({"version": 1, "project": "mobench", **settings}))
    printed = run("-m", "asv", "check", "-E", "existing:same", "--config", config, folder=tmp_path)
    assert "No problems found" in printed


def test_every_benchmark_runs(tmp_path: Path) -> None:
    called = json.loads(run(Path(__file__).with_name("run_each_benchmark.py"), TRACKED, folder=tmp_path))
    assert {name.partition(".")[0] for name in called} == LAYERS
    kinds = {name.rpartition(".")[2].partition("_")[0] for name in called}
    assert kinds == {"time", "peakmem", "track"}
    assert called["step.Digits.track_backward_passes"] == [1, 1]
    assert called["store.Thousand.track_bytes_per_record"][0] > 500
    assert all(rate > 0 for rate in called["data.Stream.track_images_per_second"])


def test_the_configuration_keeps_its_results_out_of_git() -> None:
    from asv.config import Config

    config = Config.load(ROOT / "benchmarks" / "asv.conf.json")
    assert config.launch_method == "forkserver" and config.benchmark_dir == "tracked"
    for folder in (config.results_dir, config.html_dir, config.env_dir):
        place = (ROOT / "benchmarks" / folder).resolve()
        ignored = subprocess.run(["git", "check-ignore", "--quiet", str(place / "file")], cwd=ROOT)
        assert ignored.returncode == 0, place
