"""Paths in an SVG that draw themselves once, each point at the time of its step."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise

SECONDS = 6.0
"""How long the whole run takes on the page; then the finished picture stays."""
MARK = "drawn-by-step"
_GROUP = re.compile(rf'<g id="{MARK} ([0-9 ]+)">(.*?)</g>', re.DOTALL)
_PATH = re.compile(r'<path d="([^"]*)"([^>]*?)/>')
_NUMBER = re.compile(r"-?[0-9.]+(?:e-?[0-9]+)?")


def mark(steps: Sequence[int]) -> str:
    """Return the id that a figure gives to a line whose points belong to these steps."""
    return f"{MARK} {' '.join(str(int(step)) for step in steps)}"


def animated(svg: bytes) -> bytes:
    """Return the SVG with every marked line drawn along its steps; without a mark it stays as it is.

    The line is a single dash as long as itself, whose offset shrinks from the whole length to 0. At the time t_i/T of
    step t_i it is what remains of the length after point i. Readers that do not animate show the finished picture.
    """
    if MARK.encode() not in svg:
        return svg
    text = svg.decode()
    last = max(int(found[1].split()[-1]) for found in _GROUP.finditer(text))
    counted = iter(range(len(text)))
    return _GROUP.sub(lambda found: _group(found, last, next(counted)), text).encode()


def _group(found: re.Match[str], last: int, number: int) -> str:
    steps = [int(step) for step in found[1].split()]
    return f'<g id="path_{number}">{_PATH.sub(lambda path: _path(path, steps, last), found[2])}</g>'


def _path(found: re.Match[str], steps: Sequence[int], last: int) -> str:
    numbers = [float(number) for number in _NUMBER.findall(found[1])]
    points = list(zip(numbers[::2], numbers[1::2], strict=True))
    if len(points) != len(steps) or not last:
        return found[0]
    lengths = [0.0]
    for before, after in pairwise(points):
        lengths.append(lengths[-1] + math.dist(before, after))
    if not lengths[-1]:
        return found[0]
    values = ";".join(f"{1.0 - length / lengths[-1]:.4f}" for length in (*lengths, lengths[-1]))
    times = ";".join(f"{step / last:.4f}" for step in steps) + ";1"
    animation = f'<animate attributeName="stroke-dashoffset" values="{values}" keyTimes="{times}" dur="{SECONDS:g}s"/>'
    return f'<path d="{found[1]}"{found[2]} pathLength="1" stroke-dasharray="1 1">{animation}</path>'
