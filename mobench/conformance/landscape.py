"""Checks of a problem's values and gradients."""

from __future__ import annotations

import numpy as np
import torch

from mobench.conformance.finding import Check, Verdict, global_randomness
from mobench.conformance.instances import Instance, TaskInstance, VectorInstance, instance
from mobench.core.method import Matrix, Vector
from mobench.core.problem import Problem
from mobench.core.streams import Streams
from mobench.gradients.losses import values_of
from mobench.scoring.catalog import MetricCatalog
from mobench.training.make_workload import make_workload

ITERATIONS = (0, 1, 2)


def objectives(problem: Problem) -> Verdict:
    """Names, values, gradients and lower bounds agree on the number of objectives."""
    names = problem.objectives()
    if not names or len(set(names)) < len(names):
        return Verdict(False, None, f"objectives need different names, and there are {list(names)}")
    at = instance(problem, 0)
    values, gradients = at.values(at.start), at.gradients(at.start)
    shapes = {"values": values.shape, "gradients": gradients.shape, "lower bounds": (len(problem.lower_bounds(0)),)}
    expected = {"values": (len(names),), "gradients": (len(names), at.start.size), "lower bounds": (len(names),)}
    for what, shape in shapes.items():
        if shape != expected[what]:
            return Verdict(False, None, f"{what} have shape {shape} where {expected[what]} is declared")
    if not (np.isfinite(values).all() and np.isfinite(gradients).all()):
        return Verdict(False, None, "values or gradients are not finite at the start")
    return Verdict(True, float(len(names)), f"{len(names)} objectives over {at.start.size} parameters")


def gradients(problem: Problem) -> Verdict:
    """Gradients agree with difference quotients of the values."""
    at = instance(problem, 0)
    rng = np.random.default_rng(0)
    worst, where = 0.0, ""
    for number, point in enumerate(at.points(rng)):
        iteration = number % len(ITERATIONS)
        slopes = at.gradients(point, iteration)
        for direction in at.directions(point, slopes, rng):
            errors = _errors(at, point, iteration, slopes, direction)
            if errors.max() > worst:
                worst, where = float(errors.max()), problem.objectives()[int(errors.argmax())]
    agree = worst <= at.precision
    detail = "" if agree else f", of '{where}'"
    return Verdict(agree, worst, f"largest relative difference from difference quotients {worst:.1e}{detail}")


def _errors(at: Instance, point: Vector, iteration: int, slopes: Matrix, direction: Vector) -> Vector:
    """Return each objective's relative error along `direction`, at the step size that suits it best."""
    expected = slopes @ direction
    size = float(np.linalg.norm(point)) + 1e-3
    best = np.full(len(expected), np.inf)
    for relative in at.step_sizes:
        h = relative * size
        ahead, behind = at.values(point + h * direction, iteration), at.values(point - h * direction, iteration)
        quotient = (ahead - behind) / (2.0 * h)
        scale = np.maximum(np.abs(expected), np.abs(quotient)) + 0.02 * np.linalg.norm(slopes, axis=1)
        error = np.abs(quotient - expected)
        best = np.minimum(best, np.divide(error, scale, out=np.zeros_like(error), where=scale > 0.0))
        if best.max() <= at.precision:
            break
    return best


def determinism(problem: Problem) -> Verdict:
    """One seed gives one start, one data stream and the same numbers, whatever global generators do."""
    seen = []
    for other in (1, 2):
        with global_randomness(other):
            at = instance(problem, 3)
            numbers = [at.start]
            for iteration in ITERATIONS:
                numbers += [at.values(at.start, iteration), at.gradients(at.start, iteration)]
            seen.append(numbers)
    same = all(np.array_equal(a, b) for a, b in zip(*seen, strict=True))
    words = "the same start and numbers to the last bit" if same else "different starts or numbers"
    return Verdict(same, None, f"two instances of one seed have {words}")


def seeds_differ(problem: Problem) -> Verdict:
    """Measure whether another seed is another instance."""
    one, other = instance(problem, 0), instance(problem, 1)
    moved = not np.array_equal(one.start, other.start)
    changed = not np.array_equal(one.gradients(one.start), other.gradients(one.start))
    parts = [word for word, differs in (("start", moved), ("landscape or data", changed)) if differs]
    what = " and ".join(parts) or "nothing"
    return Verdict(moved or changed, what, f"another seed changes {what}")


def lower_bounds(problem: Problem) -> Verdict:
    """No value found is below its stated lower bound."""
    rng = np.random.default_rng(1)
    margin = np.inf
    for seed in (0, 1):
        at = instance(problem, seed)
        bounds = np.array(problem.lower_bounds(seed))
        if np.isnan(bounds).any() or np.isposinf(bounds).any():
            return Verdict(False, None, f"lower bounds are numbers or -inf, and these are {bounds.tolist()}")
        for point in [at.start, *at.points(rng), *_downhill(at)]:
            values = at.values(point)
            slack = (values - bounds) / (1.0 + np.abs(np.where(np.isfinite(bounds), bounds, 0.0)))
            margin = min(margin, float(slack.min()))
    if np.isposinf(margin):
        return Verdict(True, None, "no lower bound is stated")
    sentence = f"the smallest distance of a value from its lower bound is {margin:.2g}"
    return Verdict(margin >= -1e-9, margin, sentence)


def _downhill(at: Instance) -> list[Vector]:
    """Return points some way down each objective, where a wrong bound is most likely to show."""
    found = []
    for i in range(len(at.values(at.start))):
        theta = at.start.copy()
        step = 0.1 * (float(np.linalg.norm(theta)) + 1e-3)
        for _ in range(20):
            gradient = at.gradients(theta)[i]
            length = float(np.linalg.norm(gradient))
            if length == 0.0:
                break
            ahead = theta - step * gradient / length
            if at.values(ahead)[i] < at.values(theta)[i]:
                theta = ahead
            else:
                step *= 0.5
        found.append(theta)
    return found


def rows(problem: Problem) -> Verdict:
    """In a batch of a `VectorProblem`, a row's values and gradients depend on that row alone."""
    members = [instance(problem, seed) for seed in (0, 1, 2)]
    alone = [member for member in members if isinstance(member, VectorInstance)]
    if not alone:
        return Verdict(True, None, "instances train one at a time")
    theta = torch.from_numpy(np.stack([member.start for member in alone]))
    names = alone[0].own
    constants = {name: torch.stack([member.own[name] for member in alone]) for name in names}
    kind = alone[0].problem
    together = kind.values(theta, constants, 0).numpy(), kind.gradients(theta, constants, 0).numpy()
    for both, one in zip(kind.values_and_gradients(theta, constants, 0), together, strict=True):
        if not np.array_equal(both.numpy(), one):
            return Verdict(False, None, "values_and_gradients differs from values and gradients")
    worst = 0.0
    for row, member in enumerate(alone):
        for batch, single in zip(together, (member.values(member.start), member.gradients(member.start)), strict=True):
            worst = max(worst, float(np.abs(batch[row] - single).max() / (np.abs(single).max() + 1e-300)))
    return Verdict(worst <= 1e-12, worst, f"a row alone and in a batch differ by {worst:.1e} at most")


def losses_after(problem: Problem) -> Verdict:
    """Looking at the losses after an update has no side effect, and repeats itself."""
    at = instance(problem, 0)
    if not isinstance(at, TaskInstance):
        return Verdict(True, None, "values are closed forms")
    batch = at.batches[0]
    before = _frozen(at.task.state_dict())
    first, again = at.losses_after(batch), at.losses_after(batch)
    if first != again:
        return Verdict(False, None, "two looks at the same losses differ")
    if _frozen(at.task.state_dict()) != before:
        return Verdict(False, None, "looking at the losses changes the task's state")
    trained = values_of(at.losses(batch))
    apart = float(np.max(np.abs(trained - first) / (np.abs(trained) + 1e-12)))
    return Verdict(True, apart, f"without side effect, and within {apart:.1e} of the training losses")


def _frozen(value: object) -> object:
    """Return nested state in a form that compares by content."""
    if isinstance(value, torch.Tensor):
        return (str(value.dtype), tuple(value.shape), value.detach().cpu().numpy().tobytes())
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tobytes())
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_frozen(item) for item in value]
    return value


def metrics(problem: Problem) -> Verdict:
    """What is measured is what `metrics` declares, the losses and what the hypervolume needs among it."""
    declared = {metric.name: metric for metric in problem.metrics()}
    workload = make_workload([(problem, Streams(0))])
    workload.begin(0)
    found = {**workload.metrics(0), **workload.timings(0)}
    minimised = {*problem.hypervolume_metrics(), *(f"loss/{name}" for name in problem.objectives())}
    volumes = problem.hypervolumes() if type(problem).hypervolumes is not Problem.hypervolumes else ()
    needed = {*minimised, *(name for volume in volumes for name in volume.metrics())}
    faults = {
        "metrics lack": needed - set(found),
        "measured, but not declared by metrics():": set(found) - set(declared),
        "declared by metrics(), but not measured:": set(declared) - set(found),
        "declared without a meaning:": {name for name, metric in declared.items() if not metric.meaning},
        "names of columns that every result has:": set(declared) & set(MetricCatalog()),
        "needed for the hypervolume or a loss, but not minimised:": {
            name for name in minimised & set(declared) if declared[name].better != "min"
        },
        "coordinates of operating points that are better the other way:": {
            name
            for volume in volumes
            for point in volume.points
            for names in (point.values, point.select)
            for name, axis in zip(names, volume.axes, strict=False)
            if name in declared and declared[name].better != ("min" if axis.sign > 0 else "max")
        },
        "not finite or out of range at the start:": {
            name for name in set(found) & set(declared) if not declared[name].allows(found[name])
        },
    }
    for fault, names in faults.items():
        if names:
            return Verdict(False, None, f"{fault} {', '.join(sorted(names))}")
    return Verdict(True, float(len(found)), f"{len(found)} metrics, measured as declared")


LANDSCAPE_REQUIRED: dict[str, Check[Problem]] = {
    "objectives": objectives,
    "gradients": gradients,
    "determinism": determinism,
    "lower bounds": lower_bounds,
    "rows": rows,
    "losses after": losses_after,
    "metrics": metrics,
}
