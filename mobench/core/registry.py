"""Discovery of methods, problems and plots: a file is found because it is there.

Three places are searched: the packages `mobench.methods`, `mobench.problems` and
`mobench.reporting.plots`, entry points of installed packages (groups `mobench.methods`,
`mobench.problems` and `mobench.plots`), and files or folders that the user names. No list is kept
anywhere. Plots that belong to a method or a problem are in a file `plots.py` or `*_plots.py` beside it.
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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from mobench.core.deferred import deferred
from mobench.core.method import Method
from mobench.core.plain_text import in_one_line
from mobench.core.plot import Plot
from mobench.core.problem import Problem
from mobench.errors import UserError, unknown

Plugin = type[Method] | type[Problem] | type[Plot]
PluginT = TypeVar("PluginT", bound=Plugin)

PACKAGES = {"methods": "mobench.methods", "problems": "mobench.problems", "plots": "mobench.reporting.plots"}
"""Where what ships with mobench lives."""

_found: dict[str, dict[str, Plugin]] = {kind: {} for kind in PACKAGES}
_discovered: set[str] = set()
_files: WeakKeyDictionary[type, Path] = WeakKeyDictionary()
"""The files that registered classes were written in."""
_installed_packages = True


@dataclass(frozen=True)
class Namespace:
    """Methods of another package, `NAME:MEMBER`, each made when it is first asked for.

    Listing all methods does not list them, as they need not be installed, and may be many.
    """

    name: str
    members: Callable[[], Iterable[str]]
    """Return the names after the colon; raise `UserError` where the package is missing."""
    make: Callable[[str], type[Method]]
    """Return the method of one of these names."""


_namespaces: dict[str, Namespace] = {}


def register(plugin: PluginT) -> PluginT:
    """Class decorator: make a `Method`, `Problem` or `Plot` known under its id."""
    if issubclass(plugin, Method):
        plugin.check_complete()
    if plugin not in _files and (file := _written_in(sys._getframe(1))) is not None:
        _files[plugin] = file
    kind, id_ = _kind(plugin), _id(plugin)
    if not isinstance(id_, str) or not id_.isprintable() or (kind != "problems" and "@" in id_):
        unfit = "unseen characters" if kind == "problems" else "@ or unseen characters"
        raise UserError(f"{origin(plugin)}: {id_!a} is no name for one of the {kind}, which is a text without {unfit}")
    other = _found[kind].get(id_)
    if other is not None and origin(other) != origin(plugin):
        raise UserError(f"two {kind} are called '{id_}': {origin(other)} and {origin(plugin)}; rename one")
    _found[kind][id_] = plugin
    return plugin


def register_namespace(namespace: Namespace) -> None:
    """Make the methods of another package known as `NAME:MEMBER`."""
    _namespaces[namespace.name] = namespace


def namespaces() -> dict[str, Namespace]:
    """Return every known namespace of methods."""
    _all("methods")
    return dict(sorted(_namespaces.items()))


def origin(plugin: Plugin) -> str:
    """Return the file and class a plugin comes from."""
    return f"{source_file(plugin)}:{plugin.__qualname__}"


def source_file(plugin: Plugin) -> Path:
    """Return the file in which a plugin was registered; what its `__module__` claims counts only without one."""
    return _files.get(plugin) or Path(inspect.getfile(plugin)).resolve()


def source_digest(plugin: Plugin) -> str | None:
    """Return the sha256 of a plugin's file, or None for what ships with mobench.

    What ships is identified by its version; a file of the user's own by its content, so that an
    edited plugin is run again instead of being answered from stored results.
    """
    file = source_file(plugin)
    return None if _is_shipped(file) else file_digest(file)


def file_digest(file: Path) -> str:
    """Return what identifies a plugin's file in a run's sources."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def ignore_installed_packages() -> None:
    """Find only what ships with mobench and what files given by name add, in this process and from now on."""
    global _installed_packages
    _installed_packages = False


def has_installed_packages() -> bool:
    """Say whether an installed package announces methods, problems or plots."""
    found = importlib.metadata.entry_points()  # once: each call reads what every installed package announces
    return any(found.select(group=f"mobench.{kind}") for kind in PACKAGES)


class Methods(dict[str, type[Method]]):
    """The known methods by name; those of a namespace are found when they are asked for, and listed from then on."""

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or (isinstance(name, str) and _adopted(name) is not None)

    def __missing__(self, name: str) -> type[Method]:
        found = _adopted(name)
        if found is None:
            raise KeyError(name)
        self[name] = found
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """Return the method called `name`, `default` where there is none."""
        try:
            return self[name]
        except KeyError:
            return default


def methods() -> dict[str, type[Method]]:
    """Return every known method by name."""
    return Methods({id_: plugin for id_, plugin in _all("methods").items() if issubclass(plugin, Method)})


def _adopted(name: str) -> type[Method] | None:
    """Return a namespace's method, None where there is none, also because the package is missing."""
    if ":" not in name:
        return None
    try:
        return find_method(name)
    except UserError:
        return None


def problems() -> Mapping[str, type[Problem]]:
    """Return every known problem by its versioned id; asking for one loads only the files that name it."""
    return _Problems()


class _Problems(Mapping[str, type[Problem]]):
    """The problems, loaded as far as they are asked for: the files of some cannot be read without torch."""

    def __getitem__(self, id_: str) -> type[Problem]:
        if id_ not in _found["problems"] and "problems" not in _discovered:
            _load_mentioning(id_)
        plugin = _found["problems"].get(id_) or _all("problems")[id_]
        assert issubclass(plugin, Problem)
        return plugin

    def __iter__(self) -> Iterator[str]:
        return iter(_all("problems"))

    def __len__(self) -> int:
        return len(_all("problems"))


def plots() -> dict[str, type[Plot]]:
    """Return every known plot by name."""
    return {id_: plugin for id_, plugin in _all("plots").items() if issubclass(plugin, Plot)}


def find_method(name: str) -> type[Method]:
    """Return the method called `name`, or `NAMESPACE:NAME` from another package."""
    known = dict(_all("methods"))
    space, colon, member = name.partition(":")
    if name not in known and colon:
        if space not in namespaces():
            raise unknown("namespace of methods", space, namespaces())
        offered = list(_namespaces[space].members())
        if member not in offered:
            raise unknown(f"method of {space}", member, offered)
        return register(_namespaces[space].make(member))
    if name not in known:
        raise unknown("method", name, known)
    found = known[name]
    assert issubclass(found, Method)
    return found


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
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise UserError(f"plugins={file}: the file fails on import: {_words_of(error)}") from error


def _words_of(error: BaseException) -> str:
    return in_one_line(f"{type(error).__name__}: {error}")  # of a syntax error that has the line


def _load_mentioning(id_: str) -> None:
    """Load the shipped modules of problems in whose files an id stands as a text."""
    with deferred("torch"):
        for module, text in _texts_of_problems().items():
            if f'"{id_}"' in text:
                importlib.import_module(module)


@cache
def _texts_of_problems() -> dict[str, str]:
    """Return the source of every module of problems, for a package that of all its files."""
    found = {}
    for folder in map(Path, importlib.import_module(PACKAGES["problems"]).__path__):
        for entry in sorted(folder.iterdir()):
            files = sorted(entry.rglob("*.py")) if entry.is_dir() else [entry] if entry.suffix == ".py" else []
            if files and entry.stem != "__init__":
                text = "".join(file.read_text(encoding="utf-8") for file in files)
                found[f"{PACKAGES['problems']}.{entry.stem}"] = text
    return found


def _all(kind: str) -> dict[str, Plugin]:
    if kind not in _discovered:
        with deferred("torch"):
            package = importlib.import_module(PACKAGES[kind])
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{PACKAGES[kind]}.{module.name}")
            for name in _modules_of_plots() if kind == "plots" else ():
                importlib.import_module(name)
        for entry in importlib.metadata.entry_points(group=f"mobench.{kind}") if _installed_packages else ():
            try:
                loaded = entry.load()
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a broken package costs only what it would have added
                source = entry.dist.name if entry.dist else entry.value
                reason = f"{kind} of the package {source} cannot be loaded: {_words_of(error)}"
                warnings.warn(reason, RuntimeWarning, stacklevel=2)
                continue
            if inspect.isclass(loaded) and issubclass(loaded, (Method, Problem, Plot)):
                register(loaded)
        _discovered.add(kind)
    return dict(sorted(_found[kind].items()))


def _modules_of_plots() -> Iterator[str]:
    """Yield the modules of plots that stand beside methods and problems."""
    for kind in ("methods", "problems"):
        for folder in map(Path, importlib.import_module(PACKAGES[kind]).__path__):
            files = [*folder.glob("*_plots.py"), *folder.glob("*/plots.py"), *folder.glob("*/*_plots.py")]
            yield from (".".join((PACKAGES[kind], *file.relative_to(folder).with_suffix("").parts)) for file in files)


def _kind(plugin: Plugin) -> str:
    if issubclass(plugin, Plot):
        return "plots"
    return "methods" if issubclass(plugin, Method) else "problems"


def _id(plugin: Plugin) -> str:
    return plugin.id if issubclass(plugin, Problem) else plugin.name


def _written_in(frame: FrameType | None) -> Path | None:
    """Return the file of the code that registers something, None where that is no file, or is this module."""
    name = "" if frame is None else frame.f_code.co_filename
    return Path(name).resolve() if name != __file__ and Path(name).is_file() else None


@cache
def _is_shipped(file: Path) -> bool:
    """Say whether a file lies in one of the folders that ship with mobench."""
    specs = map(importlib.util.find_spec, PACKAGES.values())
    folders = [Path(folder) for spec in specs if spec for folder in spec.submodule_search_locations or ()]
    return any(file.is_relative_to(folder.resolve()) for folder in folders)
