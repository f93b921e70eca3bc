"""Imported once by the fork server, so that every worker process starts with everything in memory."""

import atexit
import gc
import importlib
import os
import pkgutil
import shutil
import warnings

import mobench.training.loop  # noqa: F401 - imported for what it loads
from mobench.core.module_path import forget_module_path
from mobench.running.fork_server import MARK
from mobench.running.process_tree import adopt_orphans, kill_descendants

# What ships with mobench; plugins from elsewhere may not survive a fork and are left to the workers.
for name in ("mobench.methods", "mobench.problems"):
    for module in pkgutil.iter_modules(importlib.import_module(name).__path__, f"{name}."):
        importlib.import_module(module.name)

# A full collection takes 0.2 s with torch loaded. It may be due at any import: here once, not in every worker.
gc.collect()


def _leave_nothing(server: int, folder: str) -> None:
    if os.getpid() == server:
        kill_descendants(server)
        shutil.rmtree(folder, ignore_errors=True)


if folder := os.environ.get(MARK):
    forget_module_path()
    # What a worker leaves behind when it dies becomes a child of this process, and ends with it at the latest.
    adopt_orphans()
    warnings.filterwarnings("ignore", message="forkserver: waitpid returned unexpected pid")
    atexit.register(_leave_nothing, os.getpid(), folder)
