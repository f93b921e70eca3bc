"""Loops over two or three float32 vectors that read each of them once, compiled by numba when first called.

A vector is cut into parts of `PART` numbers, whatever the number of threads, so that results do not
depend on it. `*_in_turn` takes one part after the other, `*_at_once` gives them to numba's threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import prange, types
from numba.extending import intrinsic

from mobench.core.machine_code import compiled
from mobench.core.method import Matrix
from mobench.gradients.cpu_kernels import RUN

PART = 262_144
AHEAD = 1024
LINE = 16
"""How far ahead numbers are fetched from memory, and how many come at once."""

Column = np.ndarray[tuple[int], np.dtype[np.float32]]


_sums = compiled(fastmath={"reassoc", "contract"})
"""For sums in any order: several running sums side by side."""
_exact = compiled(fastmath={"contract"})
_at_once = compiled(parallel=True)


# pragma: machine code, where coverage sees nothing

_TO_READ, _INTO_ALL_CACHES, _DATA = 0, 3, 1


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Emit LLVM's `llvm.prefetch`: have `array[index]` on its way from memory before it is needed.

    The processor follows one stream well and several side by side less well. A hint is no access: an
    index beyond the end does no harm.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.gep(data, [arguments[1]])
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        builder.call(hint, [address, number(_TO_READ), number(_INTO_ALL_CACHES), number(_DATA)])
        return context.get_dummy_value()

    return types.void(array, index), emit


@_sums
def _products_of_two(a: Column, b: Column, sums: Matrix) -> None:
    for part in range(len(sums)):
        first, last = part * PART, (part + 1) * PART
        x, y = a[first:last], b[first:last]
        aa = ab = bb = 0.0
        for start in range(0, x.size, RUN):
            for line in range(start + AHEAD, start + AHEAD + RUN, LINE):
                prefetch(x, line)
                prefetch(y, line)
            p, q = x[start : start + RUN], y[start : start + RUN]
            pp = pq = qq = np.float32(0.0)
            for i in range(p.size):
                pp += p[i] * p[i]
                pq += p[i] * q[i]
                qq += q[i] * q[i]
            aa += float(pp)
            ab += float(pq)
            bb += float(qq)
        sums[part, 0], sums[part, 1], sums[part, 2] = aa, ab, bb


@_sums
def _products_of_three(a: Column, b: Column, c: Column, sums: Matrix) -> None:
    for part in range(len(sums)):
        first, last = part * PART, (part + 1) * PART
        x, y, z = a[first:last], b[first:last], c[first:last]
        aa = ab = bb = ac = bc = cc = 0.0
        for start in range(0, x.size, RUN):
            for line in range(start + AHEAD, start + AHEAD + RUN, LINE):
                prefetch(x, line)
                prefetch(y, line)
                prefetch(z, line)
            p, q, r = x[start : start + RUN], y[start : start + RUN], z[start : start + RUN]
            pp = pq = qq = pr = qr = rr = np.float32(0.0)
            for i in range(p.size):
                pp += p[i] * p[i]
                pq += p[i] * q[i]
                qq += q[i] * q[i]
                pr += p[i] * r[i]
                qr += q[i] * r[i]
                rr += r[i] * r[i]
            aa += float(pp)
            ab += float(pq)
            bb += float(qq)
            ac += float(pr)
            bc += float(qr)
            cc += float(rr)
        sums[part, 0], sums[part, 1], sums[part, 2] = aa, ab, bb
        sums[part, 3], sums[part, 4], sums[part, 5] = ac, bc, cc


@_exact
def _add_one(total: Column, b: Column, u: float, v: float) -> None:
    for i in range(total.size):
        total[i] = u * total[i] + v * b[i]


@_exact
def _add_two(total: Column, b: Column, c: Column, u: float, v: float, w: float) -> None:
    for i in range(total.size):
        total[i] = u * total[i] + v * b[i] + w * c[i]


@_at_once
def _products_of_two_at_once(a: Column, b: Column, sums: Matrix) -> None:
    for part in prange(len(sums)):
        start, stop = part * PART, (part + 1) * PART
        _products_of_two(a[start:stop], b[start:stop], sums[part : part + 1])


@_at_once
def _products_of_three_at_once(a: Column, b: Column, c: Column, sums: Matrix) -> None:
    for part in prange(len(sums)):
        start, stop = part * PART, (part + 1) * PART
        _products_of_three(a[start:stop], b[start:stop], c[start:stop], sums[part : part + 1])


@_at_once
def _add_one_at_once(total: Column, b: Column, u: float, v: float) -> None:
    for part in prange((total.size + PART - 1) // PART):
        start, stop = part * PART, (part + 1) * PART
        _add_one(total[start:stop], b[start:stop], u, v)


@_at_once
def _add_two_at_once(total: Column, b: Column, c: Column, u: float, v: float, w: float) -> None:
    for part in prange((total.size + PART - 1) // PART):
        start, stop = part * PART, (part + 1) * PART
        _add_two(total[start:stop], b[start:stop], c[start:stop], u, v, w)


products_in_turn = {2: _products_of_two, 3: _products_of_three}
products_at_once = {2: _products_of_two_at_once, 3: _products_of_three_at_once}
"""For two and three vectors: write the products of each part, row after row of the lower triangle."""
sums_in_turn = {2: _add_one, 3: _add_two}
sums_at_once = {2: _add_one_at_once, 3: _add_two_at_once}
"""For two and three vectors: write `Σ_i w_i v_i` into the first."""
