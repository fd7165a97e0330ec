"""The dictionary of an image: an estimator over its patches."""

import math
from numbers import Integral, Real
from os import PathLike
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray
from scipy.fft import dct
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from hrpursuit.blas import one_blas_thread
from hrpursuit.core.atom_order import signs
from hrpursuit.core.coding import keep_largest
from hrpursuit.estimators import HRP
from hrpursuit.estimators.archive import load_model, save_model
from hrpursuit.images.stack import check_images
from hrpursuit.validation import Interval, StrOptions, fit_context

Values = NDArray[np.float64]


# no set_output: it would take the rows of an image for those of its codes
class PatchHRP(  # type: ignore[call-arg]
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """The orthonormal dictionary of an image: atoms in which its patches have few nonzero codes.

    Patches are drawn from the image at random. One atom per channel is constant; :class:`~hrpursuit.HRP` learns the
    others, starting from the cosine transform.

    Parameters
    ----------
    patch_size : int, default=8
        Height and width of the patches in pixels.
    n_nonzero_coefs : int or None, default=None
        Number of nonzero codes per patch, in addition to those of the constant atoms. The dictionary is fitted to this
        number. None keeps all codes.
    channel_axis : int or None, default=None
        Axis of the channels; None for grey images. A patch contains all channels.
    stride : int, default=1
        Number of pixels from one patch to the next in `transform`, down and across. The last patches of a row or column
        end at the border, whatever the stride.
    max_patches : int, default=10000
        Maximum number of patches to learn from, drawn at random.
    scheme : {"exact", "paper"}, default="exact"
        Scheme of :class:`~hrpursuit.HRP`.
    max_iter : int, default=200
        Maximum number of iterations of Stage One with `scheme="paper"`; not used by `scheme="exact"`.
    tol : float, default=0.001
        With `scheme="paper"`, Stage One stops when `norm(W_next - W) / n_features` is at most `tol`; not used by
        `scheme="exact"`.
    random_state : int, RandomState instance or None, default=None
        Determines which patches are drawn, and the random numbers of HRP.

    Attributes
    ----------
    components_ : array of shape (n_atoms, n_pixels)
        The orthonormal atoms, one per row; n_atoms and n_pixels are both patch_size**2 times the number of channels.
        The constant ones come first, one per channel, then the others by the mean magnitude of their codes, largest
        first.
    atoms_ : array of shape (n_atoms, patch_size, patch_size) or (n_atoms, patch_size, patch_size, n_channels)
        The atoms as pictures.
    usage_ : array of shape (n_atoms,)
        Mean magnitude of the code of each atom over the patches of the fit.
    n_constant_ : int
        Number of constant atoms: one per channel.
    image_shape_ : tuple of (int, int)
        Height and width of the last image of the fit.
    n_iter_ : int
        Number of iterations of HRP.
    n_features_in_ : int
        Number of values of a patch: its pixels times the channels.

    See Also
    --------
    hrpursuit.HRP : Learns a dictionary from any samples.
    hrpursuit.plots.plot_atoms : Draws the atoms.

    Examples
    --------
    >>> import numpy as np
    >>> from hrpursuit.images import PatchHRP
    >>> y, x = np.mgrid[:40, :40]
    >>> image = np.where(x + 2 * y < 60, 50.0, 200.0)
    >>> model = PatchHRP(4, n_nonzero_coefs=3, random_state=0).fit(image)
    >>> codes = model.transform(image)
    >>> codes.shape
    (1369, 16)
    >>> bool(np.abs(model.inverse_transform(codes) - image).mean() < 2)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's own declaration
        "patch_size": [Interval(Integral, 2, 32, closed="both")],
        "n_nonzero_coefs": [Interval(Integral, 1, None, closed="left"), None],
        "channel_axis": [Integral, None],
        "stride": [Interval(Integral, 1, None, closed="left")],
        "max_patches": [Interval(Integral, 1, None, closed="left")],
        "scheme": [StrOptions({"exact", "paper"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }
    _saved: ClassVar[dict[str, Any]] = {
        "n_features_in_": int,
        "components_": Annotated[NDArray[np.float64], "n_features_in_", "n_features_in_"],
        "usage_": Annotated[NDArray[np.float64], "n_features_in_"],
        "n_constant_": int,
        "image_shape_": tuple[int, int],
        "n_iter_": int,
    }
    components_: NDArray[np.float64]

    def __init__(
        self,
        patch_size: int = 8,
        n_nonzero_coefs: int | None = None,
        *,
        channel_axis: int | None = None,
        stride: int = 1,
        max_patches: int = 10_000,
        scheme: Literal["exact", "paper"] = "exact",
        max_iter: int = 200,
        tol: float = 1e-3,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.patch_size = patch_size
        self.n_nonzero_coefs = n_nonzero_coefs
        self.channel_axis = channel_axis
        self.stride = stride
        self.max_patches = max_patches
        self.scheme = scheme
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, image: ArrayLike | list[Any], y: None = None) -> Self:
        """Learn the dictionary of an image, or of some images together.

        Parameters
        ----------
        image : array-like of shape (..., height, width), or list of such
            Integers or floats; with `channel_axis` one more axis, for the channels. Further axes in front make a stack.
            Images in a list may have different sizes. Give the axis of the channels from the end, where there are
            stacks.
        y : None
            Ignored.

        Returns
        -------
        self : PatchHRP
        """
        n_axes = 2 if self.channel_axis is None else 3
        are_several = isinstance(image, list | tuple) and len(image) > 0 and np.ndim(image[0]) >= n_axes
        given: Any = image if are_several else [image]
        size = int(self.patch_size)
        stacks = [check_images(each, self.channel_axis, size) for each in given]
        n_channels = {stack.pixels.shape[1] for stack in stacks}
        if len(n_channels) > 1:
            raise ValueError(f"all images must have as many channels; got {sorted(n_channels)}.")
        rng = check_random_state(self.random_state)
        start = _start(size, n_channels.pop())
        is_constant = np.arange(len(start)) % size**2 == 0
        if self.n_nonzero_coefs is not None and self.n_nonzero_coefs > np.sum(~is_constant):
            raise ValueError(
                f"n_nonzero_coefs must be at most {np.sum(~is_constant)}, the number of atoms that are not constant; "
                f"got {self.n_nonzero_coefs}."
            )
        patches = self._drawn([pixels for stack in stacks for pixels in stack.pixels], size, rng)
        model = HRP(
            n_nonzero_coefs=self.n_nonzero_coefs,
            scheme=self.scheme,
            max_iter=self.max_iter,
            tol=self.tol,
            dict_init=np.eye(int(np.sum(~is_constant))),
            random_state=rng.randint(2**31 - 1),
        )
        with one_blas_thread():
            model.fit(patches @ start[~is_constant].T)
        learned = model.components_ @ start[~is_constant]
        self.components_ = np.vstack([start[is_constant], learned * signs(learned)[:, None]])
        self.n_constant_ = int(np.sum(is_constant))
        self.usage_ = np.abs(self._codes(patches)).mean(axis=0)
        height, width = stacks[-1].pixels.shape[2:]
        self.image_shape_ = (int(height), int(width))
        self.n_iter_ = model.n_iter_
        self.n_features_in_ = len(start)
        return self

    @property
    def atoms_(self) -> NDArray[np.float64]:
        check_is_fitted(self)
        size = self._size
        atoms = self.components_.reshape(len(self.components_), -1, size, size)
        return atoms[:, 0] if self.channel_axis is None else np.moveaxis(atoms, 1, -1)

    def transform(self, image: ArrayLike) -> Values:
        """Codes of the patches of an image.

        Parameters
        ----------
        image : array-like of shape (height, width)
            One image; with `channel_axis` one more axis.

        Returns
        -------
        codes : array of shape (n_patches, n_atoms)
            One row per patch, row by row of the image, with a patch every `stride` pixels. With `n_nonzero_coefs` only
            this number of the largest codes of each patch, and those of the constant atoms, are nonzero.
        """
        check_is_fitted(self)
        size = self._size
        images = check_images(image, self.channel_axis, size).pixels
        if len(images) > 1:
            raise ValueError(
                f"transform takes one image; got {len(images)} (shape {np.shape(image)}). Call it for each."
            )
        if images.shape[1] != self.n_constant_:
            raise ValueError(
                f"image must have {self.n_constant_} channels, as those of the fit; got {images.shape[1]}."
            )
        down, across = self._corners(*images.shape[2:])
        patches = _windows(images[0], size)[np.ix_(down, across)]
        return self._codes(patches.reshape(-1, self.n_features_in_).astype(np.float64))

    def inverse_transform(self, codes: ArrayLike, shape: tuple[int, int] | None = None) -> Values:
        """The image that the codes stand for: each pixel is the mean over the patches that contain it.

        Parameters
        ----------
        codes : array-like of shape (n_patches, n_atoms)
            As `transform` returns them.
        shape : tuple of (int, int) or None, default=None
            Height and width of the image; None is `image_shape_`.

        Returns
        -------
        image : array of shape (height, width)
            With `channel_axis` one more axis. If `stride` is larger than a patch, pixels between patches are NaN.
        """
        check_is_fitted(self)
        codes = check_array(codes, dtype=np.float64, input_name="codes")
        height, width = self.image_shape_ if shape is None else (int(n) for n in shape)
        down, across = self._corners(height, width)
        expected = (len(down) * len(across), len(self.components_))
        if codes.shape != expected:
            raise ValueError(
                f"codes must have shape {expected} for an image of {height} x {width} pixels; got {codes.shape}. Pass "
                "the height and width of the image that they are of as shape."
            )
        size = self._size
        patches = (codes @ self.components_).reshape(len(down), len(across), -1, size, size)
        total = np.zeros((patches.shape[2], height, width))
        weight = np.zeros((height, width))
        for r in range(size):
            for c in range(size):
                rows, columns = np.ix_(down + r, across + c)  # no pixel twice, as corners differ
                total[:, rows, columns] += np.moveaxis(patches[..., r, c], -1, 0)
                weight[rows, columns] += 1
        image = np.divide(total, weight, out=np.full_like(total, np.nan), where=weight > 0)
        return image[0] if self.channel_axis is None else np.moveaxis(image, 0, self.channel_axis)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file, without pickle: arrays and text only.

        Parameters
        ----------
        path : path-like
            Name of the file; `.npz` is not appended. The file appears when it is complete.
        """
        check_is_fitted(self)
        save_model(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that `save` has written.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        model : PatchHRP
            Fitted.
        """
        return load_model(cls, path)

    @property
    def _size(self) -> int:
        """Of the patches of the fit, whatever `patch_size` is by now."""
        return math.isqrt(self.n_features_in_ // self.n_constant_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _codes(self, patches: Values) -> Values:
        codes = patches @ self.components_.T
        if self.n_nonzero_coefs is not None:
            codes[:, self.n_constant_ :] = keep_largest(
                np.ascontiguousarray(codes[:, self.n_constant_ :]), self.n_nonzero_coefs
            )
        return codes

    def _corners(self, height: int, width: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows and columns at which patches begin."""
        size = self._size
        if min(height, width) < size:
            raise ValueError(f"shape must be at least {size} x {size}; got {height} x {width}.")
        last = height - size, width - size
        down, across = (np.unique(np.append(np.arange(0, n + 1, self.stride), n)) for n in last)
        return down, across

    def _drawn(self, images: list[NDArray[Any]], size: int, rng: np.random.RandomState) -> Values:
        """Patches of all images, at most `max_patches`, each as likely."""
        counts = [(pixels.shape[1] - size + 1) * (pixels.shape[2] - size + 1) for pixels in images]
        n_pixels = len(images[0]) * size**2
        if min(sum(counts), self.max_patches) < n_pixels:
            raise ValueError(
                f"a dictionary for patches of {n_pixels} pixels needs at least as many patches; the image has "
                f"{sum(counts)} and max_patches is {self.max_patches}. Give more of them, or choose a smaller "
                "patch_size."
            )
        chosen = np.arange(sum(counts))
        if len(chosen) > self.max_patches:
            chosen = np.sort(rng.choice(len(chosen), self.max_patches, replace=False))
        drawn = []
        for pixels, end, count in zip(images, np.cumsum(counts), counts, strict=True):
            own = chosen[(chosen >= end - count) & (chosen < end)] - (end - count)
            down, across = np.divmod(own, pixels.shape[2] - size + 1)
            drawn.append(_windows(pixels, size)[down, across].reshape(-1, n_pixels))
        return np.concatenate(drawn).astype(np.float64)

    def _check_loaded(self) -> None:
        """Raise ValueError if what was read from a file does not fit together."""
        n_channels = self.n_constant_
        if n_channels < 1 or self.n_features_in_ != n_channels * self._size**2 or min(self.image_shape_) < self._size:
            raise ValueError("patches, channels and image_shape_ do not fit together.")
        if self.channel_axis is None and n_channels > 1:
            raise ValueError("there are several channels without channel_axis.")
        if self.n_nonzero_coefs is not None and self.n_nonzero_coefs > self.n_features_in_ - n_channels:
            raise ValueError("n_nonzero_coefs is more than there are atoms.")


def _windows(pixels: NDArray[Any], size: int) -> NDArray[Any]:
    """All patches of channels, as a view of shape (n_down, n_across, n_channels, size, size)."""
    return sliding_window_view(pixels, (size, size), axis=(1, 2)).transpose(1, 2, 0, 3, 4)


def _start(size: int, n_channels: int) -> Values:
    """The cosine transform over channels and pixels, one atom per row."""
    channels, line = (dct(np.eye(n), axis=0, norm="ortho") for n in (n_channels, size))
    return np.kron(channels, np.kron(line, line))
