"""Saved networks: every kind of file gives the same outputs, and a bad one never replaces a good one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from mobench.errors import UserError
from mobench.problems.compression import export, networks
from tests.problems.compression.pruning.prepared import folded, prepared, pruned


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".pt2", ".onnx"])
def test_every_kind_of_file_gives_the_same_outputs(suffix: str, tmp_path: Path) -> None:
    if suffix == ".onnx":
        for package in export.ONNX_PACKAGES:
            pytest.importorskip(package)
    saved = export.save(pruned("digits-cnn"), tmp_path / f"small{suffix}", networks.input_shape("digits-cnn"))
    assert saved.largest_difference <= 1e-6
    assert saved.bytes == saved.path.stat().st_size > 0
    assert [file.name for file in tmp_path.iterdir()] == [f"small{suffix}"]


def test_a_saved_module_loads_as_a_plain_network_in_evaluation_mode(tmp_path: Path) -> None:
    model = pruned("resnet-narrow").train()
    export.save(model, tmp_path / "small.pt", networks.input_shape("resnet-narrow"))
    again = export.load(tmp_path / "small.pt")
    assert not again.training
    assert model.training
    images = prepared("resnet-narrow").images
    with torch.no_grad():
        assert torch.equal(again(images), model.eval()(images))


def test_an_exported_program_takes_any_batch_and_matches_when_read_by_torch_alone(tmp_path: Path) -> None:
    model = pruned("digits-cnn").eval()
    export.save(model, tmp_path / "small.pt2", networks.input_shape("digits-cnn"))
    program = torch.export.load(tmp_path / "small.pt2").module()
    for batch in (1, 2, 7):
        images = torch.randn(batch, 1, 8, 8)
        torch.testing.assert_close(program(images), model(images), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["densenet-121", "mobilenet-v2", "resnet-narrow", "digits-cnn"])
def test_a_network_built_at_full_size_adopts_a_pruned_state_dict(name: str) -> None:
    smaller = folded(name).eval()
    full = networks.build(name, 7, torch.Generator().manual_seed(9)).eval()
    adopted = export.adopt(full, smaller.state_dict())
    images = prepared(name).images
    with torch.no_grad():
        assert torch.equal(adopted(images), smaller(images))
    conv = next(module for module in adopted.modules() if isinstance(module, nn.Conv2d))
    assert conv.weight.data_ptr() not in {parameter.data_ptr() for parameter in smaller.parameters()}


def test_an_unknown_suffix_names_the_accepted_ones(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"'\.ptt'.*Did you mean '\.pt'.*\.onnx"):
        export.save(nn.Identity(), tmp_path / "model.ptt", (1,))


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"the folder '.*nowhere' does not exist"):
        export.save(nn.Identity(), tmp_path / "nowhere" / "model.pt", (1,))


def test_missing_onnx_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "ONNX_PACKAGES", ("torch", "no_such_package"))
    with pytest.raises(UserError, match=r"needs no_such_package, not installed.*mobench\[onnx\]"):
        export.save(nn.Linear(2, 2), tmp_path / "model.onnx", (2,))
    assert list(tmp_path.iterdir()) == []


class Unsteady(nn.Module):
    """Gives other outputs at every call."""

    calls = 0

    def forward(self, x: Tensor) -> Tensor:
        Unsteady.calls += 1
        return x + Unsteady.calls


def test_a_file_that_computes_something_else_is_refused_and_the_old_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    export.save(nn.Identity(), path, (3,))
    before = path.read_bytes()
    with pytest.raises(RuntimeError, match="gives other outputs"):
        export.save(Unsteady(), path, (3,))
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.pt"]


def test_a_file_that_holds_no_network_is_refused(tmp_path: Path) -> None:
    torch.save({"weight": torch.zeros(2)}, tmp_path / "state.pt")
    with pytest.raises(UserError, match="holds a dict, not a network"):
        export.load(tmp_path / "state.pt")
