"""`mobench atlas`: which methods are one update or one direction, and which differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mobench.cli.command import PLUGINS, Command, names
from mobench.core.settings import integer, text
from mobench.errors import StorageError, UserError

if TYPE_CHECKING:
    from mobench.running.worker_main import Note
    from mobench.scoring.atlas import Atlas

PAGE = "atlas.md"
PATIENCE_SECONDS = 600.0
"""Time limit for each kind of gradients where code that does not ship with mobench runs."""


class CompareMethods(Command):
    """Compare the updates of all methods on the same random gradients, and say which are the same.

    Every method takes part at its defaults and with one setting at a time at other values. With `out` the data
    (atlas.json), the tables (atlas.md) and the picture (atlas.png) are written. It takes about a minute.
    """

    name = "atlas"
    examples = """
  mobench atlas
  mobench atlas methods=mine plugins=mine.py
  mobench atlas k=4 out=atlas
"""

    methods: list[str] = names(meaning="only what is found about these", shown="A,B")
    k: list[str] = names(meaning="numbers of objectives (default: 2,3,6)", shown="K,K")
    plugins: list[str] = PLUGINS
    draws: int = integer(1000, low=1, meaning="first steps on each kind of gradients")
    out: str | None = text(None, meaning="folder for data, tables and picture", shown="DIR")

    def execute(self) -> int:
        if wrong := [count for count in self.k if not count.isdecimal() or not 2 <= int(count) <= 64]:
            raise UserError(f"k={wrong[0]} is not accepted; k takes whole numbers from 2 to 64, divided by commas")
        from rich.console import Console

        from mobench.core.plain_text import plain
        from mobench.reporting.atlas_page import atlas_text
        from mobench.running.guarded_call import call_in_worker
        from mobench.running.planned_work import has_foreign_code

        self.plugins = [str(Path(path).resolve()) for path in self.plugins]
        folder = Path(self.out) if self.out else None
        page = _page_in(folder) if folder else ""
        with Console(stderr=True).status("comparing methods") as status:
            if has_foreign_code(self.plugins):
                atlas: Atlas = call_in_worker("mobench.cli.atlas:atlas_of", self, seconds=PATIENCE_SECONDS)
            else:
                atlas = atlas_of(lambda words, limited=True: status.update(words), self)
        print("\n".join(map(plain, atlas_text(atlas, self.methods).splitlines())))
        if folder:
            _write(atlas, folder, page)
        return 0


def atlas_of(note: Note, asked: CompareMethods) -> Atlas:
    """Compare the registered methods, those of plugins too, and those that are named."""
    from mobench.conformance.survey import survey
    from mobench.core.registry import find_method, methods
    from mobench.running.planned_work import load_noting

    load_noting(note, asked.plugins)
    known = dict(methods()) | {name: find_method(name) for name in asked.methods}
    files = f" with plugins={','.join(asked.plugins)}" if asked.plugins else ""
    counts = sorted({int(count) for count in asked.k}) or (2, 3, 6)
    return survey(
        known.values(), counts, asked.draws, report=lambda words: note(f"comparing methods at {words}{files}:")
    )


def _page_in(folder: Path) -> str:
    """Make the folder, and return the page that is in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        page = folder / PAGE
        return page.read_text(encoding="utf-8") if page.exists() else ""
    except OSError as error:
        raise StorageError.of(folder, error) from None


def _write(atlas: Atlas, folder: Path, page: str) -> None:
    from mobench.reporting.atlas_page import PICTURE, atlas_page, draw_atlas
    from mobench.reporting.plots.style import house_style
    from mobench.scoring.atlas import FILE, JSON

    (folder / FILE).write_bytes(JSON.dump_json(atlas).replace(b'{"condition"', b'\n{"condition"') + b"\n")
    (folder / PAGE).write_text(atlas_page(atlas, page), encoding="utf-8")
    with house_style():
        draw_atlas(atlas).savefig(folder / PICTURE, bbox_inches="tight")
