"""The command that a site shows beside a number does repeat it, when it is pasted where the site was built."""

import contextlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mobench.leaderboard.site import SiteOptions, build_site

PLUGIN = """
from mobench import Method, real, register

@register
class Mine(Method):
    share: float = real(0.5, low=0.0, high=1.0, meaning="weight of the first")

    def weights(self, step):
        return [self.share, 1 - self.share]
"""
SUITE = """
problems: {two-wells@1: {start: [upper, lower]}}
methods: {pcd: {tau: [0.1, 0.3]}, mine: {share: [0.2, 0.9], training.lr: 0.02}}
seeds: [3, 4]
training: {steps: 5}
metrics: [distance_to_optimum]
"""


ALL = """
import json, sys
from mobench.cli import main
for line in json.load(sys.stdin):
    if main(line):
        sys.exit(str(line))
"""
"""One process for many commands: importing torch takes longer than any of them."""


def mobench(*lines, cwd):
    command, text = [sys.executable, "-c", ALL], json.dumps(lines)
    done = subprocess.run(command, cwd=cwd, input=text, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr + done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    path = tmp_path_factory.mktemp("work")
    (path / "code").mkdir()
    (path / "code" / "mine.py").write_text(PLUGIN)
    (path / "own.yaml").write_text(SUITE)
    options = ("plugins=code/mine.py", "results=out", "jobs=0", "--quiet")
    mobench(
        ["run", "suite=own.yaml", *options],
        ["run", "suite=own.yaml", "training.steps=6", "methods=mine", *options],
        ["run", "problem=two-wells", "methods=mine,mgda", "training.steps=4", "seeds=2", *options],
        cwd=path,
    )
    with contextlib.chdir(path):  # as a user would say it: the commands have the same paths
        build_site(SiteOptions(Path("out"), Path("site")), say=lambda line: None)  # the plugin is not needed for that
    return path


def test_every_command_of_the_site_repeats_runs_that_are_stored(site):
    """Run in a fresh folder it makes the very runs: their ids are hashes of all that decides them."""
    stored = {file.stem for file in (site / "out" / "runs").rglob("*.json")}
    commands = set()
    for file in (site / "site" / "data").glob("*/*.js"):
        found = json.loads(json.loads(re.search(r'"\{.*\}"', file.read_text())[0]))
        commands |= {command for measure in found.get("measures", {}).values() for command in measure["commands"]}
    assert {"own.yaml", "two-wells@1"} <= {word.partition("=")[2] for line in commands for word in shlex.split(line)}
    # what names no plugin is pasted first, before this process knows any
    lines = [shlex.split(command) for command in sorted(commands, key=lambda line: ("plugins=" in line, line))]
    assert all(line[:2] == ["mobench", "run"] for line in lines)
    mobench(*([*line[1:], "results=again", "jobs=0", "--quiet"] for line in lines), cwd=site)
    again = {file.stem for file in site.glob("again/runs/*/*.json")}
    assert again == stored


def test_no_path_of_this_machine_is_published(site):
    for file in (site / "site").rglob("*"):
        if file.suffix in (".html", ".js", ".json", ".csv"):
            assert str(site) not in file.read_text(), file
