"""What every method must do: answer degenerate input, refuse broken input, repeat itself, resume."""

from __future__ import annotations

import tempfile
from pathlib import Path
from pickle import PickleError
from typing import Any

import numpy as np

from mobench.conformance.finding import Check, Verdict, declared_settings, global_randomness
from mobench.conformance.scenes import (
    Scene,
    Watcher,
    advance,
    degenerate_scenes,
    start,
    trajectory,
    update,
)
from mobench.conformance.subject import Subject
from mobench.core.method import Method, Step, Vector, checked_weights
from mobench.errors import NonFiniteError
from mobench.training.checkpoint import load_checkpoint, save_checkpoint
from mobench.training.step import take_steps

STEPS = 8


def _passed(sentence: str) -> Verdict:
    return Verdict(True, None, sentence)


def _failed(sentence: str) -> Verdict:
    return Verdict(False, None, sentence)


def _scenes(subject: Subject, k: int) -> list[Scene]:
    return subject.scenes(k, 4 * k, STEPS)


def settings(subject: Subject) -> Verdict:
    """Every default is accepted by its own declaration, and a method's settings rebuild it."""
    return declared_settings(subject.make())


def degenerate(subject: Subject) -> Verdict:
    """Zero, duplicate, opposite and badly scaled gradients give finite weights, over two steps."""
    tried = 0
    for k in subject.counts:
        for name, scene in degenerate_scenes(k, subject.precision).items():
            tried += 1
            method = subject.started(k)
            try:
                for iteration in range(2):
                    advance(method, scene, iteration)
            except (NonFiniteError, ArithmeticError) as error:
                return _failed(f"{name} with {k} objectives: {type(error).__name__}: {error}")
    return _passed(f"finite weights in all {tried} degenerate cases")


def non_finite(subject: Subject) -> Verdict:
    """NaN or infinity in anything the method reads raises `NonFiniteError`."""
    k = subject.typical
    first, second = subject.scenes(k, 4 * k, 2)
    for bad in (np.nan, np.inf, -np.inf):
        for i in range(k):
            gradients, losses, after = first.gradients.copy(), first.losses.copy(), first.after.copy()
            gradients[i, 0] = losses[i] = after[i] = bad
            broken = Scene(gradients, first.losses, first.bounds, first.after)
            if _swallows(subject.started(k), broken, {"gram", "gradients"}):
                return _failed(f"a gradient with {bad} gives finite weights")
            if _swallows(subject.started(k), first.with_losses(losses), {"losses"}):
                return _failed(f"a loss of {bad} gives finite weights")
            method = subject.started(k)
            if method.overrides("observe"):
                update(method, first)
                try:
                    method.observe(after)
                    update(method, second, 1)
                except NonFiniteError:
                    continue
                return _failed(f"a loss of {bad} after the step goes unnoticed")
    return _passed("NaN and infinity in what it reads raise NonFiniteError")


def _swallows(method: Method, scene: Scene, parts: set[str]) -> bool:
    """Say whether a method that reads one of `parts` of a non-finite scene answers as if nothing were wrong."""
    watcher = Watcher(scene)
    try:
        update(method, scene, watcher=watcher)
    except NonFiniteError:
        return False
    return bool(watcher.read & parts)


def determinism(subject: Subject) -> Verdict:
    """The same seed gives the same updates to the last bit, whatever global generators do, and alone or in company."""
    for k in subject.counts:
        if subject.make().answers_together() and not _agree_in_company(subject, k):
            return _failed(f"weights_of_all differs from weights with {k} objectives")
        runs = []
        for other in (1, 2):
            with global_randomness(other):
                runs.append(trajectory(subject.started(k), _scenes(subject, k)))
        if not _identical(*runs):
            return _failed(f"two runs at one seed differ with {k} objectives")
    return _passed(f"two runs at one seed agree to the last bit over {STEPS} steps")


def _agree_in_company(subject: Subject, k: int) -> bool:
    """Say whether methods that are asked together answer as each does alone, with the same notes, step after step."""
    scenes = [*_scenes(subject, k), *degenerate_scenes(k, subject.precision).values()]
    company = [subject.started(k, seed) for seed in range(len(scenes))]
    alone = [subject.started(k, seed) for seed in range(len(scenes))]
    for iteration in range(3):
        ahead = [_plain_step(scene, iteration) for scene in scenes]
        answers, _ = take_steps(company, ahead)
        for method, scene, step, answer in zip(alone, scenes, ahead, answers, strict=True):
            own = _plain_step(scene, iteration)
            if not np.array_equal(checked_weights(method, own), answer) or repr(own.notes) != repr(step.notes):
                return False
        for member, other, scene in zip(company, alone, scenes, strict=True):
            member.observe(scene.after.copy())
            other.observe(scene.after.copy())
    return True


def _plain_step(scene: Scene, iteration: int) -> Step:
    return Step(scene.losses, Watcher(scene), scene.bounds, iteration)


def reset(subject: Subject) -> Verdict:
    """After `reset` a used method behaves like a new one, also with another number of objectives."""
    for k in subject.counts:
        used = subject.started(subject.counts[0], seed=5)
        trajectory(used, _scenes(subject, subject.counts[0]))
        again = trajectory(start(used, k), _scenes(subject, k))
        if not _identical(again, trajectory(subject.started(k), _scenes(subject, k))):
            return _failed(f"a used method that is reset for {k} objectives differs from a new one")
    return _passed("a used method that is reset agrees with a new one to the last bit")


def state(subject: Subject) -> Verdict:
    """A method restored from a checkpoint file in the middle of a step goes on bit-identically."""
    for k in subject.counts:
        scenes = _scenes(subject, k)
        half = STEPS // 2
        method = subject.started(k)
        trajectory(method, scenes[:half])
        update(method, scenes[half], half)
        held = method.state_dict()
        try:
            stored = _through_a_file(held)
        except PickleError:
            return _failed(f"a checkpoint holds numbers, texts, lists, dicts and arrays, and the state is {held}")
        expected = _continued(method, scenes, half)
        for what, kept in (("a checkpoint file", stored), ("its state_dict", held)):
            restored = subject.started(k, seed=9)
            restored.load_state_dict(kept)
            if not _identical(expected, _continued(restored, scenes, half)):
                return _failed(f"restored from {what} with {k} objectives, the method goes on differently")
    return _passed("restored from a checkpoint in the middle of a step, it goes on to the last bit")


def _through_a_file(held: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "method"
        save_checkpoint(path, held)
        return load_checkpoint(path)


def _continued(method: Method, scenes: list[Scene], half: int) -> list[Vector]:
    """Finish the step numbered `half`, then take the remaining ones."""
    if method.overrides("observe"):
        method.observe(scenes[half].after.copy())
    return [advance(method, scene, half + 1 + i) for i, scene in enumerate(scenes[half + 1 :])]


def inputs(subject: Subject) -> Verdict:
    """Losses, bounds and the Gram matrix are left as they were."""
    for k in subject.counts:
        scene = _scenes(subject, k)[0]
        watcher = Watcher(scene)
        advance(subject.started(k), scene, watcher=watcher)
        if watcher.modified():
            return _failed("the losses, bounds or Gram matrix of the step are modified in place")
    return _passed("losses, bounds and Gram matrix of the step are not modified")


def _identical(one: list[Vector], other: list[Vector]) -> bool:
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


REQUIRED: dict[str, Check[Subject]] = {
    "settings": settings,
    "degenerate input": degenerate,
    "non-finite input": non_finite,
    "determinism": determinism,
    "reset": reset,
    "state": state,
    "inputs": inputs,
}
