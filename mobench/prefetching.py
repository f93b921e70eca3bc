"""`prefetch(array, index)` for loops that numba compiles: have a number on its way from memory before it is needed.

The processor's own prediction follows one stream well and several side by side less well. A hint is
no access: an index beyond the end does no harm.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_TO_READ, _INTO_ALL_CACHES, _DATA = 0, 3, 1


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Emit LLVM's `llvm.prefetch` for the address of `array[index]`."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.gep(data, [arguments[1]])
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        builder.call(hint, [address, number(_TO_READ), number(_INTO_ALL_CACHES), number(_DATA)])
        return context.get_dummy_value()

    return types.void(array, index), emit
