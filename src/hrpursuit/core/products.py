"""Matrix products inside kernels.

They call the BLAS function that numba calls for `np.dot` of three arrays, and nothing around it: for `np.dot` numba
compiles a function with checks and errors for each combination of types and orders, a tenth of a second each, and
transposed views and slices take as long again. Arrays are in C order and of one dtype; shapes are not checked.
"""

from typing import Any

import numpy as np
from numba import config, intp, void
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from hrpursuit.core.protocols import Array


def _compiled(transposed_A: bool, transposed_B: bool) -> Any:
    @intrinsic
    def product(typing, A, first, B, C):  # type: ignore[no-untyped-def]
        if any(one.layout != "C" or one.dtype != C.dtype for one in (A, B)) or C.layout != "C":
            raise TypingError(f"expected matrices in C order of one dtype; got {A}, {B} and {C}.")

        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            from numba.np.linalg import call_xxgemm, ensure_blas  # noqa: PLC0415 - slow, and not needed with a cache

            def matrix(k, transposed=False, first=None):  # type: ignore[no-untyped-def]
                """Type, shape and data of an argument, as `call_xxgemm` takes them."""
                array = context.make_array(signature.args[k])(context, builder, args[k])
                shape = cgutils.unpack_tuple(builder, array.shape)
                data = array.data if first is None else builder.gep(array.data, [builder.mul(first, shape[1])])
                if transposed:
                    return signature.args[k].copy(layout="F"), shape[::-1], data
                return signature.args[k], shape, data

            ensure_blas()
            (A_type, A_shape, A_data), out = matrix(0, transposed_A, args[1]), matrix(3)
            A_shape = [out[1][0], A_shape[1]]  # of the rows from `first` on those that C has
            call_xxgemm(context, builder, A_type, A_shape, A_data, *matrix(2, transposed_B), *out)
            return context.get_dummy_value()

        return void(A, intp, B, C), generate

    return product


def _plain(transposed_A: bool, transposed_B: bool) -> Any:
    """The same in numpy, for NUMBA_DISABLE_JIT=1."""

    def product(A: Array, first: int, B: Array, C: Array) -> None:
        A = A.T if transposed_A else A[first : first + len(C)]
        np.dot(A, B.T if transposed_B else B, C)

    return product


_make: Any = _plain if getattr(config, "DISABLE_JIT") else _compiled  # noqa: B009 - numba sets it when it is imported
#: C <- A[first:first + len(C)] B
product = _make(False, False)
#: C <- A[first:first + len(C)] B'
product_with_transposed = _make(False, True)
#: C <- A' B; `first` must be 0
product_of_transposed = _make(True, False)
