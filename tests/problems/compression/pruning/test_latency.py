"""Latency: what is run, under which conditions, and what is left behind."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mobench.problems.compression.latency import cpu_latency, ready_to_time


class Recorder(nn.Module):
    """Notes the conditions of every forward pass."""

    seen: list[tuple[tuple[int, ...], int, bool, bool]] = []  # noqa: RUF012 - shared with the timed copy

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append((tuple(x.shape), torch.get_num_threads(), self.training, torch.is_inference_mode_enabled()))
        result: Tensor = self.layer(x)
        return result


def test_passes_run_in_evaluation_mode_on_the_stated_threads_and_batch() -> None:
    Recorder.seen.clear()
    model = Recorder().train()
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        latency = cpu_latency(ready_to_time(model), (4,), batch_size=3, warmup=2, repeats=5)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert Recorder.seen == [((3, 4), 1, False, True)] * 7
    assert model.training
    assert (latency.batch_size, latency.repeats, latency.threads) == (3, 5, 1)
    assert 0 < latency.lower_quartile_ms <= latency.median_ms <= latency.upper_quartile_ms
