"""Saving a compressed network for use elsewhere, checked to compute the same outputs when read back.

The file's suffix says how:

    .pt     the `nn.Module` itself (`torch.load(path, weights_only=False)`)
    .pth    its state dict; `adopt` loads it into a network built at full size
    .pt2    a `torch.export` program, which needs no Python class to run
    .onnx   ONNX; needs the packages onnx, onnxscript and onnxruntime

Programs of the last two accept any batch size.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from mobench.errors import UserError, unknown

from .pruning.structure import is_depthwise

TOLERANCE = 1e-4
"""The largest accepted difference of an output, relative to the largest output (at least 1)."""

ONNX_PACKAGES = ("onnx", "onnxscript", "onnxruntime")

Network = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Saved:
    """A written file and how well it agrees with the network it came from."""

    path: Path
    bytes: int
    largest_difference: float


@torch.no_grad()
def save(model: nn.Module, path: Path, input_shape: Sequence[int]) -> Saved:
    """Write `model` in evaluation mode, read it back, compare the outputs, and only then keep the file.

    `input_shape` is one image's. An existing file is replaced at the end, in one step.
    """
    if path.suffix not in FORMATS:
        raise unknown(f"suffix of out={path}:", path.suffix, FORMATS)
    if not path.parent.is_dir():
        raise UserError(f"out={path} is not accepted; the folder '{path.parent}' does not exist")
    write, read = FORMATS[path.suffix]
    plain = copy.deepcopy(model).to("cpu").to(memory_format=torch.contiguous_format).eval()
    partial = path.with_name(f".{path.stem}.partial{path.suffix}")
    try:
        write(plain, partial, _images(2, input_shape))
        again = read(partial, plain)
        differences = [_difference(plain, again, _images(batch, input_shape)) for batch in (1, 3)]
        if not max(differences) <= TOLERANCE:
            raise RuntimeError(f"{path.suffix} of this network gives other outputs: relative difference {differences}")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return Saved(path, path.stat().st_size, max(differences))


def load(path: Path) -> nn.Module:
    """Read a network that was saved as a `.pt` module. Only open files you trust: it runs their code."""
    model = torch.load(path, weights_only=False, map_location="cpu")
    if not isinstance(model, nn.Module):
        raise UserError(f"'{path}' holds a {type(model).__name__}, not a network")
    return model


def adopt(model: nn.Module, state: Mapping[str, Tensor]) -> nn.Module:
    """Shrink a network of full size, in place, to the layer sizes of a pruned state dict and load that."""
    for path, module in model.named_modules():
        weight = state.get(f"{path}.weight")
        if weight is None:
            continue
        if isinstance(module, nn.Conv2d):
            outputs = weight.shape[0]
            module.in_channels, module.groups = (outputs, outputs) if is_depthwise(module) else (weight.shape[1], 1)
            module.out_channels = outputs
        elif isinstance(module, nn.Linear):
            module.out_features, module.in_features = weight.shape
        elif isinstance(module, nn.BatchNorm2d):
            module.num_features = len(weight)
        for name in ("weight", "bias", "running_mean", "running_var"):
            value = state.get(f"{path}.{name}")
            if value is not None:
                parameter = name in ("weight", "bias")
                setattr(module, name, nn.Parameter(value.clone()) if parameter else value.clone())
    model.load_state_dict(state)
    return model


def _images(batch: int, input_shape: Sequence[int]) -> Tensor:
    return torch.randn(batch, *input_shape, generator=torch.Generator().manual_seed(batch))


def _difference(model: nn.Module, again: Network, images: Tensor) -> float:
    expected = model(images)
    scale = expected.abs().max().clamp_min(1.0)
    return float((again(images) - expected).abs().max() / scale)


def _write_module(model: nn.Module, path: Path, images: Tensor) -> None:
    torch.save(model, path)


def _read_module(path: Path, model: nn.Module) -> Network:
    return load(path)


def _write_state(model: nn.Module, path: Path, images: Tensor) -> None:
    torch.save(model.state_dict(), path)


def _read_state(path: Path, model: nn.Module) -> Network:
    return adopt(copy.deepcopy(model), torch.load(path, weights_only=True))


def _write_program(model: nn.Module, path: Path, images: Tensor) -> None:
    torch.export.save(torch.export.export(model, (images,), dynamic_shapes=_any_batch()), path)


def _read_program(path: Path, model: nn.Module) -> Network:
    program: Network = torch.export.load(path).module()
    return program


def _write_onnx(model: nn.Module, path: Path, images: Tensor) -> None:
    missing = [package for package in ONNX_PACKAGES if importlib.util.find_spec(package) is None]
    if missing:
        raise UserError(f"writing .onnx needs {', '.join(missing)}, not installed here: pip install 'mobench[onnx]'")
    torch.onnx.export(
        model,
        (images,),
        path,
        input_names=["images"],
        output_names=["logits"],
        dynamic_shapes=_any_batch(),
        external_data=False,
        verbose=False,
        dynamo=True,
    )


def _read_onnx(path: Path, model: nn.Module) -> Network:
    session = importlib.import_module("onnxruntime").InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda images: torch.from_numpy(session.run(None, {"images": images.numpy()})[0])


def _any_batch() -> tuple[dict[int, torch.export.Dim]]:
    return ({0: torch.export.Dim("batch", min=1)},)


FORMATS: dict[str, tuple[Callable[[nn.Module, Path, Tensor], None], Callable[[Path, nn.Module], Network]]] = {
    ".pt": (_write_module, _read_module),
    ".pth": (_write_state, _read_state),
    ".pt2": (_write_program, _read_program),
    ".onnx": (_write_onnx, _read_onnx),
}
"""How to write and read each kind of file."""
