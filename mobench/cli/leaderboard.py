"""`mobench leaderboard`: stored results as a static site, shown here, or checked before they are shown."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from mobench.core.settings import Integer
from mobench.errors import UserError, unknown
from mobench.planning.overrides import parse_overrides

BUILD_KEYS = ("results", "out", "submissions", "speed", "peers", "plugins", "title")
SERVE_KEYS = ("out", "port")

BUILD_HELP = """
keys:
  results=DIR            where records are stored (default: results)
  out=DIR                where the site goes (default: site); an older site there is replaced
  submissions=DIR        bundles of others to show as well, e.g. leaderboard/submissions
  speed=DIR              records of `asv publish` (.asv/html) to show under speed/
  peers=FILE             a JSON table of speed beside other libraries
  plugins=PATH[,PATH]    Python files or folders with methods and problems of your own
  title=TEXT             the name of the site (default: mobench)

The site is plain files: open site/index.html, or put the folder on any web server.
"""

SERVE_HELP = """
keys:
  out=DIR                the site (default: site)
  port=N                 where to listen on this machine (default: 8000; 0: any free port)
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the sub-commands."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    shape = argparse.RawDescriptionHelpFormatter
    build = commands.add_parser(
        "build", help="build the site from stored results", epilog=BUILD_HELP, formatter_class=shape
    )
    build.add_argument("settings", nargs="*", metavar="key=value", help="what to build, see below")
    serve = commands.add_parser("serve", help="show a site on this machine", epilog=SERVE_HELP, formatter_class=shape)
    serve.add_argument("settings", nargs="*", metavar="key=value", help="see below")
    verify = commands.add_parser("verify", help="check bundles that were sent in", formatter_class=shape)
    import_module("mobench.cli.verify").configure(verify)


def execute(arguments: argparse.Namespace) -> int:
    """Run a sub-command."""
    if arguments.action == "build":
        return _build(arguments)
    if arguments.action == "serve":
        return _serve(arguments)
    code: int = import_module("mobench.cli.verify").execute(arguments)
    return code


def _build(arguments: argparse.Namespace) -> int:
    titles = [word.removeprefix("title=") for word in arguments.settings if word.startswith("title=")]
    overrides = parse_overrides((word for word in arguments.settings if not word.startswith("title=")), BUILD_KEYS)
    _refuse_dots(overrides, BUILD_KEYS)
    results, out = (Path(str(overrides.get(key, key.replace("out", "site")))) for key in ("results", "out"))
    for key in ("results", "submissions", "speed"):
        if (key in overrides or key == "results") and not Path(str(overrides.get(key, results))).is_dir():
            hint = "; `mobench run` makes one" if key == "results" else ""
            raise UserError(f"{key}={overrides.get(key, results)}: there is no such folder{hint}")
    from mobench.core.registry import load_plugins
    from mobench.leaderboard.site import SiteOptions, build_site
    from mobench.reporting.rendering import beside

    load_plugins(overrides.get("plugins", []))
    options = SiteOptions(
        results=results,
        out=out,
        **{key: Path(str(overrides[key])) for key in ("submissions", "speed", "peers") if key in overrides},
        **({"title": titles[-1]} if titles else {}),
    )
    with beside() as render:
        build_site(options, render=render)
    print(f"{out / 'index.html'} is built. Open {(out / 'index.html').resolve().as_uri()}")
    print(f"or run `mobench leaderboard serve out={out}`.")
    return 0


def _serve(arguments: argparse.Namespace) -> int:
    overrides = parse_overrides(arguments.settings, SERVE_KEYS)
    _refuse_dots(overrides, SERVE_KEYS)
    out = Path(str(overrides.get("out", "site")))
    port = Integer(8000, "port", 0, 65535).parse("port", overrides.get("port", 8000))
    from mobench.leaderboard.site.server import serve

    return int(serve(out, port))


def _refuse_dots(overrides: Mapping[str, Any], accepted: tuple[str, ...]) -> None:
    """No key of these commands has parts."""
    for key in overrides:
        if key not in accepted:
            raise unknown("key", key, accepted)
