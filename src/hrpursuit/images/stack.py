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

    pixels: NDArray[Any]  # (n_images, n_channels, height, width); of volumes (..., n_channels, n_planes, height, width)
    shape: tuple[int, ...]  # of what was given
    channel_axis: int | None
    plane_axis: int | None = None

    def room(self) -> NDArray[Any]:
        """An uninitialised stack with the channels first, whose memory is in the order of what was given."""
        return _channels_first(np.empty(self.shape, self.pixels.dtype), self.channel_axis, self.plane_axis)

    def as_given(self, stack: NDArray[Any]) -> NDArray[Any]:
        """A stack with the channels first in the shape of what was given."""
        order = _order(len(self.shape), self.channel_axis, self.plane_axis)
        return stack.reshape([self.shape[axis] for axis in order]).transpose(np.argsort(order))


def _channels_first(image: NDArray[Any], channel_axis: int | None, plane_axis: int | None = None) -> NDArray[Any]:
    n_last = 2 + (channel_axis is not None) + (plane_axis is not None)
    image = image.transpose(_order(image.ndim, channel_axis, plane_axis))
    last = image.shape[image.ndim - n_last :]
    return image.reshape(-1, *(last if channel_axis is not None else (1, *last)))


def _order(n_axes: int, channel_axis: int | None, plane_axis: int | None) -> list[int]:
    """The axes in our order: of the stack, of channels, of planes, height and width."""
    ours = [axis % n_axes for axis in (channel_axis, plane_axis) if axis is not None]
    others = [axis for axis in range(n_axes) if axis not in ours]
    return others[:-2] + ours + others[-2:]


def check_images(image: ArrayLike, channel_axis: int | None, patch_size: int, plane_axis: int | None = None) -> Images:
    """Images of finite numbers that are at least as large as a patch; otherwise an error that says what to do."""
    if np.ma.is_masked(image):
        raise ValueError("image has masked pixels; fill them first: hrpursuit.images.inpaint(image.data, image.mask).")
    array = np.asarray(image)
    _check_dtype(array)
    if plane_axis is not None:
        _check_planes(array, channel_axis, plane_axis)
    _check_shape(array, channel_axis, patch_size, plane_axis)
    _check_values(array)
    if channel_axis is not None:
        channel_axis = int(channel_axis)
    return Images(_channels_first(array, channel_axis, plane_axis), array.shape, channel_axis, plane_axis)


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


def _check_planes(array: NDArray[Any], channel_axis: int | None, plane_axis: Any) -> None:
    if isinstance(plane_axis, bool) or not isinstance(plane_axis, (int, np.integer)):
        raise TypeError(f"plane_axis must be an axis of image or None; got {plane_axis!r}.")
    n_fewest = 3 + (channel_axis is not None)
    if array.ndim < n_fewest:
        raise ValueError(
            f"with a plane_axis, image must have {n_fewest} axes or more, of planes or frames, height and width"
            f"{', and channels' if n_fewest == 4 else ''}; got shape {array.shape}."
        )
    if not -array.ndim <= plane_axis < array.ndim:
        raise ValueError(
            f"plane_axis must be between {-array.ndim} and {array.ndim - 1} for an image of shape {array.shape}; got "
            f"{plane_axis}."
        )
    if channel_axis is not None and plane_axis % array.ndim == channel_axis % array.ndim:
        raise ValueError(f"plane_axis and channel_axis are the same axis, {plane_axis}; they must be two.")


def _check_shape(array: NDArray[Any], channel_axis: int | None, patch_size: int, plane_axis: int | None = None) -> None:
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
    others = _order(array.ndim, channel_axis, plane_axis)
    height, width = (array.shape[i] for i in others[-2:])
    if channel_axis is None and plane_axis is None and array.ndim >= 3 and 2 <= width <= 4 < min(array.shape[-3:-1]):
        raise ValueError(
            f"an image of shape {array.shape} without channel_axis is a stack of images of {height} x {width} pixels; "
            "its last axis must be the channels: pass channel_axis=-1. (Images that narrow: one call for each.)"
        )
    if min(height, width) >= patch_size:
        return
    got = f"got {height} x {width} (shape {array.shape}, channel_axis={channel_axis})"
    if min(height, width) == 1:
        raise ValueError(
            f"image must have two rows and two columns, for patches are compared; {got}. For a signal of one row take "
            "a method for signals, as skimage.restoration.denoise_wavelet."
        )
    raise ValueError(
        f"image must be at least as large as a patch, {patch_size} x {patch_size} pixels; {got}. Choose a smaller "
        "patch_size."
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
