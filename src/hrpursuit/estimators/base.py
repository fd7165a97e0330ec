"""What every estimator does once it has a dictionary: code, decode, score, save; and check, where it is square."""

from collections.abc import Callable
from functools import cache, wraps
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from hrpursuit.core.atom_order import ordering_sample
from hrpursuit.core.certificate import Certificate, certify
from hrpursuit.core.coding import codes_block
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.core.rounding import zero_levels
from hrpursuit.estimators.archive import load_model, save_model
from hrpursuit.estimators.checks import check_n_nonzero, check_table
from hrpursuit.estimators.sources import (
    check_n_features,
    guarded_map,
    guarded_sum,
    look_over,
    matching_rows,
    open_by_name,
    shown,
)
from hrpursuit.rows import ArrayRows, DaskRows, MappedRows, gather, is_outside_memory, map_lazily, write_blocks
from hrpursuit.schemes.span import units_of

Coder = Callable[..., Array]  # block of rows to block of codes


def decode_block(codes: Array, components: Array, intercept: Array | None) -> Array:
    return codes @ components if intercept is None else codes @ components + intercept


def centred_block(X: Array, intercept: Array, kernel: Coder, *args: Any) -> Array:
    """Codes of the rows less an offset."""
    return kernel(X - intercept, *args)


def residual_block(
    X: Array, components: Array, intercept: Array | None, unit: float, kernel: Coder, *args: Any
) -> tuple[float, float]:
    """Squared norms, in this unit, of what the codes leave of the samples, and of the samples, without their gaps."""
    X = np.asarray(X, dtype=np.float64)
    residual = (X - decode_block(kernel(X, *args), components, intercept)) / unit
    X = X / unit
    if np.isnan(X).any():  # the samples alone: codes that are no numbers have to show
        observed = ~np.isnan(X)
        residual, X = residual[observed], X[observed]
    return float(np.vdot(residual, residual)), float(np.vdot(X, X))


class DictionaryEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the estimators: `components_`, one atom per row, once fitted.

    A subclass says how samples are coded: `_coder` gives a kernel of blocks and its arguments. What a file keeps of it
    is listed in `_saved`, see `archive`.
    """

    _saved: ClassVar[dict[str, Any]] = {
        "n_features_in_": int,
        "feature_names_in_": Annotated[NDArray[np.object_], "n_features_in_"] | None,
        "components_": Annotated[NDArray[np.floating], "n_atoms", "n_features_in_"],
    }
    #: Whether NaN is a missing value; the kernel of `_coder` then takes it.
    _takes_gaps = False
    components_: np.ndarray
    n_features_in_: int
    feature_names_in_: np.ndarray

    def _coder(self, dtype: np.dtype) -> tuple[Coder, tuple[Any, ...]]:
        """Kernel that codes a block of rows of this type, less any offset, and its arguments."""
        raise NotImplementedError

    def _centred_coder(self, dtype: np.dtype) -> tuple[Coder, tuple[Any, ...]]:
        """The same for rows with their offset."""
        kernel, args = self._coder(dtype)
        offset = self._offset(dtype)
        return (kernel, args) if offset is None else (centred_block, (offset, kernel, *args))

    def _check_loaded(self) -> None:
        """Raise ValueError if what was read from a file does not fit together."""
        check_n_nonzero(getattr(self, "n_nonzero_coefs", None), self.n_features_in_)

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Scikit-learn's, which reads the signature of the constructor each time: a tenth of a small fit."""
        return super()._get_param_names()

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _check_has_dictionary(self) -> None:
        check_is_fitted(self, "components_")

    @overload
    def transform(self, X: Any, out: str | PathLike[str]) -> Path: ...

    @overload
    def transform(self, X: Any, out: None = None) -> Any: ...

    def transform(self, X: Any, out: str | PathLike[str] | None = None) -> Any:
        """Codes of the samples X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or anything that :func:`~hrpursuit.rows.open_rows` takes
            Samples, one per row.
        out : path-like or None, default=None
            File to write the codes to, block by block: `.npy`, `.csv`, `.parquet`, `.h5`, `.hdf5` or `.zarr`. It
            appears when it is complete, and then replaces a file of that name; it cannot be the file that is read.

        Returns
        -------
        codes : array of shape (n_samples, n_atoms)
            If the dictionary is square, codes are `X @ encoder_`, in estimators with an intercept
            `(X - intercept_) @ encoder_`: codes of exactly sparse samples that should be zero are rounding errors, and
            at most `certificate_.zero_level` where the dictionary is orthogonal. With `n_nonzero_coefs`, at most this
            many codes of each sample are nonzero: the largest, or in a complete dictionary those that `HRP` finds by
            least squares and exchange of atoms. `HRP` fits the codes
            of samples with gaps (NaN) to their observed entries; without `n_nonzero_coefs` it fills each gap with the
            mean of its row.

            For data outside memory the result is an iterator over blocks of codes, in order (for a memory map an
            array); for a Dask collection a Dask array; with `out` the path. `set_output` applies to arrays only.
        """
        self._check_has_dictionary()
        if isinstance(X, np.memmap) and out is None:
            X = np.asarray(X)  # an array to whoever gives it, so an array goes back
        rows = matching_rows(self, X, gaps=self._takes_gaps)
        kernel, args = self._centred_coder(rows.dtype)
        return self._apply(kernel, args, X, rows, list(self.get_feature_names_out()), out, self._takes_gaps)

    @overload
    def inverse_transform(self, X: Any, out: str | PathLike[str]) -> Path: ...

    @overload
    def inverse_transform(self, X: Any, out: None = None) -> Any: ...

    def inverse_transform(self, X: Any, out: str | PathLike[str] | None = None) -> Any:
        """Samples for the codes X: X @ components_, plus the offset of a model that has one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_atoms), or anything that :func:`~hrpursuit.rows.open_rows` takes
            Codes, one sample per row, as `transform` returns them.
        out : path-like or None, default=None
            File to write the samples to, as in `transform`.

        Returns
        -------
        samples : array of shape (n_samples, n_features)
            For data outside memory an iterator over blocks, in order; for a Dask collection a Dask array; with `out`
            the path.
        """
        self._check_has_dictionary()
        if is_outside_memory(X) and not (isinstance(X, np.memmap) and out is None):
            rows = open_by_name(X, self.get_feature_names_out())
            check_n_features(rows, len(self.components_), type(self).__name__)
        else:
            X = check_table(X)
            if X.shape[1] != len(self.components_):
                raise ValueError(
                    f"X must have {len(self.components_)} columns, one code for each atom; got {X.shape[1]}."
                )
            rows = ArrayRows(X, is_checked=True)
        names = [
            str(name) for name in getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        ]
        components = self.components_.astype(rows.dtype, copy=False)
        return self._apply(decode_block, (components, self._offset(rows.dtype)), X, rows, names, out)

    def _offset(self, dtype: np.dtype) -> Array | None:
        """Offset of the samples, where there is one."""
        intercept = getattr(self, "intercept_", None)
        return None if intercept is None or not intercept.any() else intercept.astype(dtype, copy=False)

    def _apply(
        self,
        kernel: Coder,
        args: tuple[Any, ...],
        given: Any,
        rows: Rows,
        names: list[str],
        out: str | PathLike[str] | None,
        gaps: bool = False,
    ) -> Any:
        """The kernel on all rows: in memory, as a stream, lazily for Dask, or into a file."""
        if out is not None:
            with shown(rows, getattr(self, "verbose", 0)):
                blocks = guarded_map(rows, kernel, *args, gaps=gaps)
                write_blocks(out, blocks, names, rows.dtype, given)
            return Path(out)
        if isinstance(rows, ArrayRows):
            return gather(guarded_map(rows, kernel, *args, gaps=gaps), len(rows.X), len(names), rows.dtype)
        if isinstance(rows, DaskRows):
            return map_lazily(kernel, args, rows, len(names), gaps)
        return guarded_map(rows, kernel, *args, gaps=gaps)

    def reconstruction_error(self, X: Any) -> float:
        """Relative reconstruction error: norm(X - inverse_transform(transform(X))) / norm(X).

        Missing values (NaN), if the estimator takes them, are left out of both norms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or anything that :func:`~hrpursuit.rows.open_rows` takes

        Returns
        -------
        error : float
            0 if the samples are reproduced exactly.
        """
        self._check_has_dictionary()
        rows = matching_rows(self, X, gaps=self._takes_gaps)
        sample = np.abs(ordering_sample(rows))
        largest = float(np.max(sample, initial=0.0, where=np.isfinite(sample))) or 1.0  # no overflow
        with shown(rows, getattr(self, "verbose", 0)):
            kernel, args = self._centred_coder(np.dtype(np.float64))
            offset = self._offset(np.dtype(np.float64))
            arguments = (self.components_, offset, largest, kernel, *args)
            error, total = guarded_sum(rows, residual_block, *arguments, gaps=self._takes_gaps)
        return float(np.sqrt(error / total)) if total > 0 else 0.0

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file of arrays and text, without pickle.

        A `callback` is not saved, nor a `random_state` that is not a number.

        Parameters
        ----------
        path : path-like
            Name of the file; `.npz` is not appended. The file appears when it is complete.
        """
        self._check_has_dictionary()
        save_model(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that `save` has written.

        Parameters
        ----------
        path : path-like
            Name of the file. A file that is damaged, or was written by another class, raises ValueError.

        Returns
        -------
        model : estimator of this class
            The fitted estimator.
        """
        return load_model(cls, path)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown = super().__repr__(N_CHAR_MAX)
        return f"{shown}\n# {self.verdict_}" if hasattr(self, "verdict_") else shown

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_gaps
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _only_in_memory(wrapped: Any) -> Any:
    """Scikit-learn's container (`set_output`) for arrays alone: streams, files and Dask arrays are handed on as they
    are.
    """

    @wraps(wrapped)
    def transform(self: DictionaryEstimator, X: Any, out: str | PathLike[str] | None = None) -> Any:
        outside = out is not None or (is_outside_memory(X) and not isinstance(X, np.memmap))
        return wrapped.__wrapped__(self, X, out) if outside else wrapped(self, X)

    return transform


setattr(DictionaryEstimator, "transform", _only_in_memory(DictionaryEstimator.transform))  # noqa: B010 - for mypy


class SquareDictionary(DictionaryEstimator):
    """Base of the estimators whose codes are linear before any threshold: X @ encoder_."""

    _saved: ClassVar[dict[str, Any]] = dict.fromkeys(
        ("components_", "encoder_"), Annotated[NDArray[np.floating], "n_features_in_", "n_features_in_"]
    )
    n_nonzero_coefs: int | None
    dictionary: Literal["orthogonal", "complete"]
    encoder_: np.ndarray

    def _coder(self, dtype: np.dtype) -> tuple[Coder, tuple[Any, ...]]:
        refit = self.components_ if self.dictionary == "complete" else None
        return codes_block, (self.encoder_.astype(dtype, copy=False), self.n_nonzero_coefs, None, refit)

    def certify(self, X: Any) -> Certificate:
        """Check the certificate on all samples X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or anything that :func:`~hrpursuit.rows.open_rows` takes
            Samples without gaps: a code that is not known cannot be checked.

        Returns
        -------
        certificate : Certificate
            `bool(certificate)` says whether the dictionary is certified sparse on X, `print(certificate)` why or why
            not.
        """
        self._check_has_dictionary()
        rows = matching_rows(self, X)
        look_over(rows)
        sample = rows.X if isinstance(rows, ArrayRows) else ordering_sample(rows)
        complete = self.dictionary == "complete"
        offset = self._offset(rows.dtype)
        units = units_of(sample if offset is None else sample - offset) if complete else None
        B = self.encoder_.T if units is None else self.encoder_.T * units
        levels = zero_levels(sample, units, offset)
        if units is not None or offset is not None:
            rows = MappedRows(rows, None if units is None else 1 / units, offset)
        for level in levels:
            certificate = certify(rows, B, level, orthogonal=not complete)
            if certificate:
                break
        return certificate
