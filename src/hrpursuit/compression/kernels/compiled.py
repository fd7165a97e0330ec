"""How kernels are compiled, and what their integers are when they are not."""

from typing import Any

import numpy as np
from numba import config, njit
from numpy.typing import NDArray

from hrpursuit.compiled import kernel

#: Kernels run as plain Python, on integers that check for overflow.
IS_PLAIN = bool(getattr(config, "DISABLE_JIT"))  # noqa: B009 - numba sets it when it is imported
#: Kernels allocate nothing, so that arrays need no counting of references, which took half of their time.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
compiled = kernel(**_OPTIONS)
#: For what is called for every bit: models are many arrays, and handing them over takes longer than such a function.
inlined = njit(forceinline=True, **_OPTIONS)

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


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
    return as_integers(values) if IS_PLAIN else np.array(values, dtype=dtype, order="C")


def as_integers(values: NDArray[Any]) -> NDArray[Any]:
    """A copy of these values as kernels take them."""
    if not IS_PLAIN:
        return np.array(values, dtype=np.int64, order="C")
    checked = np.empty(values.size, dtype=object)
    checked[:] = [Integer(int(value)) for value in values.flat]
    return checked.reshape(values.shape)
