"""Values that people and editors mistype: one line, exit code 2, and never a traceback."""

from __future__ import annotations

import contextlib
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
        *(
            SUITE.replace("steps: 2", f"steps: {value}")
            for value in (
                "2001-99-99",
                "!!int abc",
                DIGITS,
                ".inf",
                "[1]",
                "{a: 1}",
                "!!binary abc",
                "-1",
                "0",
                "1e400",
                "null",
            )
        ),
        *(
            SUITE + f"{line}\n"
            for line in (
                "metrics: [1]",
                "tables: [1]",
                "plots: [{}]",
                "profiles: {1: {}}",
                "profiles: {a: 1}",
                "time_limit: .inf",
                f"time_limit: {DIGITS}",
                "published: [{}]",
                "include: [1]",
                "baselines: {a: 1}",
                "seeds: [1, 1]",
                "seeds: []",
                "seeds: true",
                "seeds: 1.5",
                "every_method: 3",
                "<<: 3",
                "auto: 1",
                '"\\e[31m": 1',
                'about: "\\ud800"',
                'about: "\\e[2J"',
                "? {a: b}\n: c",
                "claims: [{claim: x, measured: '((', relation: '<=', bound: 1}]",
            )
        ),
        *(
            SUITE.replace("{ws: {}}", methods)
            for methods in (
                "{}",
                "{ws: 1}",
                "{ws: []}",
                "{1: {}}",
                "[ws]",
                "{nope: {}}",
                "{ws: {weight: .nan}}",
                "{ws: {weight: []}}",
                "{ws: {weight: {a: 1}}}",
                f"{{ws: {{weight: {DIGITS}}}}}",
                '{"ws\\0": {}}',
                "{ws: {weight: " + "[" * 900 + "]" * 900 + "}}",
            )
        ),
        "",
        "{",
        "---\na: 1\n---\nb: 2\n",
        "!!python/object:os.system {}",
        "a: &x {b: *x}",
    ],
)
def test_a_mistake_in_a_suite_is_one_line(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    assert main(["run", f"suite={file}", f"results={tmp_path / 'out'}", "--dry-run", "jobs=0"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and len(said) < 1500 and "\x1b" not in said


@pytest.mark.parametrize(
    "word",
    [
        "seeds=2001-99-99", "seeds=!!int abc", f"seeds={DIGITS}", "seeds=.inf", "seeds=1000000000", "profile=1",
        "seeds=[18446744073709551616]", "training.steps=.inf", "training.lr=.nan", f"training.steps={DIGITS}",
        "training.steps=2001-99-99", "jobs=.inf", "time_limit=abc", "methods.ws.weight={1: 2}",
        "profile=2001-99-99", "seeds=[1,1]", "seeds=-1", "seeds=true", "seeds=[]", "seeds={", "jobs=1.5", "jobs=-1",
        f"jobs={DIGITS}", "jobs_per_gpu=0", "device=3", "time_limit=.nan", "time_limit=.inf", f"time_limit={DIGITS}",
        "memory_limit=-1", "memory_limit=abc", "memory_limit=0", f"memory_limit={DIGITS}GB", "lease=0", "lease=.nan",
        "checkpoint_seconds=-1", "executor=nope", "local.x=1", "methods=", "methods=+", "methods=[1]", "problems=nope",
        "methods.ws=1", "methods.ws.=1", "methods..weight=1", "methods.ws.weight=!!int x", "methods.ws.weight=[",
        "methods.ws.weight=" + "[" * 900, "methods.ws.weight=.nan", f"methods.ws.weight={DIGITS}", "training.=1",
        "training.steps=1e400", "training.steps=true", f"training.lr={DIGITS}", "training.optimizer=1",
        "training.schedule={a: 1}", "problems.nope.k=2", "=1", "--nope", "x", "plugins=nope", "plugins=/etc/passwd",
        "training.optimizer=\x1b[2J", "plugins=\0", "seeds=[1e400]", "training.steps=0", "methods=,", "methods=[]",
        "problems=, ,", "plugins=,", "seeds=,", "seeds=", "methods.ws.weight=[]", "methods.ws.training.steps=0",
    ],
)  # fmt: skip
def test_a_mistake_on_the_line_is_one_line(tmp_path: Path, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "suite=plane", word, f"results={tmp_path / 'out'}", "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and len(said) < 1500 and "\x1b" not in said


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["training.steps=0"], "training.steps=0 is not accepted"),
        (["methods=,"], "methods=, names nothing"),
        (["problems=[]"], "problems=[] names nothing"),
        (["seeds=1000000", "methods.pcd.tau=[0.1,0.2]"], "a plan has at most 1,000,000"),
        (["methods.ws.weight=" + str([*range(2000)]), "seeds=1000"], "a plan has at most 1,000,000"),
    ],
)
def test_nothing_to_run_and_too_much_are_refused_with_the_reason(
    tmp_path: Path, words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "suite=plane", *words, f"results={tmp_path / 'out'}"]) == 2
    assert reason in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_results_is_a_folder_whatever_it_looks_like(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.chdir(tmp_path):
        words = ["run", "suite=plane", "methods=ws", "seeds=1", "training.steps=2", "jobs=0", "--quiet"]
        assert main([*words, "results=007"]) == 0
        assert (tmp_path / "007" / "runs").is_dir() and not (tmp_path / "7").exists()
        (tmp_path / "file").write_text("mine")
        capsys.readouterr()
        for name in ("file", "file/below"):
            assert main([*words, f"results={name}"]) == 2
            said = capsys.readouterr().err
            assert said.count("\n") == 1 and "file" in said
        assert (tmp_path / "file").read_text() == "mine"
