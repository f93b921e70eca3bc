"""`mobench atlas`: a plugin among the shipped methods, and its files."""

from __future__ import annotations

import pytest

from mobench.scoring.atlas import JSON
from tests.commands import run_here

PLUGIN = """
from mobench import register
from mobench.methods.pcgrad import PCGrad

@register
class Mine(PCGrad):
    name = "mine"
"""


def test_a_plugin_learns_which_method_it_is(tmp_path):
    (tmp_path / "mine.py").write_text(PLUGIN)
    told = run_here("atlas", "plugins=mine.py", "methods=mine", "k=2", "draws=24", "out=found", cwd=tmp_path)
    assert "K = 2, whatever the gradients\nmine = pcgrad = gradvac(beta=0) ∥ upgrad\n" in told
    assert "imtlg" not in told.partition("K = 2, conflict, equal")[0], "other methods are left out"
    atlas = JSON.validate_json((tmp_path / "found" / "atlas.json").read_bytes())
    assert (atlas.counts, atlas.draws, len(atlas.columns)) == ([2], 24, 8)
    page = (tmp_path / "found" / "atlas.md").read_text(encoding="utf-8")
    assert "![](atlas.png)" in page and "\nmine = pcgrad" in page
    assert (tmp_path / "found" / "atlas.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("argument", "said"), [("k=1", "from 2 to 64"), ("k=two", "k=two"), ("methods=pdc", "'pcd'")])
def test_mistakes_are_told_before_anything_runs(tmp_path, argument, said):
    assert said in run_here("atlas", argument, "out=found", cwd=tmp_path, code=2)


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    assert "cannot be written" in run_here("atlas", "out=file/found", cwd=tmp_path, code=2)
