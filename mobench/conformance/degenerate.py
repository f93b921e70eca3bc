"""Degenerate gradients and losses that training meets sooner or later."""

from __future__ import annotations

import numpy as np

from mobench.conformance.scenes import Scene


def degenerate_scenes(k: int) -> dict[str, Scene]:
    """Return named scenes with `k` objectives on which a method must give finite weights."""
    rng = np.random.default_rng(k)
    n = 2 * k + 1
    general = rng.normal(size=(k, n))
    line = np.eye(1, n)
    signs = np.where(np.arange(k) % 2 == 0, 1.0, -1.0)[:, None]
    powers = 10.0 ** np.arange(0.0, 3.0 * k, 3.0)[:, None]
    some = np.arange(k)[:, None]
    losses = rng.uniform(0.5, 2.0, size=k)
    return {
        "all gradients zero": Scene.of(np.zeros((k, n))),
        "a zero primary gradient": Scene.of(np.where(some == 0, 0.0, general)),
        "a zero last gradient": Scene.of(np.where(some == k - 1, 0.0, general)),
        "only the primary gradient not zero": Scene.of(np.where(some == 0, general, 0.0)),
        "equal gradients": Scene.of(np.repeat(line, k, axis=0)),
        "opposite gradients": Scene.of(signs * line),
        "opposite gradients of unequal lengths": Scene.of(signs * powers * line),
        "opposite secondary gradients": Scene.of(np.where(some == 0, np.eye(1, n, 1), signs * line)),
        "collinear gradients of unequal lengths": Scene.of(powers * line),
        "nearly collinear gradients": Scene.of(line + 1e-9 * general),
        "gradients opposite but for rounding in float32": Scene.of(signs * line + 1e-7 * general),
        "gradients that sum to zero": Scene.of(np.eye(k, n) - np.pad(np.full((k, k), 1.0 / k), ((0, 0), (0, n - k)))),
        "gradients of length 1e-12": Scene.of(1e-12 * general),
        "gradients of length 1e12": Scene.of(1e12 * general),
        "more objectives than parameters": Scene.of(general[:, :1]),
        "losses at their lower bounds": Scene.of(general, np.zeros(k)),
        "losses below their lower bounds": Scene.of(general, losses, losses + 1.0),
        "negative losses without lower bounds": Scene.of(general, -losses, np.full(k, -np.inf)),
        "losses of 1e12": Scene.of(general, 1e12 * losses),
    }
