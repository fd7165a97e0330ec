"""How kernels are compiled, and what their integers are when they are not."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, njit
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from hrpursuit.compiled import kernel

#: Kernels run as plain Python, on integers that check for overflow.
IS_PLAIN = bool(getattr(config, "DISABLE_JIT"))  # noqa: B009 - numba sets it when it is imported
#: Kernels allocate nothing, so that arrays need no counting of references, which took half of their time. They have no
#: expressions of whole arrays, which numba would look for and rewrite: a sixth of the time to compile them was for that
#: and for entries from Python and C to functions that only kernels call.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_rewrites": True}
compiled = kernel(**_OPTIONS)
#: For what is called for every bit: models are many arrays, and handing them over takes longer than such a function.
inlined: Any = njit(**_OPTIONS | {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True})

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
#: To this many bytes arrays are aligned that are read in whole lines of a cache.
_LINE = 64


def _checked(name: str) -> Any:
    operation = getattr(int, name)

    def apply(self: int, other: Any) -> Any:
        result = operation(self, int(other) if isinstance(other, np.integer) else other)
        if result is NotImplemented:
            return result
        if not _SMALLEST <= result <= _LARGEST:
            raise OverflowError(f"{name} of {int(self)} and {other} leaves 64 bits")
        return Integer(result)

    return apply


class Integer(int):
    """A Python integer whose arithmetic raises OverflowError where that of 64 bits would wrap."""


for _name in ("add", "sub", "mul", "floordiv", "mod", "lshift", "rshift", "and", "or", "xor"):
    setattr(Integer, f"__{_name}__", _checked(f"__{_name}__"))
    setattr(Integer, f"__r{_name}__", _checked(f"__r{_name}__"))
setattr(Integer, "__neg__", lambda self: 0 - self)  # noqa: B010 - beside the others
setattr(Integer, "__abs__", lambda self: self if self >= 0 else 0 - self)  # noqa: B010


def integers(shape: int | tuple[int, ...], fill: int = 0) -> NDArray[Any]:
    """An array of 64-bit integers; of checked Python integers where kernels are not compiled."""
    return as_integers(np.full(shape, fill, dtype=np.int64))


def as_table(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """A copy of small integers in few bytes each, so that more of them are near."""
    if IS_PLAIN:
        return as_integers(values)
    n_bytes = values.size * np.dtype(dtype).itemsize
    room = np.empty(n_bytes + _LINE, np.uint8)
    start = -room.ctypes.data % _LINE
    table = room[start : start + n_bytes].view(dtype).reshape(values.shape)
    table[...] = values
    return table


def as_integers(values: NDArray[Any]) -> NDArray[Any]:
    """A copy of these values as kernels take them."""
    if not IS_PLAIN:
        return np.array(values, dtype=np.int64, order="C")
    checked = np.empty(values.size, dtype=object)
    checked[:] = [Integer(int(value)) for value in values.flat]
    return checked.reshape(values.shape)


if IS_PLAIN:

    def at(index: Any) -> Any:
        """An index that is not negative."""
        return index

    def narrow(value: Any) -> Any:
        """A value of 32 bits."""
        if not -(2**31) <= value < 2**31:
            raise OverflowError(f"{value} leaves 32 bits")
        return value

    def quotient(part: Any, whole: Any) -> Any:
        """Of numbers that are not negative, the divisor not zero."""
        return part // whole

    def will_need(table: Any, row: Any, line: Any) -> None:
        """Nothing is said to a processor."""

else:

    @inlined
    def at(index):
        """An index that is not negative: nothing is looked at to count it from the end."""
        return np.uint64(index)

    @inlined
    def narrow(value):
        """A value of 32 bits: twice as many of them as of 64 are computed at a time."""
        return np.int32(value)

    @inlined
    def quotient(part, whole):
        """Of numbers that are not negative, the divisor not zero: without a look at signs."""
        return np.int64(np.uint64(part) // np.uint64(whole))

    @intrinsic
    def will_need(typing: Any, table: Any, row: Any, line: Any) -> Any:
        """Ask for `table[row, line]` before it is needed, since memory is far away."""

        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, given[0])
            shape, strides = (cgutils.unpack_tuple(builder, part) for part in (array.shape, array.strides))
            places = [given[1], given[2], ir.Constant(given[1].type, 0)]
            pointer = cgutils.get_item_pointer2(context, builder, array.data, shape, strides, "C", places)
            number = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
            function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
            builder.call(function, [pointer, *(number(n) for n in (1, 3, 1))])  # to write, to keep, data
            return context.get_dummy_value()

        return types.void(table, row, line), generate
