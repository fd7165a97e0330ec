"""A codec for arrays of Zarr 3, so that xarray can use it: `serializer=HRPCodec(max_error=0.1)`.

It turns arrays into bytes, so it takes the place of Zarr's `bytes` codec, and no compressor is needed after it. For
arrays of Zarr 2 there is `hrpursuit.compression.numcodecs`.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hrpursuit.compression.numcodecs import NAME, check_parameters, pack, unpack
from hrpursuit.rows.optional import needed

needed("zarr", "arrays of Zarr", "files")

from zarr.abc.codec import ArrayBytesCodec  # noqa: E402 - after the check that it is installed
from zarr.core.common import parse_named_configuration  # noqa: E402


@dataclass(frozen=True)
class HRPCodec(ArrayBytesCodec):
    """Compress the chunks of an array, losslessly or with a bound on the error of every number.

    The first axis of a chunk should be time: numbers are predicted from those before them along this axis.

    Parameters
    ----------
    max_error : float or None, default=None
        Bound on the error of every number; None: lossless. NaN and infinities are kept in both cases.
    effort : {"fast", "default", "best"}, default="default"
        How many ways to code are tried for the shortest bytes.

    Examples
    --------
    >>> import numpy as np, zarr
    >>> from hrpursuit.compression.zarr import HRPCodec
    >>> array = zarr.create_array({}, shape=(100, 8), chunks=(50, 8), dtype="float64",
    ...                           serializer=HRPCodec(max_error=0.5), compressors=None)
    >>> array[:] = np.arange(800.0).reshape(100, 8)
    >>> bool(np.abs(array[:] - np.arange(800.0).reshape(100, 8)).max() <= 0.5)
    True
    """

    is_fixed_size = False

    max_error: float | None = None
    effort: str = "default"

    def __post_init__(self) -> None:
        check_parameters(self.max_error, self.effort)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """From the metadata of an array."""
        _, configuration = parse_named_configuration(data, NAME, require_configuration=False)
        return cls(**(configuration or {}))  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """For the metadata of an array."""
        return {"name": NAME, "configuration": {"max_error": self.max_error, "effort": self.effort}}

    def validate(self, *, shape: Any, dtype: Any, chunk_grid: Any) -> None:
        """Refuse an array of another type when it is made, not when it is written."""
        native = dtype.to_native_dtype()
        if native.kind not in "biuf" or native.itemsize > 8:
            raise ValueError(f"the codec of hrpursuit takes numbers up to 64 bits; got {native}: choose another codec.")

    async def _encode_single(self, chunk_array: Any, chunk_spec: Any) -> Any:
        data = await asyncio.to_thread(pack, chunk_array.as_numpy_array(), self.max_error, self.effort)
        return chunk_spec.prototype.buffer.from_bytes(data)

    async def _decode_single(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
        dtype = chunk_spec.dtype.to_native_dtype()
        n_numbers = int(np.prod(chunk_spec.shape, dtype=np.int64))
        numbers = await asyncio.to_thread(unpack, chunk_bytes.to_bytes(), n_numbers * dtype.itemsize)
        if len(numbers) != n_numbers or numbers.dtype != dtype.newbyteorder("="):
            raise ValueError(
                f"a chunk holds {len(numbers)} numbers of type {numbers.dtype} where {n_numbers} of type {dtype} are "
                "expected."
            )
        array = numbers.astype(dtype, copy=False).reshape(chunk_spec.shape)
        return chunk_spec.prototype.nd_buffer.from_ndarray_like(array)

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        """Is not known before."""
        raise NotImplementedError
