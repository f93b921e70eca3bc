from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch.distributed as dist

GUIDE = Path(__file__).parents[2] / "docs" / "training-loop.md"
SNIPPETS = re.findall(r"^(## .*?|# .*?)$|^```python\n(.*?)^```$", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def snippets() -> Iterator[tuple[str, str]]:
    heading = ""
    for title, code in SNIPPETS:
        heading = title.lstrip("# ") or heading
        if code:
            yield heading, code


@pytest.fixture
def process_group(tmp_path: Path) -> Iterator[None]:
    """A group of one process, for the snippet that averages over a group."""
    dist.init_process_group("gloo", init_method=(tmp_path / "store").as_uri(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize(("heading", "code"), [pytest.param(*pair, id=pair[0]) for pair in snippets()])
@pytest.mark.usefixtures("process_group")
def test_the_guides_code_runs(heading: str, code: str) -> None:
    exec(compile(code, f"{GUIDE.name}, {heading}", "exec"), {"__name__": "guide"})


def test_every_block_of_the_guide_is_run() -> None:
    assert len(list(snippets())) == GUIDE.read_text("utf-8").count("```python") > 5
