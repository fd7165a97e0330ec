"""What counts as an image, and what is returned for one."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

SMALLEST_PATCH, LARGEST_PATCH = 2, 32
_EXACT = 2**53  # whole numbers beyond are not all float64


@dataclass(frozen=True)
class Images:
    """A stack of images with the channels first, as a view of what was given."""

    pixels: NDArray[Any]  # (n_images, n_channels, height, width)
    shape: tuple[int, ...]  # of what was given
    channel_axis: int | None

    def room(self) -> NDArray[Any]:
        """An uninitialised stack with the channels first, whose memory is in the order of what was given."""
        return _channels_first(np.empty(self.shape, self.pixels.dtype), self.channel_axis)

    def as_given(self, stack: NDArray[Any]) -> NDArray[Any]:
        """A stack with the channels first in the shape of what was given."""
        return _as_given(stack, self.shape, self.channel_axis)


def _channels_first(image: NDArray[Any], channel_axis: int | None) -> NDArray[Any]:
    if channel_axis is None:
        return image.reshape(-1, 1, *image.shape[-2:])
    image = np.moveaxis(image, channel_axis, -3)
    return image[None] if image.ndim == 3 else image.reshape(-1, *image.shape[-3:])


def _as_given(stack: NDArray[Any], shape: tuple[int, ...], channel_axis: int | None) -> NDArray[Any]:
    if channel_axis is None:
        return stack.reshape(shape)
    axis = channel_axis % len(shape)
    others = tuple(n for i, n in enumerate(shape) if i != axis)
    return np.moveaxis(stack.reshape(*others[:-2], shape[axis], *others[-2:]), -3, channel_axis)


def check_images(image: ArrayLike, channel_axis: int | None, patch_size: int) -> Images:
    """Images of finite numbers that are at least as large as a patch; otherwise an error that says what to do."""
    if np.ma.is_masked(image):
        raise ValueError("image has masked pixels; fill them first: hrpursuit.images.inpaint(image.data, image.mask).")
    array = np.asarray(image)
    _check_dtype(array)
    _check_shape(array, channel_axis, patch_size)
    _check_values(array)
    if channel_axis is not None:
        channel_axis = int(channel_axis)
    return Images(_channels_first(array, channel_axis), array.shape, channel_axis)


def _check_dtype(array: NDArray[Any]) -> None:
    if array.dtype == bool:
        raise TypeError(
            "image must hold numbers; got bool. A picture of two values has no Gaussian noise; if you mean its grey "
            "levels, pass image.astype(float)."
        )
    if array.dtype.kind == "c":
        raise TypeError(f"image must be real; got {array.dtype}. Denoise image.real and image.imag, one by one.")
    if array.dtype.kind not in "iuf":
        raise TypeError(f"image must hold integers or floats; got dtype {array.dtype}.")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise TypeError(f"image must be float16, float32 or float64; got {array.dtype}: pass image.astype(float).")


def _check_shape(array: NDArray[Any], channel_axis: int | None, patch_size: int) -> None:
    if array.ndim < 2:
        raise ValueError(f"image must have two axes, height and width, or more; got shape {array.shape}.")
    if channel_axis is not None:
        if isinstance(channel_axis, bool) or not isinstance(channel_axis, (int, np.integer)):
            raise TypeError(f"channel_axis must be an axis of image or None; got {channel_axis!r}.")
        if array.ndim < 3:
            raise ValueError(
                f"image must have height, width and channels if there is a channel_axis; got shape {array.shape}. "
                "Leave channel_axis out for a grey image."
            )
        if not -array.ndim <= channel_axis < array.ndim:
            raise ValueError(
                f"channel_axis must be between {-array.ndim} and {array.ndim - 1} for an image of shape {array.shape}; "
                f"got {channel_axis}."
            )
    if array.size == 0:
        raise ValueError(f"image must have pixels; got shape {array.shape}.")
    others = [i for i in range(array.ndim) if channel_axis is None or i != channel_axis % array.ndim]
    height, width = (array.shape[i] for i in others[-2:])
    if min(height, width) >= patch_size:
        return
    if channel_axis is None and array.ndim >= 3 and 2 <= width <= 4 and array.shape[-3] >= patch_size:
        raise ValueError(
            f"an image of shape {array.shape} without channel_axis is a stack of images of {height} x {width} pixels, "
            f"smaller than a patch; if its last axis are the channels, pass channel_axis=-1."
        )
    raise ValueError(
        f"image must be at least as large as a patch, {patch_size} x {patch_size} pixels; got {height} x {width} "
        f"(shape {array.shape}, channel_axis={channel_axis}). Choose a smaller patch_size."
    )


def _check_values(array: NDArray[Any]) -> None:
    low, high = array.min(), array.max()
    if array.dtype.kind in "iu":
        if int(low) < -_EXACT or int(high) > _EXACT:
            raise ValueError(
                f"whole numbers in image must be at most 2**53 in size, so that float64 has them; got {low} to {high}."
            )
    elif not (np.isfinite(low) and np.isfinite(high)):
        wrong = ~np.isfinite(array)
        first = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), array.shape))
        raise ValueError(
            f"image must be finite; got {int(wrong.sum())} values that are not, the first {array[first]} at {first}. "
            "To fill missing pixels use hrpursuit.images.inpaint."
        )


def store(values: NDArray[np.float64], out: NDArray[Any]) -> None:
    """Write values into an array of the dtype of the image: whole numbers are rounded, all kept in the range."""
    if out.dtype.kind in "iu":
        limits = np.iinfo(out.dtype)
        values = np.clip(np.rint(values), max(limits.min, -_EXACT), min(limits.max, _EXACT))
    else:
        limit = float(np.finfo(out.dtype).max)
        values = np.clip(values, -limit, limit)
    out[...] = values  # casts


def spread(pixels: NDArray[Any]) -> tuple[float, float]:
    """Middle of the range and half its width, without overflow."""
    low, high = float(pixels.min()), float(pixels.max())
    return low / 2 + high / 2, high / 2 - low / 2
