"""Methods that misbehave: what each does, and what is to become of its run.

`done`: what it did is nobody's harm but its own, and its run has a result. Everything else is the end of the reason
of a failed run.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

DONE = "done"
TIME_LIMIT, MEMORY_LIMIT = 20, "1000MB"
TOO_SLOW = f"took longer than its time limit of {TIME_LIMIT} s"
TEXT_OF_20_MB = 20 * 2**20

_FILE = """
import atexit, ctypes, multiprocessing, os, pathlib, resource, shutil, signal, subprocess, sys, tempfile
import threading, time
import numpy as np
import torch
from mobench import Method, register
{top}


def second_time():
    \"\"\"The first process to ask is the one that plans.\"\"\"
    mark = pathlib.Path(__file__).with_suffix(".mark")
    before = mark.exists() and mark.read_text() != str(os.getpid())
    if not mark.exists():
        mark.write_text(str(os.getpid()))
    return before


{imported}


@register
class Bad(Method):
    name = "bad-{name}"
    {inside}

    def reset(self, k, rng):
        super().reset(k, rng)
        {reset}

    def weights(self, step):
        {weights}
        return np.ones(step.k)
"""


@dataclass(frozen=True)
class Animal:
    """A method by the code that it runs in its hooks."""

    name: str
    ends: str
    weights: str = "pass"
    reset: str = "pass"
    imported: str = "pass"
    inside: str = "pass"
    top: str = ""

    def write(self, folder: Path) -> None:
        """Write the method's file."""
        parts = {
            "weights": textwrap.indent(textwrap.dedent(self.weights), " " * 8).strip(),
            "reset": textwrap.indent(textwrap.dedent(self.reset), " " * 8).strip(),
            "inside": textwrap.indent(textwrap.dedent(self.inside), " " * 4).strip(),
            "imported": textwrap.dedent(self.imported),
        }
        (folder / f"bad_{self.name}.py").write_text(_FILE.format(name=self.name, top=self.top, **parts))


_SLEEPER = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session={own})"
_PATCHED_ENGINE = """
import mobench.training.workload as w
measured = w.VectorWorkload.metrics
w.VectorWorkload.metrics = lambda self, member: dict.fromkeys(measured(self, member), 0.0)
"""
_PATCHED_METHODS = """
import mobench.methods.mgda as m, mobench.methods.pcd as p
for method in (m.MGDA, p.PCD):
    method.weights = lambda self, step: [0.0] * step.k
"""

ZOO = [
    Animal("raise", "LookupError: no such thing", weights="raise LookupError('no such thing')"),
    Animal("raise-in-reset", "LookupError: not again", reset="if second_time(): raise LookupError('not again')"),
    Animal(
        "raise-at-import",
        "the file fails on import: LookupError: not here",
        imported="if second_time(): raise LookupError('not here')",
    ),
    Animal("base-exception", "KeyboardInterrupt", weights="raise KeyboardInterrupt"),
    Animal("nan", "returned non-finite weights [nan, nan, nan] at iteration 3",
           weights="if step.iteration == 3: return [float('nan')] * step.k"),
    Animal("shape", "returned weights of shape (4,); 3 numbers are needed", weights="return np.ones(step.k + 1)"),
    Animal("text", "could not convert string to float: 'abc'", weights="return ['abc'] * step.k"),
    Animal("none", "returned weights of shape (); 3 numbers are needed", weights="return None"),
    Animal("sleep", TOO_SLOW, weights="time.sleep(600)"),
    Animal("holds-the-gil", TOO_SLOW, weights="ctypes.PyDLL(None).sleep(600)"),
    Animal("deaf-and-busy", TOO_SLOW,
           weights="for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:\n"
                   "    signal.signal(number, signal.SIG_IGN)\nwhile True: pass"),
    Animal("memory", "used more memory than its limit",
           weights="kept = [np.ones(2**25) for _ in range(5)]\ntime.sleep(600)"),
    Animal("memory-of-a-child", "used more memory than its limit",
           weights="subprocess.run([sys.executable, '-c', 'import time; kept = b\"x\" * 2**30; time.sleep(600)'])"),
    Animal("exit-at-once", "the worker process ended with exit code 0 in the middle of the run", weights="os._exit(0)"),
    Animal("sys-exit", "SystemExit: 0", weights="sys.exit(0)"),
    Animal("segfault", "the worker process was killed by SIGSEGV", weights="ctypes.string_at(0)"),
    Animal("abort", "the worker process was killed by SIGABRT", weights="os.abort()"),
    Animal("stack", "RecursionError: maximum recursion depth exceeded", weights="return self.weights(step)"),
    Animal("fork", DONE, weights="if step.iteration == 0: os.fork()  # and both go on"),
    Animal("daemon", DONE,
           weights=f"if step.iteration == 0:\n    {_SLEEPER.format(own=True)}\n    {_SLEEPER.format(own=False)}\n"
                   "    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0: time.sleep(600)\n"
                   "        os._exit(0)"),
    Animal("threads", DONE,
           weights="if step.iteration == 0:\n    threading.Thread(target=time.sleep, args=(600,)).start()\n"
                   "    atexit.register(time.sleep, 600)"),
    Animal("no-working-folder", DONE,
           weights="if step.iteration == 0:\n    os.chdir(tempfile.mkdtemp())\n    os.rmdir(os.getcwd())"),
    Animal("patched-engine", DONE, imported=_PATCHED_ENGINE),
    Animal("no-losses", DONE,
           imported="import mobench.training.workload as w\nw.VectorWorkload.metrics = lambda self, member: {}"),
    Animal("patched-methods", DONE, imported=_PATCHED_METHODS),
    Animal("default-type", "NotImplementedError",
           imported="torch.set_default_dtype(torch.float16)", weights="raise NotImplementedError"),
    Animal("threads-and-denormals", DONE, imported="torch.set_num_threads(2)\ntorch.set_flush_denormal(True)"),
    Animal("prints-40-mb", DONE,
           weights="if step.iteration < 4:\n    sys.stdout.write('x' * (5 * 2**20))\n"
                   "    sys.stderr.write('y' * (5 * 2**20))"),
    Animal("long-message", "xxxxxxxx", weights=f"raise ValueError('x' * {TEXT_OF_20_MB})"),
    Animal("long-message-of-many-lines", "the end", weights="raise ValueError('line\\n' * 1_000_000 + 'the end')"),
    Animal("lone-surrogate", r"ValueError: \udce9 is no text", weights="raise ValueError('\\udce9 is no text')"),
    Animal("markup", "ValueError: [/b] [nan, nan] [bold red]x[/]",
           weights="raise ValueError('[/b] [nan, nan] [bold red]x[/]')"),
    Animal("escapes", "ValueError: \\x1b[2Jgone\\x07", weights="raise ValueError('\\x1b[2Jgone\\x07')"),
    Animal("unprintable-error", "Awful",
           top="class Awful(Exception):\n    def __str__(self): raise Awful\n    __repr__ = __str__",
           weights="raise Awful"),
    Animal("closed-output", "ValueError: I/O operation on closed file",
           weights="sys.stdout.close()\nsys.stderr.close()\nos.close(1)\nos.close(2)\nprint('hello')"),
    Animal("closed-everything", "Bad file descriptor", weights="os.closerange(0, 256)"),
    Animal("patched-store", "object is not callable",
           imported="import mobench.store.record as r\nr.RunRecord.encode = None"),
    Animal("claims-that-the-disk-is-full", "no room on this disk",
           top="from mobench.errors import StorageError", weights="raise StorageError('no room on this disk')"),
    Animal("signal-handlers", DONE,
           weights="for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD):\n"
                   "    signal.signal(number, signal.SIG_IGN)"),
    Animal("claims-to-be-ours", DONE, inside="__module__ = 'mobench.methods.pcd'", imported=_PATCHED_METHODS),
    Animal("writes-the-gram-matrix", "ValueError: assignment destination is read-only",
           weights="step.gram[0, 0] = 1.0"),
    Animal("writes-the-losses", "ValueError: assignment destination is read-only", weights="step.losses[0] = 1.0"),
    Animal("writes-a-curve", "the benchmark measures this curve; note it by another name",
           weights="step.note(losses=np.zeros(step.k))"),
    Animal("no-files", "Too many open files",
           weights="resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\nopen('/dev/null')"),
    Animal("huge-numbers", "the loss 'wells' is inf at step 1", weights="return np.full(step.k, 1e300)"),
]  # fmt: skip
