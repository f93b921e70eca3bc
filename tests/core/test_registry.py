import subprocess
import sys
import textwrap

import pytest

from mobench import Method, UserError
from mobench.core import registry

METHOD = """
from mobench import Method, register

@register
class {name}(Method):
    def weights(self, step):
        return [1.0] * step.k
"""


@pytest.fixture(autouse=True)
def forget_plugins(monkeypatch):
    registry.methods(), registry.problems()
    monkeypatch.setattr(registry, "_found", {kind: dict(getattr(registry, kind)()) for kind in registry.PACKAGES})


def test_shipped_methods_and_problems_are_found_without_a_list():
    assert set(registry.methods()) >= {"pcd", "ws", "mgda", "pcgrad", "cagrad", "famo", "auxinash"}
    assert set(registry.problems()) >= {"double-well@1", "two-wells@1", "quadratic@1", "random-gradients@1"}


def test_a_file_and_a_folder_are_found(tmp_path):
    (tmp_path / "one.py").write_text(METHOD.format(name="FirstOfMine"))
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "two.py").write_text(METHOD.format(name="SecondOfMine"))
    (folder / "_private.py").write_text("raise RuntimeError('not to be imported')")
    registry.load_plugins([tmp_path / "one.py", folder])
    assert {"firstofmine", "secondofmine"} <= set(registry.methods())


def test_a_method_defines_weights_or_a_direction(tmp_path):
    (tmp_path / "walker.py").write_text(METHOD.format(name="WalkerOfMine").replace("weights", "direction"))
    registry.load_plugins([tmp_path / "walker.py"])
    assert registry.find_method("walkerofmine")().name == "walkerofmine"
    (tmp_path / "idler.py").write_text(METHOD.format(name="IdlerOfMine").replace("weights", "neither"))
    with pytest.raises(UserError, match=r"'idlerofmine' defines neither weights\(step\) nor direction\(step\)"):
        registry.load_plugins([tmp_path / "idler.py"])
    with pytest.raises(UserError, match="'idler' defines neither"):
        type("Idler", (Method,), {})()


def test_two_plugins_of_one_name_are_refused_with_both_places(tmp_path):
    first, second = tmp_path / "a.py", tmp_path / "b.py"
    for file in (first, second):
        file.write_text(METHOD.format(name="Twin"))
    with pytest.raises(UserError) as caught:
        registry.load_plugins([first, second])
    assert str(first) in str(caught.value) and str(second) in str(caught.value) and "'twin'" in str(caught.value)


def test_a_plugin_may_not_take_a_shipped_name(tmp_path):
    (tmp_path / "mine.py").write_text(METHOD.format(name="MGDA"))
    with pytest.raises(UserError, match="two methods are called 'mgda'"):
        registry.load_plugins([tmp_path / "mine.py"])


def test_a_plugin_that_fails_on_import_is_named(tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(UserError, match=r"broken\.py.*ZeroDivisionError"):
        registry.load_plugins([tmp_path / "broken.py"])
    with pytest.raises(UserError, match="no such Python file"):
        registry.load_plugins([tmp_path / "absent.py"])
    (tmp_path / "wordy.py").write_text(r"raise ValueError('\x1b[2J' + 'x\n' * 10_000_000)")
    with pytest.raises(UserError, match=r"wordy\.py: the file fails on import: ValueError: \\x1b\[2Jx x") as caught:
        registry.load_plugins([tmp_path / "wordy.py"])
    assert len(str(caught.value)) < 1000 and str(caught.value).isprintable()
    (tmp_path / "typo.py").write_text("x = 1\nif:\n")
    with pytest.raises(UserError, match=r"SyntaxError: .*typo\.py, line 2"):
        registry.load_plugins([tmp_path / "typo.py"])


@pytest.mark.parametrize("name", ["red\x1b[31m", "line\n", "\u202e", "\ud800", "x@2", 3])
def test_what_is_no_name_is_refused(tmp_path, name):
    lines = "from mobench import Method, register\n\n\n@register\nclass Mine(Method):\n"
    (tmp_path / "mine.py").write_text(f"{lines}    name = {name!a}\n    def weights(self, step): pass\n")
    with pytest.raises(UserError, match=r"mine\.py:Mine: .* is no name for one of the methods") as caught:
        registry.load_plugins([tmp_path / "mine.py"])
    assert str(caught.value).isprintable()


def test_unknown_names_come_with_the_nearest():
    with pytest.raises(UserError, match="Did you mean 'cagrad'"):
        registry.find_method("cagrd")
    with pytest.raises(UserError, match="Did you mean 'double-well@1'"):
        registry.find_problem("double-wel@1")


def test_a_problem_without_version_is_the_newest():
    assert registry.find_problem("double-well").id == "double-well@1"


def test_the_digest_of_a_plugin_follows_its_text(tmp_path):
    file = tmp_path / "changing.py"
    file.write_text(METHOD.format(name="Changing"))
    registry.load_plugins([file])
    method = registry.find_method("changing")
    before = registry.source_digest(method)
    file.write_text(file.read_text() + "\n# edited\n")
    assert before is not None and registry.source_digest(method) != before
    assert registry.source_digest(registry.find_method("mgda")) is None


def test_an_installed_package_announces_its_method_by_an_entry_point(tmp_path):
    package = tmp_path / "announced"
    metadata = tmp_path / "announced-1.0.dist-info"
    metadata.mkdir()
    package.with_suffix(".py").write_text(METHOD.format(name="Announced"))
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: announced\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[mobench.methods]\nannounced = announced:Announced\n")
    script = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from mobench.core.registry import find_method
        print(find_method("announced").__module__)
        """
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "announced"


def test_a_broken_entry_point_names_its_package_and_costs_only_itself(tmp_path, monkeypatch):
    for name, body in (("broken_package", "raise ImportError('no such library')"), ("fine_package", METHOD)):
        text = body.format(name="Fine") if body is METHOD else body
        (tmp_path / f"{name}.py").write_text(text)
        info = tmp_path / f"{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[mobench.methods]\nfine = {name}:Fine\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_discovered", set())
    with pytest.warns(
        RuntimeWarning, match="methods of the package broken_package cannot be loaded: ImportError: no such"
    ):
        found = registry.methods()
    assert "fine" in found and "pcd" in found
