"""Training of a shared trunk with one head for each task, on rows that are held in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from mobench.core.problem import Task
from mobench.core.resources import resources
from mobench.core.streams import Streams

EVALUATED = 1024
"""Rows per step when a network is evaluated."""


@dataclass(frozen=True)
class Rows:
    """Inputs, and one column of targets for each task."""

    inputs: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.inputs)

    def to(self, device: torch.device) -> Rows:
        """Return the rows on a device."""
        return Rows(self.inputs.to(device), self.targets.to(device))


@dataclass(frozen=True)
class Data:
    """The rows to train on, to select on and to report on."""

    train: Rows
    validation: Rows
    test: Rows


class Shuffled:
    """Batches in a new random order each epoch, without end; the last partial batch is dropped."""

    def __init__(self, rows: Rows, batch_size: int, generator: torch.Generator) -> None:
        self.rows = rows
        self.batch_size = min(batch_size, len(rows))
        self.per_epoch = len(rows) // self.batch_size
        self.generator = generator
        self._begin()

    def _begin(self) -> None:
        self.start, self.position = self.generator.get_state(), 0
        self.order = torch.randperm(len(self.rows), generator=self.generator).to(self.rows.inputs.device)

    def next_batch(self) -> Rows:
        """Return the next rows."""
        if self.position == self.per_epoch:
            self._begin()
        chosen = self.order[self.position * self.batch_size : (self.position + 1) * self.batch_size]
        self.position += 1
        return Rows(self.rows.inputs[chosen], self.rows.targets[chosen])

    def state_dict(self) -> dict[str, Any]:
        """Return the generator's state at the start of the epoch, and how many batches were taken since."""
        return {"start": self.start, "position": self.position}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.generator.set_state(state["start"])
        self._begin()
        self.position = state["position"]


Measure = Callable[[list[Tensor], Tensor], list[Tensor]]
"""From the heads' outputs and the targets to one number for each task."""


class SharedTrunk(Task):
    """A trunk and its heads; methods see the gradients of the trunk, and each head follows its own task."""

    def __init__(
        self,
        build: Callable[[], tuple[nn.Module, list[nn.Module]]],
        data: Data,
        losses: Measure,
        batch_size: int,
        streams: Streams,
    ) -> None:
        self.device = torch.device(resources().torch_device)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(streams.torch("init").initial_seed())
            trunk, heads = build()
        self.network = nn.ModuleDict({"trunk": trunk, "heads": nn.ModuleList(heads)}).to(self.device)
        self.trunk, self.heads = trunk, heads
        self.parameters: Sequence[Tensor] = list(self.network.parameters())
        self.parameter_names = [name for name, _ in self.network.named_parameters()]
        self.shared_parameters: Sequence[Tensor] = list(trunk.parameters())
        self.data = Data(*(rows.to(self.device) for rows in (data.train, data.validation, data.test)))
        self.measure = losses
        self.stream = Shuffled(self.data.train, batch_size, streams.torch("data"))
        self.held_out = Shuffled(self.data.validation, batch_size, streams.torch("held-out"))
        self.steps_per_epoch = self.stream.per_epoch
        self._second = streams.torch("second-batch")
        self.second_stream: Shuffled | None = None
        """A second stream of training rows, begun when it is first asked for."""

    def batches(self) -> Iterator[Rows]:
        while True:
            yield self.stream.next_batch()

    def held_out_batch(self) -> Rows:
        """Return validation rows; configurations are selected on them too, and reported on test rows."""
        return self.held_out.next_batch()

    def second_batch(self) -> Rows:
        self.second_stream = self.second_stream or Shuffled(self.data.train, self.stream.batch_size, self._second)
        return self.second_stream.next_batch()

    def outputs(self, inputs: Tensor) -> list[Tensor]:
        """Return the outputs of all heads."""
        features = self.trunk(inputs)
        return [head(features) for head in self.heads]

    def losses(self, batch: Rows) -> Sequence[Tensor]:
        return self.measure(self.outputs(batch.inputs), batch.targets)

    @torch.no_grad()
    def mean(self, rows: Rows, measure: Measure) -> list[float]:
        """Return the mean of each task's numbers over all rows."""
        totals = torch.zeros(len(self.heads), dtype=torch.float64)
        for start in range(0, len(rows), EVALUATED):
            part = slice(start, start + EVALUATED)
            found = measure(self.outputs(rows.inputs[part]), rows.targets[part])
            totals += len(rows.inputs[part]) * torch.stack(found).double().cpu()
        return (totals / len(rows)).tolist()

    def state_dict(self) -> dict[str, Any]:
        second = {} if self.second_stream is None else {"second": self.second_stream.state_dict()}
        return {"stream": self.stream.state_dict(), "held_out": self.held_out.state_dict(), **second}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.stream.load_state_dict(state["stream"])
        self.held_out.load_state_dict(state["held_out"])
        if "second" in state:
            self.second_stream = Shuffled(self.data.train, self.stream.batch_size, self._second)
            self.second_stream.load_state_dict(state["second"])
