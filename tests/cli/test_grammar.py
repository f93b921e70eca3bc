"""One grammar for all commands: `key=value`, flags anywhere, texts as they stand."""

import json

import pytest

import mobench.cli
from mobench import UserError
from mobench.cli import main
from mobench.cli.command import commands
from mobench.cli.export import Export
from mobench.cli.help import help_of
from mobench.cli.leaderboard import Build
from mobench.cli.results import Results
from mobench.cli.run import Run
from mobench.cli.submit import Submit
from mobench.cli.verify import Verify

GREETING = """
from mobench.cli.command import Command
from mobench.core.settings import flag, integer, text

class Greet(Command):
    \"""Greet somebody.\"""

    name = "greet"
    words = ("whom",)
    whom: str = text(None, meaning="whom to greet", shown="NAME")
    times: int = integer(1, low=1, meaning="how often")
    loud: bool = flag(False, meaning="whether to shout")

    def execute(self):
        self.need("whom")
        print(" ".join(["hello", self.whom] * self.times).upper() if self.loud else f"hello {self.whom}")
        return 0
"""


@pytest.fixture
def greet(tmp_path, monkeypatch):
    (tmp_path / "greet.py").write_text(GREETING)
    monkeypatch.setattr(mobench.cli, "__path__", [*mobench.cli.__path__, str(tmp_path)])
    commands.cache_clear()
    yield
    commands.cache_clear()


def test_a_module_that_defines_a_command_is_found(greet, capsys):
    assert main(["greet", "--loud", "times=2", "Ada"]) == 0
    assert main(["greet", "whom=Ada=Eve @home"]) == 0
    assert main(["--help"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("HELLO ADA HELLO ADA\nhello Ada=Eve @home\n") and "Greet somebody." in told
    assert main(["greet", "-h"]) == 0
    assert capsys.readouterr().out == (
        "usage: mobench greet NAME [key=value …]\n\nGreet somebody.\n\nkeys:\n"
        "  NAME                   whom to greet\n"
        "  times=N                how often (default: 1)\n\nflags:\n"
        "  --loud                 whether to shout\n"
    )
    assert main(["gret"]) == 2
    assert "Did you mean 'greet'?" in capsys.readouterr().err


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("flag", ["--dry-run", "dry_run=true"])
def test_a_flag_may_stand_anywhere_and_be_written_either_way(place, flag):
    line = ["suite=plane", "seeds=3"]
    line.insert(place, flag)
    asked = Run.read(line)
    assert (asked.dry_run, asked.quiet, asked.suite, asked.seeds) == (True, False, ["plane"], 3)
    assert Run.read(["dry_run=false"]).dry_run is False


@pytest.mark.parametrize(
    "line",
    [
        ["--json", "list", "method", "pcd"],
        ["json=true", "list", "method", "pcd"],
        ["list", "method", "--json", "pcd"],
        ["list", "method", "pcd", "--json"],
    ],
)
def test_options_may_stand_before_the_command_too(line, capsys):
    assert main(line) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["id"] == "pcd"


def test_a_command_of_two_words_is_found_among_options(capsys):
    assert main(["--help", "results=x", "leaderboard", "out=y", "build"]) == 0
    assert capsys.readouterr().out.startswith("usage: mobench leaderboard build ")
    assert main(["--quiet", "suite=plane", "rnu"]) == 2
    assert "unknown command 'rnu'. Did you mean 'run'?" in capsys.readouterr().err


def test_texts_are_taken_as_they_stand():
    asked = Submit.read(
        ["by=Yes: 42 = @me, #1", "notes=[a", "contact=a@b.c", "source=yes", "results=007", "out=x y.gz"]
    )
    assert (asked.by, asked.notes, asked.contact) == ("Yes: 42 = @me, #1", "[a", "a@b.c")
    assert (asked.source, asked.results, asked.out) == ("yes", "007", "x y.gz")
    assert Run.read(["profile=1"]).profile == "1"
    assert Build.read(["title=null"]).title == "null"


def test_lists_are_split_at_commas_alone():
    asked = Run.read(["methods=a, b", "plugins=my file.py,@other=x.py", "problems=[p,q]"])
    assert asked.methods == ["a", "b"] and asked.problems == ["p", "q"]
    assert asked.plugins == ["my file.py", "@other=x.py"]


def test_dotted_keys_keep_their_text_until_their_owner_is_known():
    asked = Run.read(["methods.pcd.tau=[0.1,0.2]", "training.lr=1e-3", "data.root=@data", "time_limit=1e3"])
    assert asked.overrides == {"methods.pcd.tau": "[0.1,0.2]", "training.lr": "1e-3", "time_limit": 1000.0}
    assert asked.data_root == "@data"


def test_a_file_is_a_file_even_with_an_equals_sign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b.gz").touch()
    asked = Verify.read(["a=b.gz", "budget=2", "c.gz"])
    assert (asked.files, asked.budget) == (["a=b.gz", "c.gz"], 2)


def test_a_run_is_named_without_a_key_and_a_problem_adds_keys():
    asked = Export.read(["out=model.pt", "3f2a", "target=0.9"])
    assert (asked.run, asked.out, dict(asked.others)) == ("3f2a", "model.pt", {"target": "0.9"})


@pytest.mark.parametrize(
    ("command", "line", "words"),
    [
        (Results, ["--format", "csv"], ["--format is written format=table|csv|parquet|json"]),
        (Results, ["--view=scores"], ["--view=scores is written view=all|runs|scores|budget"]),
        (Results, ["--out", "a.csv"], ["--out is written out=FILE"]),
        (Results, ["--faild"], ["unknown flag '--faild'", "Did you mean '--failed'?"]),
        (Results, ["--failed=true"], ["--failed=true is written failed=true|false"]),
        (Results, ["format=cvs"], ["unknown value for format: 'cvs'", "Did you mean 'csv'?"]),
        (Results, ["formt=csv"], ["unknown key 'formt'", "Did you mean 'format'?"]),
        (Run, ["suite"], ["'suite' is not of the form key=value"]),
        (Run, ["-q"], ["'-q' is not of the form key=value"]),
        (Run, ["seeds=1", "seeds=2"], ["seeds is given twice"]),
        (Run, ["quiet=true", "--quiet"], ["quiet is given twice"]),
        (Run, ["results="], ["results= has no value"]),
        (Run, ["=3"], ["unknown key ''"]),
        (Run, ["jobs=two"], ["jobs=two is not accepted; jobs takes a whole number from 0"]),
        (Run, ["jobs=.inf"], ["jobs=.inf is not accepted"]),
        (Run, ["dry_run=yes"], ["dry_run=yes is not accepted; dry_run takes true or false"]),
        (Run, ["seeds=[1"], ["seeds=[1 cannot be read"]),
        (Run, ["seeds={a: 1}"], ["seeds={a: 1} is not accepted"]),
        (Run, ["data.rot=x"], ["unknown key 'data.rot'", "Did you mean 'data.root'?"]),
        (Run, ["method.pcd.tau=1"], ["unknown key 'method.pcd.tau'", "methods.A.SETTING=V"]),
        (Verify, ["seed=-1"], ["seed=-1 is not accepted; seed takes a whole number from 0"]),
    ],
)
def test_mistakes_name_what_is_accepted(command, line, words):
    with pytest.raises(UserError) as caught:
        command.read(line)
    assert all(word in str(caught.value) for word in words), caught.value


@pytest.mark.parametrize("line", [["show"], ["export"], ["list"]])
def test_what_a_command_needs_is_named(line, capsys):
    assert main(line) == 2
    assert "is missing: " in capsys.readouterr().err


def test_help_of_every_command_fits_a_terminal_and_names_every_key():
    for name, command in commands().items():
        told = help_of(command)
        keys, _, examples = told.partition("\nexamples:\n")
        assert max(map(len, keys.splitlines())) <= 79, name
        assert all(f"mobench {name}" in told for _ in [examples] if examples)
        for key, field in command.keys().items():
            assert f"--{key.replace('_', '-')}" in told or f"{key}=" in told or field in command.words


def test_a_group_of_commands_and_nothing_at_all_print_what_there_is(capsys):
    assert main(["leaderboard"]) == 2 and main([]) == 2
    told = capsys.readouterr().err
    assert "leaderboard verify" in told and "  run " in told
    assert main(["leaderboard", "--help"]) == 0
    assert "leaderboard verify" in capsys.readouterr().out
    assert main(["leaderboard", "biuld"]) == 2
    assert "Did you mean 'leaderboard build'?" in capsys.readouterr().err
    assert main(["--version"]) == 0 and capsys.readouterr().out.startswith("mobench 0.")


def test_a_form_of_a_method_is_a_word_though_it_has_an_equals_sign() -> None:
    asked = commands()["compare"].read(["pcd", "ws(form=penalty)", "suite=compression"])
    assert (asked.first, asked.second, asked.suite) == ("pcd", "ws(form=penalty)", ["compression"])
