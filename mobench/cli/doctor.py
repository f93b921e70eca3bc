"""`mobench doctor`: whether this machine can do what a suite plans, and how fast."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar

from mobench.cli.command import PLUGINS, Command, names
from mobench.cli.run import Run, check_suites
from mobench.core.resources import Resources
from mobench.core.settings import flag, text
from mobench.errors import UserError

if TYPE_CHECKING:
    from mobench.running.doctor import Device, ProbeResult

SUITE = "compression"
COLUMN = 29
"""Where the answers begin."""
WIDTH = 79
MARKS = {"ok": "ok", "note": "note", "failed": "FAILED"}


class Doctor(Command):
    """Examine the devices of this machine before the first run.

    Driver, torch and its build, a kernel, a convolution in each precision, an eigen-decomposition; then, for what the
    suite trains, a checkpoint, the data, and twenty steps of each network on random data with their memory. Each is
    a line; all of it takes about a minute on a GPU. Exit code: 0 when nothing fails, 2 otherwise.
    """

    name = "doctor"
    sections: ClassVar = {key: Run.sections[key] for key in ("methods.A.SETTING=V", "problems.P.SETTING=V")}
    spelling: ClassVar = {"data_root": "data.root"}
    examples = """
  mobench doctor
  mobench doctor suite=compression profile=paper
  mobench doctor suite=low-rank precision=bf16 gpus=1
  mobench doctor device=cpu --json
"""

    suite: list[str] = names(meaning=f"suites whose networks are tried (default: {SUITE})", shown="NAME[,NAME]")
    profile: Any = Run.settings["profile"]
    methods = Run.settings["methods"]
    problems = Run.settings["problems"]
    precision = Run.settings["precision"]
    plugins: list[str] = PLUGINS
    gpus: str = text("auto", meaning="CUDA devices to examine, by position; auto: all, none: the CPU", shown="auto|0,1")
    device: Any = Resources.settings["device"]
    channels_last = Resources.settings["channels_last"]
    deterministic = Resources.settings["deterministic"]
    data_root = Resources.settings["data_root"]
    json: bool = flag(False, meaning="print JSON")

    def execute(self) -> int:
        from mobench.planning.suite import load_suites
        from mobench.running.doctor import examine, failure_of
        from mobench.running.executors.base import Share
        from mobench.running.guarded_call import call_in_worker

        suites = load_suites(self.suite or [SUITE], self.profile, self.device)
        machine = Resources(
            device=self.device,
            channels_last=self.channels_last,
            deterministic=self.deterministic,
            data_root=self.data_root,
            data_download="false",
        )
        if self.device != "cuda":  # of which the probes say more
            machine.check()
        machine.export()
        plugins = [str(Path(path).resolve()) for path in self.plugins]
        asked = {key: getattr(self, key) for key in ("methods", "problems", "precision")}
        overrides = {**self.others, **{key: value for key, value in asked.items() if value}}
        networks = call_in_worker("mobench.running.doctor:planned_networks", suites, overrides, plugins, check_suites)
        results: list[tuple[Device, ProbeResult]] = []
        for device, result in examine(Share(gpus=self.gpus), networks, plugins):
            if not self.json:
                if not results or results[-1][0] != device:
                    print(f"{device.name}:")
                print(_line(result), flush=True)
            results.append((device, result))
        if self.json:
            print(json.dumps([{"device": device.name, **asdict(result)} for device, result in results], indent=2))
        elif networks.left_out:
            print(f"{networks.left_out} more kinds of networks are planned; problems=NAME chooses")
        failed = [(device, result) for device, result in results if result.verdict == "failed"]
        if failed:
            device, result = failed[0]
            more = f" ({len(failed) - 1} more failed)" if len(failed) > 1 else ""
            raise UserError(f"{device.name}, {failure_of(result)}{more}")
        return 0


def _line(result: ProbeResult) -> str:
    first, *rest = wrap(result.says, WIDTH - COLUMN) or [""]
    start = f"  {MARKS[result.verdict]:<7}{result.probe}".ljust(COLUMN)
    return "\n".join([start + first, *(" " * COLUMN + line for line in rest)])
