"""`mobench submit` and `mobench leaderboard verify`; where runs are repeated, as real processes."""

import json
import shutil

import pytest

from tests.commands import run_here
from tests.submissions.conftest import run_mobench
from tests.submissions.tampering import in_order, opened, renamed, sealed


def submit(folder, *arguments, code=0):
    return run_here("submit", "results=out", *arguments, cwd=folder, code=code)


def verify(*arguments, cwd, code=0, run=run_here):
    text = run("leaderboard", "verify", *arguments, cwd=cwd, code=code)
    assert max(map(len, text.splitlines())) <= 80
    return text


def test_an_honest_bundle_is_verified_and_says_which_runs_were_repeated(folder, tmp_path):
    kept = tmp_path / "verified"
    common = ("mine.jsonl.gz", "plugins=mine.py", f"verified={kept}")
    text = verify(*common, "seed=7", cwd=folder, run=run_mobench)
    assert "by Ada Lovelace; 15 runs, 2 failed" in text
    assert "plane (standard): configurations tried: fragile 2, unit-sum 1" in text
    assert "drawn from 15 runs and repeated now: 15 (seed=7)" in text
    assert "fragile on plane (standard): repeated to the last bit: 6 of 6 runs" in text
    assert "  VERIFIED" in text and "1 bundle: none refused" in text
    assert len(list((kept / "runs").rglob("*.json"))) == 15
    later = verify(*common, "budget=0", cwd=folder)
    assert "  VERIFIED" in later and "repeated now" not in later, "what was repeated before counts"


def test_a_folder_with_good_bad_and_hostile_bundles(folder, content, tmp_path):
    header, runs = opened(content)
    submissions = tmp_path / "submissions"
    submissions.mkdir()
    (submissions / "README.md").write_text("how to")
    (submissions / "method.py").write_text("a method's own file, which is no bundle")
    (submissions / "a-whole.jsonl.gz").write_bytes(content)
    (submissions / "b-chosen.jsonl.gz").write_bytes(sealed(header, runs[1:]))
    (submissions / "c-cut.jsonl.gz").write_bytes(content[:-50])
    (submissions / "d-same.jsonl.gz").write_bytes(sealed({**header, "by": "Eve"}, runs))
    (submissions / "e-\x1b[31m<script>.jsonl.gz").write_bytes(b"PK")
    (submissions / "f-link.jsonl.gz").symlink_to("/etc/passwd")
    text = verify(f"submissions={submissions}", cwd=folder, code=1)
    assert "\x1b" not in text and "root:" not in text
    assert "CHECKED, NOT REPEATED: checks passed; a re-run was not possible" in text
    assert "not repeated: the file of unit-sum is not given" in text
    assert "VERIFIED" not in text
    for name, words in (
        ("b-chosen", "runs are missing"),
        ("c-cut", "its end is missing"),
        ("d-same", "already in a-whole.jsonl.gz"),
        ("e-\\x1b[31m<script>", "does not start like gzip"),
        ("f-link", "plain file"),
    ):
        assert words in " ".join(text[text.index(f"{name}.jsonl.gz\n") :].split("REFUSED")[0].split())
    assert "6 bundles: 5 refused" in text


def test_a_forged_metric_is_refused_after_the_re_run(folder, content, tmp_path):
    header, runs = opened(content)
    for run in runs:
        run["outcome"]["metrics"] = {name: value * 0.999 for name, value in run["outcome"]["metrics"].items()}
    (tmp_path / "forged.jsonl.gz").write_bytes(sealed(header, runs))
    text = verify(
        str(tmp_path / "forged.jsonl.gz"), "plugins=mine.py", f"verified={tmp_path / 'new'}", cwd=folder, code=1
    )
    assert "recorded as" in text and "repeated as" in text and "1 bundle: 1 refused" in text


def test_another_method_under_a_taken_name_is_refused(folder, content, tmp_path):
    header, runs = json.loads(json.dumps(opened(content)).replace(opened(content)[0]["methods"][0]["source"], "a" * 64))
    (tmp_path / "a.jsonl.gz").write_bytes(content)
    (tmp_path / "b.jsonl.gz").write_bytes(sealed(header, in_order([renamed(run) for run in runs])))
    text = verify(f"submissions={tmp_path}", "budget=0", cwd=folder, code=1)
    assert "unit-sum is the name of another source in a.jsonl.gz" in text
    assert "no run was to be repeated (budget=0)" in text


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nothing.jsonl.gz"], "no such file"),
        (["submissions=nowhere"], "no such folder"),
        (["mine.jsonl.gz", "data.root=nowhere"], "data.root=nowhere: there is no such folder"),
        (["mine.jsonl.gz", "budget=-1"], "budget"),
        (["mine.jsonl.gz", "budgte=1"], "Did you mean 'budget'"),
        (["mine.jsonl.gz", "plugins=nothing.py"], "no such Python file"),
        (["mine.jsonl.gz", "submissions=."], "not both"),
    ],
)
def test_mistakes_of_the_verifier(folder, arguments, word):
    assert word in run_here("leaderboard", "verify", *arguments, cwd=folder, code=2)


def test_incomplete_results_are_not_written_and_the_command_completes_them(folder, tmp_path):
    work = tmp_path / "work"
    shutil.copytree(folder, work)
    (work / "mine.jsonl.gz").unlink()
    for path in (work / "out" / "runs").rglob("*.json"):
        if '"strength":0.5' in path.read_text() and '"start":"outer"' in path.read_text():
            path.unlink()
    arguments = ["by=Ada", "plugins=mine.py", "suite=plane", "out=new/mine.jsonl.gz"]
    text = submit(work, *arguments, code=2)
    assert "nothing was written" in text and "1 of 9 runs are missing" in text and "start=outer" in text
    assert not (work / "new").exists()
    (command,) = [line.split() for line in text.splitlines() if line.strip().startswith("mobench run")]
    assert "methods.fragile.strength=0.5" in command
    run_here(*command[1:], "jobs=0", "--quiet", cwd=work, code=1)
    assert "9 runs (2 failed)" in submit(work, *arguments)
    assert [path.name for path in (work / "new").iterdir()] == ["mine.jsonl.gz"]


def test_a_shipped_method_is_submitted_with_the_suites_own_sweep(folder, tmp_path):
    out = tmp_path / "pcd.jsonl.gz"
    text = submit(folder, "by=Yes: 42", "methods=pcd", f"out={out}")
    assert "scale-invariance (quick): configurations tried: pcd 2" in text
    assert "by Yes: 42; 12 runs" in verify(str(out), "budget=0", cwd=folder)


def test_runs_that_the_suite_does_not_ask_for_are_left_out_and_named(folder, tmp_path):
    work = tmp_path / "work"
    shutil.copytree(folder, work)
    more = ["suite=plane", "methods=unit-sum", "seeds=[5]", "plugins=mine.py", "results=out", "jobs=0", "--quiet"]
    run_here("run", *more, cwd=work)
    text = submit(work, "by=Ada", "suite=plane", "out=mine.jsonl.gz")
    assert "9 runs (2 failed)" in text and "left out: plane (standard): 3 runs" in text


def test_two_versions_of_a_plugin_need_a_decision(folder, tmp_path):
    work = tmp_path / "work"
    shutil.copytree(folder, work)
    (work / "mine.py").write_text((work / "mine.py").read_text() + "# edited\n")
    arguments = ["by=Ada", "suite=plane", "methods=unit-sum", "out=new.jsonl.gz"]
    assert "no given file is the one" in submit(work, *arguments, "plugins=mine.py", code=2)
    run = ["suite=plane", "methods=unit-sum", "plugins=mine.py", "results=out", "jobs=0", "--quiet"]
    run_here("run", *run, cwd=work)
    assert "2 versions of its file" in submit(work, *arguments, code=2)
    assert "3 runs (0 failed)" in submit(work, *arguments, "plugins=mine.py")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["out=x.jsonl.gz"], "by="),
        (["by=Ada"], "out="),
        (["by=Ada", "out=x.zip"], "ends in .jsonl.gz"),
        (["by=Ada\x1b[0m", "out=x.jsonl.gz"], "unseen characters"),
        ([f"by={'x' * 200}", "out=x.jsonl.gz"], "at most 100"),
        (["by=Ada", "by=Eve", "out=x.jsonl.gz"], "twice"),
        (["by=Ada", "out=x.jsonl.gz", "methods=unit-sun"], "Did you mean 'unit-sum'"),
        (["by=Ada", "out=x.jsonl.gz", "suite=plains"], "Did you mean 'plane'"),
        (["by=Ada", "out=x.jsonl.gz", "profile=paper"], "profile"),
        (["by=Ada", "out=x.jsonl.gz", "source=yes"], "source=yes needs plugins"),
        (["by=Ada", "out=x.jsonl.gz", "source=perhaps"], "source"),
        (["by=Ada", "out=x.jsonl.gz", "note=hello"], "Did you mean 'notes'"),
    ],
)
def test_mistakes_of_the_submitter(folder, arguments, word):
    assert word in submit(folder, *arguments, code=2)
    assert not (folder / "x.jsonl.gz").exists()
