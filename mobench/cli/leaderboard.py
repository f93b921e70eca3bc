"""`mobench leaderboard build`: stored results as a static site."""

from __future__ import annotations

import gc
from pathlib import Path

from mobench.cli.command import PLUGINS, RESULTS, Command
from mobench.core.settings import text
from mobench.errors import UserError


class Build(Command):
    """Build the site of all results.

    The site is plain files: open site/index.html, or put the folder on any web server.
    """

    name = "leaderboard build"
    loads = "plugins"

    results: str = RESULTS
    out: str = text("site", meaning="where the site goes; an older site there is replaced", shown="DIR")
    submissions: str | None = text(
        None, meaning="bundles of others to show as well, e.g. leaderboard/submissions", shown="DIR"
    )
    verified: str | None = text(
        None, meaning="runs that `leaderboard verify verified=DIR` repeated; others are not ranked", shown="DIR"
    )
    verdicts: str | None = text(
        None, meaning="what `leaderboard verify verdicts=FILE` wrote of bundles that ship with mobench", shown="FILE"
    )
    plugins: list[str] = PLUGINS
    title: str | None = text(None, meaning="the name of the site; left out: mobench")

    def execute(self) -> int:
        for key in ("results", "submissions", "verified"):
            folder = getattr(self, key)
            if folder == "results" and self.submissions is not None:
                continue  # the default; bundles alone make a site
            if folder is not None and not Path(folder).is_dir():
                hint = "; `mobench run` makes one" if key == "results" else ""
                raise UserError(f"{key}={folder}: there is no such folder{hint}")
        from mobench.core.registry import load_plugins
        from mobench.leaderboard.site import SiteOptions, build_site
        from mobench.leaderboard.site.measuring import measuring_apart
        from mobench.reporting.pictures import beside

        load_plugins(self.plugins)
        places = {key: getattr(self, key) for key in ("submissions", "verified", "verdicts")}
        options = SiteOptions(
            results=Path(self.results),
            out=Path(self.out),
            **{key: Path(place) for key, place in places.items() if place is not None},
            **({"title": self.title} if self.title else {}),
        )
        gc.freeze()  # what is loaded stays: no collection needs to look through it again
        gc.set_threshold(50_000)  # tables hold many objects and hardly a cycle
        with measuring_apart(self.plugins) as measure, beside(self.plugins) as render:
            build_site(options, render=render, measure=measure)
        index = Path(self.out) / "index.html"
        print(f"{index} is built. Open {index.resolve().as_uri()}")
        print(f"or run `python -m http.server -d {self.out}`.")
        return 0
