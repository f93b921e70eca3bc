"""The one interface of a gradient-combining method, and the `Step` it sees.

A method turns what it reads from a `Step` into K weights; the update direction is
`d = Σ_i w_i g_i`, which a torch optimizer then subtracts. What a method does not read is not
computed: one that reads only `step.losses` costs a single backward pass of the weighted loss.
"""

from __future__ import annotations

import copy
import math
import time
from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from mobench.core.about import Described, Look
from mobench.core.metric import Metric
from mobench.errors import MethodError, NonFiniteAnswerError, NonFiniteError, UserError

if TYPE_CHECKING:
    import torch

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
EvaluatedT = TypeVar("EvaluatedT")

RESOLUTION = 1e-14
"""What a float64 Gram matrix of float64 gradients resolves, relative to squared lengths.

The entries of `C`, the Gram matrix of the unit gradients, carry rounding errors of a few 1e-16. A squared
length `yᵀCy` (with ‖y‖ = 1) that is below this bound cannot be told from zero, so that unit vectors closer
than 1e-7 to linear dependence count as dependent.
"""


SMALLEST_GAP = 1e-8
"""A loss that is closer to its lower bound than this is taken to be this far from it."""


class GradientSource(Protocol):
    """Where a step's gradients come from; asked only when a method reads them.

    A source whose Gram matrix resolves less than `RESOLUTION` says so in an attribute `resolution`.
    """

    def gram(self) -> Matrix:
        """Return the K×K matrix of inner products `<g_i, g_j>` in float64."""
        ...

    def gradients(self) -> torch.Tensor:
        """Return the K×n matrix whose rows are the gradients."""
        ...


@runtime_checkable
class LayeredSource(GradientSource, Protocol):
    """Gradients with respect to several named tensors."""

    def layers(self) -> Mapping[str, slice]:
        """Return where each tensor stands in an n-vector."""
        ...

    def layer_grams(self) -> Mapping[str, Matrix]:
        """Return the K×K inner products of the gradients with respect to each tensor."""
        ...


def _layered(source: GradientSource) -> TypeGuard[LayeredSource]:
    """Say whether a source is a `LayeredSource`; `isinstance` takes twenty times as long to look at a protocol."""
    return hasattr(source, "layers") and hasattr(source, "layer_grams")


UNVERIFIED = "unverified"
"""What is shown of a method that does not say against what its form was checked."""

RESERVED = frozenset({"step", "losses", "weights", "gradient_norms", "cosines", "update_norm", "alignment", "point"})
"""The curves that the benchmark measures of every run; no method may write them."""


class Step:
    """What a method may read at one iteration; gradients are computed when first read."""

    __slots__ = (
        "_gram", "_held_out", "_hessian_product", "_second_batch", "_source", "gradient_seconds", "iteration", "losses",
        "lower_bounds", "notes", "steps_per_epoch", "thresholds", "total_steps",
    )  # fmt: skip

    def __init__(
        self,
        losses: Vector,
        source: GradientSource,
        lower_bounds: Vector | None = None,
        iteration: int = 0,
        total_steps: int | None = None,
        held_out: Callable[[], Step | None] | None = None,
        thresholds: Vector | None = None,
        gram: Matrix | None = None,
        second_batch: Callable[[], Step | None] | None = None,
        steps_per_epoch: int | None = None,
        hessian_product: Callable[[Vector, torch.Tensor], torch.Tensor] | None = None,
    ) -> None:
        """Make a step; with a `gram`, which is finite, both it and the losses are read-only and read by nobody else."""
        if gram is None:
            losses = losses.copy()  # a view could be made writable again, and others read the original
            losses.setflags(write=False)
        self.losses = losses
        """The K objective values (float64, read-only), the primary first."""
        self.lower_bounds = np.full(len(losses), -np.inf) if lower_bounds is None else lower_bounds
        """A lower bound of each objective, `-inf` where none is known."""
        self.thresholds = thresholds
        """The losses to get below, as the problem states them (NaN: not for this objective), or None."""
        self.iteration = iteration
        """How many steps of this run came before."""
        self.total_steps = total_steps
        """How many steps the run will have in all, None where it is not known."""
        self.steps_per_epoch = steps_per_epoch
        """Steps of an epoch, None where unknown."""
        self.notes: dict[str, Any] = {}
        """Diagnostics the method left with `note`."""
        self.gradient_seconds = 0.0
        """Time spent on gradients that the method read, which is not the method's own."""
        self._source = source
        self._gram = gram
        self._held_out: Callable[[], Step | None] | Step | None = held_out
        self._second_batch: Callable[[], Step | None] | Step | None = second_batch
        self._hessian_product = hessian_product

    @property
    def k(self) -> int:
        """The number of objectives."""
        return len(self.losses)

    @property
    def gram(self) -> Matrix:
        """The Gram matrix `G[i, j] = <g_i, g_j>` (K×K, float64, read-only)."""
        if self._gram is None:
            started = time.perf_counter()
            gram = self._source.gram()
            self.gradient_seconds += time.perf_counter() - started
            # a sum is finite only if every term is, and costs less than looking at each of few
            if not math.isfinite(sum(map(sum, gram.tolist()))) and not np.isfinite(gram).all():
                raise NonFiniteError(f"the Gram matrix at iteration {self.iteration} is not finite: {gram.tolist()}")
            self._gram = gram.copy()  # others read the original
            self._gram.setflags(write=False)
        return self._gram

    @property
    def resolution(self) -> float:
        """What `gram` resolves: for ‖y‖ = 1, a squared length of Σ_i y_i g_i/‖g_i‖ below this counts as zero."""
        if self._gram is None:
            _ = self.gram
        resolution: float = getattr(self._source, "resolution", RESOLUTION)
        return resolution

    @property
    def gradients(self) -> torch.Tensor:
        """The gradients as rows of a K×n tensor; prefer `gram`, which is K×K whatever n is."""
        started = time.perf_counter()
        gradients = self._source.gradients()
        # a sum is finite only if every term is, and costs less than looking at each
        if not math.isfinite(gradients.detach().sum()) and not gradients.isfinite().all():
            raise NonFiniteError(f"a gradient at iteration {self.iteration} is not finite")
        self.gradient_seconds += time.perf_counter() - started
        return gradients

    @property
    def layers(self) -> Mapping[str, slice]:
        """The trained tensors by name, each with the slice of the columns of `gradients` that are its own.

        One layer called `all` where θ is a single vector.
        """
        return self._source.layers() if _layered(self._source) else {"all": slice(None)}

    @property
    def layer_grams(self) -> Mapping[str, Matrix]:
        """The Gram matrix of each layer; their sum is `gram`."""
        if not _layered(self._source):
            return {"all": self.gram}
        started = time.perf_counter()
        grams = self._source.layer_grams()
        self.gradient_seconds += time.perf_counter() - started
        return grams

    @property
    def held_out(self) -> Step | None:
        """The same at the same parameters on a held-out batch, which is drawn and evaluated when this is first read.

        Its `losses`, `gram` and `gradients` are those of data that the run does not train on. None
        where there is no such data.
        """
        if callable(self._held_out):
            self._held_out = self._evaluated(self._held_out)
        return self._held_out

    @property
    def second_batch(self) -> Step | None:
        """The same at the same parameters on a second batch of training data, which is independent of the step's own.

        It is drawn and evaluated when this is first read. None where there is no such data; a method that cannot do
        without says `needs_second_batch`.
        """
        if callable(self._second_batch):
            self._second_batch = self._evaluated(self._second_batch)
        return self._second_batch

    def hessian_product(self, weights: Vector, vector: torch.Tensor) -> torch.Tensor:
        """Return `Σ_i w_i H_i v` on this step's batch, H_i the Hessian of loss i, for an n-vector v.

        It is a central difference of the gradients, which are evaluated at two other points. Runs of the benchmark
        offer it, a training loop of your own does not.
        """
        if self._hessian_product is None:
            raise UserError("products with the Hessian of the training losses are offered in runs of suites, not here")
        return self._evaluated(partial(self._hessian_product, weights, vector))

    def _evaluated(self, other: Callable[[], EvaluatedT]) -> EvaluatedT:
        """Evaluate another batch or point, which is not the method's own time."""
        started = time.perf_counter()
        found = other()
        self.gradient_seconds += time.perf_counter() - started
        return found

    @property
    def seconds_of_others(self) -> float:
        """Time spent on all that the method read, other batches included."""
        others = (batch for batch in (self._held_out, self._second_batch) if isinstance(batch, Step))
        return self.gradient_seconds + sum(batch.gradient_seconds for batch in others)

    def gaps(self, least: float = SMALLEST_GAP) -> Vector:
        """Return how far each loss is above its lower bound, at least `least`; where no bound is known, above 0."""
        return np.array(self.gap_list(least))

    def gap_list(self, least: float = SMALLEST_GAP) -> list[float]:
        """Return `gaps` as a list, which for few objectives is read faster than an array."""
        losses: list[float] = self.losses.tolist()
        if not all(map(math.isfinite, losses)):
            raise NonFiniteError(f"the losses at iteration {self.iteration} are not finite: {losses}")
        bounds: list[float] = self.lower_bounds.tolist()
        return [
            max(loss if bound == -math.inf else loss - bound, least) for loss, bound in zip(losses, bounds, strict=True)
        ]

    def note(self, **diagnostics: Any) -> None:
        """Record diagnostics of this step: scalars are averaged over the run, arrays are sampled.

        A curve that the benchmark itself measures, see `RESERVED`, cannot be noted. Names have no unseen characters.
        """
        if not all(map(str.isprintable, diagnostics)):
            unseen = next(name for name in diagnostics if not name.isprintable())
            raise MethodError(f"step.note: {unseen!a} has characters that are not seen; note it by another name")
        for name in RESERVED.intersection(diagnostics):
            if isinstance(diagnostics[name], np.ndarray):
                raise MethodError(f"step.note({name}=…): the benchmark measures this curve; note it by another name")
        self.notes.update(diagnostics)


@runtime_checkable
class Stateful(Protocol):
    """A part of a method that keeps a state of its own: what it trains, a torch module, an optimizer."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state as numbers, texts, lists, dicts, arrays and tensors."""
        ...

    def load_state_dict(self, state: dict[str, Any], /) -> Any:
        """Restore what `state_dict` returned."""
        ...


class Method(Described, ABC):
    """A gradient-combining method. Subclasses define `weights` or `direction`; all else is optional."""

    name: ClassVar[str] = ""
    """The id in the registry; by default the class name in lower case."""
    version: ClassVar[int] = 1
    """Raised whenever the method's results change, so that old records are not taken for new."""
    diagnostics: ClassVar[tuple[Metric, ...]] = ()
    """The scalars that the method notes on its steps; results have their mean and their total over the run."""
    curves: ClassVar[tuple[str, ...]] = ()
    """The arrays of its notes, a number for each secondary, that plots read; bundles keep no others."""
    symbols: ClassVar[Mapping[str, str]] = {}
    """How axes call settings that are known by a symbol, e.g. `{"tau": "τ"}`."""
    look: ClassVar[Look | None] = None
    """Its colour and marker; by default they are assigned."""
    baseline: ClassVar[bool] = False
    """Whether it is what others are compared with; plots always show it in colour."""
    one_objective: ClassVar[bool] = False
    """Whether it trains on one objective alone; then nothing is done for the others, e.g. no proximal step."""
    takes_proximal_steps: ClassVar[bool] = False
    """Whether it handles secondaries by their proximal maps; then it runs on problems that have these."""
    verified: ClassVar[str] = ""
    """What its form was checked against, and how closely: authors' code, a library, another solver; empty: nothing."""
    lacks: ClassVar[Mapping[str, str]] = {}
    """The battery's properties that the method by definition does not have at its defaults, and why."""

    rng: np.random.Generator
    """The method's own random stream; the only randomness a method may use."""

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.check_complete()
        self.rng = np.random.default_rng(0)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.name = vars(cls).get("name") or cls.__name__.lower()
        cls.look = vars(cls).get("look")
        cls.lacks = vars(cls).get("lacks", {})
        cls.verified = vars(cls).get("verified", "")
        cls.baseline = vars(cls).get("baseline", False)

    @classmethod
    def label(cls) -> str:
        return cls.name

    @classmethod
    def check_complete(cls) -> None:
        """Refuse a class that defines neither `weights` nor `direction`."""
        if not (cls.overrides("weights") or cls.overrides("direction")):
            raise UserError(f"the method '{cls.name}' defines neither weights(step) nor direction(step); it needs one")

    def weights(self, step: Step) -> npt.ArrayLike:
        """Return the K weights of the update `d = Σ_i w_i g_i`."""
        raise MethodError(f"{self.name} has a direction of its own and no weights")

    @staticmethod
    def weights_of_all(methods: Sequence[Any], steps: Sequence[Step]) -> npt.ArrayLike:
        """Return B×K weights: what each of B methods of this class answers to its own step, to the last bit.

        Optional, for speed: runs that step together are then asked together, where losses and Gram matrices are
        all finite. A row that is not finite fails its own run, what is raised fails them all.
        """
        return [method.weights(step) for method, step in zip(methods, steps, strict=True)]

    def direction(self, step: Step) -> torch.Tensor:
        """Return the update as an n-vector, for what is no linear combination of the gradients.

        A subclass that defines it needs no `weights`, and is never asked for them.
        """
        raise MethodError(f"{self.name} combines by weights and has no direction of its own")

    def reset(self, k: int, rng: np.random.Generator) -> None:
        """Forget all state before a run with `k` objectives; `rng` is the run's method stream."""
        self.rng = rng

    @property
    def proximal_weight(self) -> float | None:
        """λ of a proximal step with threshold λ·lr on the secondaries after each update; None: as the problem asks."""
        return 0.0 if self.one_objective else None

    @property
    def needs_second_batch(self) -> bool:
        """Whether it reads `Step.second_batch` and cannot do without."""
        return False

    def second_batch_of(self, step: Step) -> Step:
        """Return the second batch of a step, which a method needs that says so."""
        if step.second_batch is None:
            raise UserError(f"{self.name} needs a second, independent batch of training data, and none is offered here")
        return step.second_batch

    def observe(self, losses_after: Vector) -> None:
        """See the losses after the update, on the same batch. Overriding it costs a forward pass."""

    @classmethod
    def overrides(cls, hook: str) -> bool:
        """Say whether the class defines the optional hook itself."""
        return getattr(cls, hook) is not getattr(Method, hook)

    @classmethod
    def answers_together(cls) -> bool:
        """Say whether `weights_of_all` is written for the class's own `weights`, and not for those of a parent."""
        for each in cls.__mro__:
            if "weights_of_all" in vars(each):
                return each is not Method
            if "weights" in vars(each) or "direction" in vars(each):
                return False
        return False

    def state_dict(self) -> dict[str, Any]:
        """Return everything that changes during a run, as plain copies; of parts with a state of their own, that."""
        state = {name: value for name, value in vars(self).items() if name not in self.settings}
        rng = state.pop("rng")
        plain = {name: part.state_dict() if isinstance(part, Stateful) else part for name, part in state.items()}
        return {
            **copy.deepcopy(plain),
            "rng": copy.deepcopy(rng.bit_generator.state),
            "settings": self.configuration(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; the next step is then bit-identical.

        The state of a method with other settings is refused. One that does not say its settings, as written
        by earlier versions, is not.
        """
        restored = copy.deepcopy(dict(state))
        for name, value in restored.pop("settings", {}).items():
            theirs, mine = tuple(value) if isinstance(value, list) else value, getattr(self, name, None)
            if theirs != mine:
                raise UserError(f"the state is that of {self.name} with {name}={theirs}, not with {name}={mine}")
        generator = np.random.Generator(np.random.PCG64())
        generator.bit_generator.state = restored.pop("rng")
        for name, part in vars(self).items():
            if isinstance(part, Stateful):
                if name not in restored:
                    raise UserError(f"the state is that of another version of {self.name}: it says nothing of {name}")
                part.load_state_dict(restored.pop(name))
        vars(self).update(restored, rng=generator)


def checked_weights(method: Method, step: Step) -> Vector:
    """Ask `method` for its weights and refuse a wrong count or a non-finite value."""
    weights = np.asarray(method.weights(step), dtype=np.float64)
    if weights.shape != (step.k,):
        raise MethodError(f"{method.name} returned weights of shape {weights.shape}; {step.k} numbers are needed")
    refuse_non_finite_weights(method, step, weights)
    return weights


def refuse_non_finite_weights(method: Method, step: Step, weights: Vector) -> None:
    """Raise if a weight is NaN or infinite."""
    # a sum is finite only if every term is, and costs less than looking at each of few
    if not math.isfinite(sum(weights.tolist())) and not np.isfinite(weights).all():
        raise NonFiniteAnswerError(
            f"{method.name} returned non-finite weights {weights.tolist()} at iteration {step.iteration}"
        )
