"""TorchJD's aggregators and scalarizers as methods: `methods=torchjd:UPGrad torchjd.UPGrad.norm_eps=1e-6`.

They are found by inspection of the installed version, when one of them is asked for. The arguments of a constructor
become settings: numbers, words, and tensors with one number per objective. An argument that takes an object is replaced
by the arguments of the class that can be put there, as `norm_eps` and `reg_eps` of UPGrad's projector. The number of
objectives is filled in. A name that every method has gets an underscore, `weights_`. Other arguments are left at their
defaults, and what cannot be built without them is not offered.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mobench.core.about import Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.registry import Namespace, register_namespace
from mobench.core.settings import Setting, choice, integer, one_each, optional, real, reals
from mobench.errors import NonFiniteError, UserError

if TYPE_CHECKING:
    import torch

NAMESPACE = "torchjd"
COUNTS = ("n_tasks", "shape")
"""Arguments that are the number of objectives."""

PLAIN = (bool, int, float, str, type(None), np.ndarray)
"""What a checkpoint keeps of an object's own attributes, beside tensors."""

UNSAVED = "what its optimizer has learned is not among what a checkpoint can hold"
LACKS: dict[str, dict[str, str]] = {
    "FAMO": {"degenerate input": "it takes the logarithm of losses at and below zero", "state": UNSAVED},
    "GeometricMean": {"degenerate input": "it takes the logarithm of losses at and below zero"},
    "Krum": dict.fromkeys(
        ("degenerate input", "determinism", "reset", "state", "inputs"), "it needs three objectives or more"
    ),
    "NashMTL": dict.fromkeys(
        ("degenerate input", "determinism", "reset", "state", "inputs"), "it cannot take one objective alone"
    ),
}
"""What the battery finds missing in TorchJD's classes, by name."""


@dataclass(frozen=True)
class Argument:
    """An argument of a constructor: its settings, and how their values become its value."""

    settings: dict[str, Setting]
    build: Callable[[Mapping[str, Any], int], Any]
    required: bool = False


class TorchJD(Method):
    """A class of TorchJD, driven by a step's Gram matrix, gradients or losses, whichever it takes."""

    kind: ClassVar[type[Any]]
    arguments: ClassVar[dict[str, Argument]]

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        for name in (key for argument in self.arguments.values() if argument.required for key in argument.settings):
            if getattr(self, name) is None:
                raise UserError(
                    f"{self.name}.{name} has no default in TorchJD; give {NAMESPACE}.{self._short}.{name}=…"
                )
        self.solver = Solver(self._built(self._likely()))

    def _likely(self) -> int:
        """Return a number of objectives that fits the lists among the settings."""
        given = (getattr(self, name) for name, setting in self.settings.items() if setting.kind == "reals")
        return max((len(value) for value in given if isinstance(value, tuple)), default=2)

    @property
    def _short(self) -> str:
        return self.name.partition(":")[2]

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.solver = Solver(self._built(k))

    def _built(self, k: int) -> Any:
        try:
            given = {name: argument.build(vars(self), k) for name, argument in self.arguments.items()}
            return self.kind(**{name: value for name, value in given.items() if value is not None})
        except (ValueError, TypeError, ImportError) as error:
            raise UserError(f"{self.name}: {error}") from None

    def seeded(self, call: Callable[[], Any]) -> Any:
        """Call what may draw from torch's global generator, with a seed of the method's own stream."""
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(self.rng.integers(2**62)))
            return call()


class Aggregated(TorchJD):
    """An aggregator that needs the gradients themselves."""

    def direction(self, step: Step) -> torch.Tensor:
        import torch

        rows = step.gradients
        if not torch.isfinite(rows).all():
            raise NonFiniteError(f"a gradient at iteration {step.iteration} is not finite")
        found: torch.Tensor = self.seeded(lambda: self.solver.module(rows.clone()))
        return found.detach()


class Weighted(TorchJD):
    """An aggregator whose weights follow from the Gram matrix, or a weighting without an aggregator."""

    def weights(self, step: Step) -> Vector:
        import torch

        gram = torch.from_numpy(step.gram.copy())
        weighting = getattr(self.solver.module, "gramian_weighting", self.solver.module)
        found: Vector = self.seeded(lambda: weighting(gram)).detach().double().numpy()
        return found


class Scalarized(TorchJD):
    """A scalarizer: its derivatives by the losses are the weights; what it trains has an Adam of its own."""

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.solver.train(getattr(self, "trained_lr", 0.0))

    def weights(self, step: Step) -> Vector:
        import torch

        if not np.isfinite(step.losses).all():
            raise NonFiniteError(f"the losses at iteration {step.iteration} are not finite: {step.losses.tolist()}")
        losses = torch.from_numpy(step.losses.copy()).requires_grad_()
        with torch.enable_grad():
            value = self.seeded(lambda: self.solver.module(losses))
            trained = list(self.solver.module.parameters()) if self.solver.optimizer else []
            slopes = torch.autograd.grad(value, [losses, *trained])
        self.solver.descend(slopes[1:])
        found: Vector = slopes[0].numpy()
        return found


class Observing(Scalarized):
    """A scalarizer that learns from the losses after the step."""

    def observe(self, losses_after: Vector) -> None:
        import torch

        if not np.isfinite(losses_after).all():
            raise NonFiniteError(f"the losses after the step are not finite: {losses_after.tolist()}")
        self.solver.module.update(torch.from_numpy(losses_after.copy()))


class Epochal(Scalarized):
    """A scalarizer that is told when an epoch ends, which is every `period` steps: a step does not know its epoch."""

    period: int

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.steps = 0

    def weights(self, step: Step) -> Vector:
        found = super().weights(step)
        self.steps += 1
        if self.steps % self.period == 0:
            self.solver.module.step()
        return found


class Solver:
    """An object of TorchJD with its state: tensors, numbers and words of it and its parts, and what trains it."""

    def __init__(self, module: Any) -> None:
        self.module = module.double()
        self.optimizer: torch.optim.Optimizer | None = None

    def train(self, lr: float) -> None:
        """Give the object's own parameters an Adam."""
        import torch

        parameters = list(self.module.parameters())
        if parameters and lr > 0.0:
            self.optimizer = torch.optim.Adam(parameters, lr=lr)

    def descend(self, slopes: Iterable[torch.Tensor]) -> None:
        """Take a step on the trained parameters."""
        if self.optimizer is not None:
            for parameter, slope in zip(self.module.parameters(), slopes, strict=True):
                parameter.grad = slope
            self.optimizer.step()
            self.optimizer.zero_grad()

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint can hold of the object."""
        import torch

        parts: dict[str, dict[str, Any]] = {}
        for path, part in self.module.named_modules():
            own = {**vars(part), **part._buffers, **part._parameters}
            kept = {name: each.detach() if isinstance(each, torch.Tensor) else each for name, each in own.items()
                    if name not in ("training",) and isinstance(each, (torch.Tensor, *PLAIN))}  # fmt: skip
            parts[path] = {name: each for name, each in kept.items() if not name.startswith(("_forward", "_backward"))}
            parts[path] |= {name: list(each) for name, each in own.items() if isinstance(each, list) and _tensors(each)}
            key = own.get("_state_key")
            if isinstance(key, tuple):
                parts[path]["_state_key"] = [_spelled(each) for each in key]
        return {"parts": parts, "optimizer": self.optimizer.state_dict() if self.optimizer else None}

    def load_state_dict(self, state: Mapping[str, Any], /) -> None:
        """Restore what `state_dict` returned."""
        for path, part in self.module.named_modules():
            for name, value in state["parts"][path].items():
                if name in part._parameters:
                    part._parameters[name].data.copy_(value)
                elif name in part._buffers:
                    part._buffers[name] = value
                elif name == "_state_key" and isinstance(value, list):
                    part.__dict__[name] = tuple(_read(each) for each in value)
                else:
                    part.__dict__[name] = value
        if self.optimizer is not None:
            self.optimizer.load_state_dict(state["optimizer"])


def _tensors(values: list[Any]) -> bool:
    import torch

    return all(isinstance(value, torch.Tensor) for value in values)


def _spelled(value: Any) -> Any:
    return str(value) if type(value).__module__ == "torch" else value


def _read(value: Any) -> Any:
    import torch

    if isinstance(value, str) and value.startswith("torch."):
        return getattr(torch, value.removeprefix("torch."))
    return torch.device(value) if isinstance(value, str) else value


def members() -> dict[str, type[Any]]:
    """Return everything offered, by name: aggregators, weightings without one, and scalarizers."""
    try:
        aggregation = importlib.import_module("torchjd.aggregation")
    except ImportError:
        raise UserError("methods of TorchJD need it installed: pip install 'mobench[torchjd]'") from None
    try:
        scalarization: Any = importlib.import_module("torchjd.scalarization")
    except ImportError:  # versions before scalarizers
        scalarization = types.SimpleNamespace(__all__=[])
    found: dict[str, type[Any]] = {}
    for name in aggregation.__all__:
        kind = getattr(aggregation, name)
        if _offered(kind, aggregation.Aggregator):
            found[name] = kind
    for name in aggregation.__all__:
        kind, short = getattr(aggregation, name), name.removesuffix("Weighting")
        if _offered(kind, aggregation.Weighting) and short not in found:
            found[short] = kind
    for name in scalarization.__all__:
        kind = getattr(scalarization, name)
        if _offered(kind, scalarization.Scalarizer):
            found[f"scalarization.{name}" if name in found else name] = kind
    return dict(sorted(found.items()))


def _offered(kind: Any, base: type[Any]) -> bool:
    return (
        inspect.isclass(kind)
        and issubclass(kind, base)
        and not inspect.isabstract(kind)
        and _arguments(kind) is not None
    )


def make(name: str) -> type[Method]:
    """Return the class of TorchJD called `name` as a method."""
    kind = members()[name]
    arguments = _arguments(kind)
    assert arguments is not None
    settings = {key: setting for argument in arguments.values() for key, setting in argument.settings.items()}
    version = importlib.metadata.version("torchjd")
    base = _base(kind)
    if base is Scalarized and _trains(kind, arguments):
        settings["trained_lr"] = real(0.01, low=0.0, meaning="Adam's learning rate for what the scalarizer trains")
    if base is Epochal:
        settings["period"] = integer(50, low=1, meaning="steps after which TorchJD is told that an epoch ended")
    text = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    body = {
        "__module__": __name__,
        "__doc__": f"TorchJD {version}'s {kind.__name__}, as it is.\n\n    {text}\n\n    Scale: TorchJD's.\n",
        "name": f"{NAMESPACE}:{name}",
        "title": f"TorchJD's {name}",
        "version": _number(version),
        "reference": Reference(
            "P. Quinton and V. Rey", f"TorchJD {version}", "", 2024, "https://arxiv.org/abs/2406.16232"
        ),
        "verified": "TorchJD's own code",
        "lacks": LACKS.get(name, {}),
        "kind": kind,
        "arguments": arguments,
        **settings,
    }
    return types.new_class(f"TorchJD{name.replace('.', '')}", (base,), exec_body=lambda space: space.update(body))


def _base(kind: type[Any]) -> type[TorchJD]:
    aggregation = importlib.import_module("torchjd.aggregation")
    if issubclass(kind, (aggregation.GramianWeightedAggregator, aggregation.Weighting)):
        return Weighted
    if issubclass(kind, aggregation.Aggregator):
        return Aggregated
    if hasattr(kind, "step"):
        return Epochal
    return Observing if hasattr(kind, "update") else Scalarized


def _trains(kind: type[Any], arguments: Mapping[str, Argument]) -> bool:
    """Say whether an object of the class has parameters to train."""
    if any(argument.required for argument in arguments.values()):
        return False
    defaults = {key: one.default for argument in arguments.values() for key, one in argument.settings.items()}
    given = {name: argument.build(defaults, 2) for name, argument in arguments.items()}
    return any(True for _ in kind(**{name: value for name, value in given.items() if value is not None}).parameters())


def _number(version: str) -> int:
    """Return 0.18.2 as 18002, so that another version of TorchJD is another version of the method."""
    parts = [int("".join(filter(str.isdigit, part)) or 0) for part in version.split(".")[:3]]
    return sum(part * 1000**power for power, part in enumerate(reversed([*parts, 0, 0][:3])))


def _arguments(kind: type[Any]) -> dict[str, Argument] | None:
    """Return the constructor's arguments that can be set; None if it needs one that cannot."""
    hints = typing.get_type_hints(kind.__init__)
    found = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        argument = _argument(name, parameter, hints.get(name, Any), kind)
        if argument is not None:
            found[name] = argument
        elif parameter.default is inspect.Parameter.empty:
            return None
    return found


def _argument(name: str, parameter: inspect.Parameter, hint: Any, kind: type[Any]) -> Argument | None:
    import torch

    if name in COUNTS:
        return Argument({}, lambda values, k: k)
    meaning, key = _meaning(kind, name), f"{name}_" if hasattr(Method, name) else name
    needed = parameter.default is inspect.Parameter.empty
    default = None if needed else parameter.default
    parts = set(typing.get_args(hint)) if isinstance(hint, types.UnionType) else {hint}
    parts |= {one for each in list(parts) for one in typing.get_args(each) if typing.get_origin(each) is typing.Union}
    parts.discard(type(None))
    words = next((typing.get_args(each) for each in parts if typing.get_origin(each) is typing.Literal), ())
    setting: Setting | None = None
    if words:
        setting = choice(default, [str(word) for word in words], meaning=meaning)
    elif torch.Tensor in parts:
        setting = reals(default, meaning=meaning)
        alone = float in parts
        return Argument({key: setting}, lambda values, k: _tensor(key, values[key], k, alone), needed)
    elif float in parts:
        setting = real(default, meaning=meaning)
    elif int in parts:
        setting = integer(default, meaning=meaning)
    if setting is not None:
        setting = optional(setting) if default is None else setting
        return Argument({key: setting}, lambda values, k: values[key], needed)
    return _nested(parts)


def _nested(parts: Iterable[Any]) -> Argument | None:
    """Offer the settings of the only class that an object-valued argument can hold."""
    for base in parts:
        concrete = [one for one in _descendants(base) if not inspect.isabstract(one)] if inspect.isclass(base) else []
        if len(concrete) == 1 and (inner := _arguments(concrete[0])):
            settings = {key: setting for argument in inner.values() for key, setting in argument.settings.items()}

            def build(values: Mapping[str, Any], k: int, kind: Any = concrete[0], inner: Any = inner) -> Any:
                return kind(**{name: argument.build(values, k) for name, argument in inner.items()})

            return Argument(settings, build)
    return None


def _descendants(base: type[Any]) -> list[type[Any]]:
    return (
        [one for child in base.__subclasses__() for one in (child, *_descendants(child))] if base is not object else []
    )


def _tensor(key: str, value: Any, k: int, alone: bool) -> Any:
    """Return one number per objective as a tensor; where a number `alone` is accepted too, both are left as given."""
    import torch

    if value is None or (alone and not isinstance(value, tuple)):
        return value
    return torch.tensor(value if alone else one_each(key, value, k, "objectives"), dtype=torch.float64)


def _meaning(kind: type[Any], name: str) -> str:
    """Return what the docstring says of an argument, on one line."""
    text = inspect.cleandoc(kind.__doc__ or "")
    _, found, rest = text.partition(f":param {name}:")
    if not found:
        return f"TorchJD's argument {name}"
    said = rest.split("\n:param")[0].split("\n\n")[0].split("\n..")[0]
    return " ".join(said.split()).partition(". ")[0].rstrip(".") or f"TorchJD's argument {name}"


register_namespace(Namespace(NAMESPACE, members, make))
