"""Values that people and editors mistype: one line, exit code 2, and never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from mobench.cli import main

SUITE = "title: Mine\nproblems: {two-wells: {}}\nmethods: {ws: {}}\ntraining: {steps: 2}\n"
DIGITS = "9" * 5000


@pytest.mark.parametrize(
    "text",
    [
        SUITE + "seeds: 2001-99-99\n",
        SUITE + "seeds: !!int abc\n",
        SUITE + f"seeds: {DIGITS}\n",
        SUITE + "seeds: .inf\n",
        SUITE + "seeds: 1000000000\n",
        SUITE + "seeds: [18446744073709551616]\n",
        SUITE + "seeds: " + "[" * 900 + "]" * 900 + "\n",
        SUITE + "seeds: 1\nseeds: 2\n",
        SUITE + "1: one\n",
        SUITE + "? [a]\n: b\n",
        "title: Mine\ninclude: [1]\n",
        "title: [Mine]\n",
        "- a\n",
        "\x00",
        "a: *b\n",
        "a: &b [*b]\n",
    ],
)
def test_a_mistake_in_a_suite_is_one_line(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    assert main(["run", f"suite={file}", f"results={tmp_path / 'out'}", "--dry-run", "jobs=0"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "word",
    [
        "seeds=2001-99-99", "seeds=!!int abc", f"seeds={DIGITS}", "seeds=.inf", "seeds=1000000000", "profile=1",
        "seeds=[18446744073709551616]", "training.steps=.inf", "training.lr=.nan", f"training.steps={DIGITS}",
        "training.steps=2001-99-99", "jobs=.inf", "time_limit=abc", "methods.ws.weight={1: 2}",
    ],
)  # fmt: skip
def test_a_mistake_on_the_line_is_one_line(tmp_path: Path, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "suite=plane", word, f"results={tmp_path / 'out'}", "--dry-run"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
