"""What a run may use of this machine: device, memory format, kinds of algorithms, and where data lies.

None of it is part of a run's identity: the same spec on another device is the same run. Worker
processes inherit it through one environment variable.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from mobench.core.cuda import cuda_is_available, why_unusable
from mobench.core.settings import Configurable, choice, flag, real, text
from mobench.errors import UserError

VARIABLE = "MOBENCH_RESOURCES"


class Resources(Configurable):
    """The machine's side of a run."""

    device: str = text("auto", meaning="a torch device; auto: cuda where there is one, else cpu", shown="cpu|cuda")
    channels_last: bool = flag(True, meaning="channels-last memory format for convolutional networks")
    deterministic: bool = flag(
        False, meaning="deterministic algorithms alone: a run on a GPU repeats to the last bit, at some cost"
    )
    data_root: str = text("data", meaning="folder that holds the data sets", shown="DIR")
    data_download: str = choice(
        "auto",
        ("auto", "true", "false"),
        meaning="whether missing data is fetched; auto: yes, where there is a network",
    )
    checkpoint_seconds: float = real(60.0, low=0.0, meaning="how often a long run saves its state")

    rehearsal: bool = flag(
        False,
        meaning="see whether all can run here: two batches of made-up data for each problem and method, nothing kept",
    )

    @classmethod
    def label(cls) -> str:
        return "resources"

    @property
    def torch_device(self) -> str:
        """The torch device that is meant."""
        return self.device if self.device != "auto" else "cuda" if cuda_is_available() else "cpu"

    @property
    def may_download(self) -> bool:
        """Whether missing data may be fetched."""
        return self.data_download != "false"

    def check(self) -> None:
        """Refuse a device that is not there."""
        if self.device == "auto":
            return
        import torch

        if self.device.startswith("mps"):
            raise UserError(
                f"device={self.device} cannot be used: it has no float64 numbers, in which sums are taken; "
                "device=cpu always can"
            )
        try:
            found = torch.device(self.device)
            if found.type != "cuda":
                torch.empty(0, device=found)
            reason = why_unusable(self.device) if found.type == "cuda" else ""
        except (RuntimeError, AssertionError) as error:
            reason = str(error).partition("\n")[0]
        if reason:
            raise UserError(f"device={self.device} cannot be used here: {reason}; device=cpu always can")

    def export(self) -> None:
        """Make these the resources of this process and of all it starts."""
        self.data_root = str(Path(self.data_root).resolve())
        os.environ.update(self.variables)

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a process that has these resources."""
        return {VARIABLE: json.dumps({name: getattr(self, name) for name in Resources.settings})}

    def on(self, device: str) -> Resources:
        """Return the same resources with another torch device."""
        return Resources(**self.configuration() | {"device": device})


def resources() -> Resources:
    """Return the resources of this process."""
    stored: dict[str, Any] = json.loads(os.environ.get(VARIABLE, "{}"))
    return Resources(**stored)
