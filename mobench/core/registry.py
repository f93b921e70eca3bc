"""Discovery of methods, problems and plots: a file is found because it is there.

Three places are searched: the packages `mobench.methods`, `mobench.problems` and
`mobench.reporting.plots`, entry points of installed packages (groups `mobench.methods`,
`mobench.problems` and `mobench.plots`), and files or folders that the user names. No list is kept
anywhere.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import pkgutil
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from mobench.core.deferred import deferred
from mobench.core.method import Method
from mobench.core.plot import Plot
from mobench.core.problem import Problem
from mobench.errors import UserError, unknown

Plugin = type[Method] | type[Problem] | type[Plot]
PluginT = TypeVar("PluginT", bound=Plugin)

PACKAGES = {"methods": "mobench.methods", "problems": "mobench.problems", "plots": "mobench.reporting.plots"}
"""Where what ships with mobench lives."""

_found: dict[str, dict[str, Plugin]] = {kind: {} for kind in PACKAGES}
_discovered: set[str] = set()


def register(plugin: PluginT) -> PluginT:
    """Class decorator: make a `Method`, `Problem` or `Plot` known under its id."""
    if issubclass(plugin, Method):
        plugin.check_complete()
    kind, id_ = _kind(plugin), _id(plugin)
    other = _found[kind].get(id_)
    if other is not None and origin(other) != origin(plugin):
        raise UserError(f"two {kind} are called '{id_}': {origin(other)} and {origin(plugin)}; rename one")
    _found[kind][id_] = plugin
    return plugin


def origin(plugin: Plugin) -> str:
    """Return the file and class a plugin comes from."""
    return f"{inspect.getfile(plugin)}:{plugin.__qualname__}"


def source_digest(plugin: Plugin) -> str | None:
    """Return the sha256 of a plugin's file, or None for what ships with mobench.

    What ships is identified by its version; a file of the user's own by its content, so that an
    edited plugin is run again instead of being answered from stored results.
    """
    if plugin.__module__.startswith(tuple(f"{package}." for package in PACKAGES.values())):
        return None
    return hashlib.sha256(Path(inspect.getfile(plugin)).read_bytes()).hexdigest()


def methods() -> dict[str, type[Method]]:
    """Return every known method by name."""
    return {id_: plugin for id_, plugin in _all("methods").items() if issubclass(plugin, Method)}


def problems() -> dict[str, type[Problem]]:
    """Return every known problem by its versioned id."""
    return {id_: plugin for id_, plugin in _all("problems").items() if issubclass(plugin, Problem)}


def plots() -> dict[str, type[Plot]]:
    """Return every known plot by name."""
    return {id_: plugin for id_, plugin in _all("plots").items() if issubclass(plugin, Plot)}


def find_method(name: str) -> type[Method]:
    """Return the method called `name`."""
    known = methods()
    if name not in known:
        raise unknown("method", name, known)
    return known[name]


def find_problem(id_: str) -> type[Problem]:
    """Return the problem `id_`; without `@version` the newest version."""
    known = problems()
    if id_ in known:
        return known[id_]
    versions = [known_id for known_id in known if known_id.rpartition("@")[0] == id_]
    if not versions:
        raise unknown("problem", id_, known)
    return known[max(versions, key=lambda known_id: int(known_id.rpartition("@")[2]))]


def load_plugins(paths: Iterable[str | Path]) -> None:
    """Import the given Python files, and every Python file of the given folders."""
    for file in plugin_paths(paths):
        _load_file(file)


def plugin_paths(paths: Iterable[str | Path]) -> Iterator[Path]:
    """Yield the Python files among the given files and folders, without importing them."""
    for path in map(Path, paths):
        if path.is_dir():
            files = sorted(file for file in path.glob("*.py") if not file.name.startswith("_"))
        elif path.is_file() and path.suffix == ".py":
            files = [path]
        else:
            raise UserError(f"plugins={path}: there is no such Python file or folder")
        yield from (file.resolve() for file in files)


def _load_file(file: Path) -> None:
    name = f"mobench_plugin_{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UserError(f"plugins={file}: Python cannot load this file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except UserError:
        del sys.modules[name]
        raise
    except Exception as error:
        del sys.modules[name]
        raise UserError(f"plugins={file}: the file fails on import: {type(error).__name__}: {error}") from error


def _all(kind: str) -> dict[str, Plugin]:
    if kind not in _discovered:
        with deferred("torch"):
            package = importlib.import_module(PACKAGES[kind])
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{PACKAGES[kind]}.{module.name}")
        for entry in importlib.metadata.entry_points(group=f"mobench.{kind}"):
            try:
                loaded = entry.load()
            except Exception as error:  # noqa: BLE001 - a broken package costs only what it would have added
                source = entry.dist.name if entry.dist else entry.value
                reason = f"{type(error).__name__}: {error}"
                warnings.warn(
                    f"{kind} of the package {source} cannot be loaded: {reason}", RuntimeWarning, stacklevel=2
                )
                continue
            if inspect.isclass(loaded) and issubclass(loaded, (Method, Problem, Plot)):
                register(loaded)
        _discovered.add(kind)
    return dict(sorted(_found[kind].items()))


def _kind(plugin: Plugin) -> str:
    if issubclass(plugin, Plot):
        return "plots"
    return "methods" if issubclass(plugin, Method) else "problems"


def _id(plugin: Plugin) -> str:
    return plugin.id if issubclass(plugin, Problem) else plugin.name
