"""Records that say done and lack their losses: every table counts them as failed, and `--failed` lists them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mobench.cli import main
from mobench.store.folder import Store


def test_a_run_that_lacks_its_losses_is_listed_with_the_failed_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "results"
    words = ["run", "suite=plane", "methods=ws,mgda", "seeds=1", "training.steps=2", "jobs=0", "--quiet"]
    assert main([*words, f"results={root}"]) == 0
    store = Store(root)
    records = list(store.records())
    lacking = records[0]
    store.save(replace(lacking, outcome=replace(lacking.outcome, metrics={"primary_gradient_norm": 1.0})))
    capsys.readouterr()
    assert main(["results", "--failed", f"results={root}"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{lacking.id[:12]} ") and "1 failed runs" in said
    assert "the record says that the run is done, but lacks loss/" in said
    assert main(["show", lacking.spec.method.partition("@")[0], f"results={root}"]) == 0
    assert ", 1 failed" in capsys.readouterr().out
    assert main(["results", "suite=plane", f"results={root}"]) == 0
    assert "1 of its runs counts as failed" in " ".join(capsys.readouterr().out.split())
