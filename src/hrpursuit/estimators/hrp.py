"""The estimator for data that is all there: validates, delegates to a scheme, sets attributes."""

import dataclasses
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from hrpursuit.core.atom_order import canonical_order, ordering_sample
from hrpursuit.core.evaluate import gram, mean
from hrpursuit.core.gpm import STAGE_ONE
from hrpursuit.core.masked import fill_with_row_means, gap_codes_block, has_gaps, observed_means
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.protocols import Array, Callback, Rows
from hrpursuit.core.search import SEARCH
from hrpursuit.estimators.archive import certificate_of, certificate_parts, plain_parameters
from hrpursuit.estimators.base import Coder, SquareDictionary
from hrpursuit.estimators.checks import (
    check_dict_init,
    check_enough_samples,
    check_full_rank,
    check_n_nonzero,
    check_observed,
    check_scale,
)
from hrpursuit.estimators.learning import learn
from hrpursuit.estimators.sources import look_over, remember_features, shown, training_rows
from hrpursuit.rows import ArrayRows, MappedRows
from hrpursuit.schemes.free import T0_FREE
from hrpursuit.schemes.gaps import T0_GAPS
from hrpursuit.schemes.stages import Stage

_ROUNDING = 1e-20  # share of its square that a constant feature leaves when its mean is taken off


def centred_codes_block(X: Array, intercept: Array, *args: Any) -> Array:
    """Codes of the rows less an offset."""
    return gap_codes_block(X - intercept, *args)


class HRP(SquareDictionary):
    """Sparse coding with a square dictionary by Hierarchical Riemannian Pursuit.

    Finds unit atoms, one a row of `components_`, such that the codes of the samples are as sparse as possible: X =
    codes @ components_.

    Parameters
    ----------
    n_nonzero_coefs : int or None, default=None
        Nonzero codes per sample (T0). None keeps all codes. With a number, `transform` keeps that many of the largest
        (of a complete dictionary, and of a sample with gaps, the best found by least squares and exchange of atoms),
        and `scheme="exact"` ends with an alternation that fits the dictionary to such codes; where X has gaps, both
        look at the observed entries alone.
    scheme : {"exact", "paper"}, default="exact"
        "exact": stochastic subgradient search on a working sample, exact polish and certificate. Noisy and dense data
        are finished by maximum likelihood over all samples, data with dependent codes (images) by the least l1 norm;
        `stages_` says which. "paper": Algorithm 1 of Xue, Lau and Cai (2021) step for step, Stage One then Stage Two
        with step sizes 0.1 * 0.8^t in the unit of the data.
    dictionary : {"orthogonal", "complete"}, default="orthogonal"
        Orthonormal atoms, or any linearly independent ones. With `n_nonzero_coefs` and `scheme="exact"` the atoms of
        "complete" are free: they need not be independent, nor the features of X, and the reconstruction error is lower.
    fit_intercept : bool, default=False
        Whether the samples have an unknown offset, which is learned as well: X = codes @ components_ + intercept_.
        Exactly sparse samples give it exactly, from differences of samples, which have none; the codes of these are
        about twice as dense. For other samples it is their mean, with gaps that of the observed entries.
    n_init : int, default=1
        Runs of the whole fit from different random starts. A certified one ends the runs. Else the one is kept that
        is likeliest, or where no likelihood was maximised has the lowest l1 norm; with `n_nonzero_coefs` and
        `scheme="exact"` the one with the lowest reconstruction error.
    max_iter : int, default=50
        Most iterations of Stage One with `scheme="paper"`.
    tol : float, default=1e-4
        With `scheme="paper"` Stage One stops when `norm(W_next - W) / n_features` is at most `tol`.
    dict_init : array-like of shape (n_features, n_features) or None, default=None
        Dictionary to start from, one atom a row; None draws one at random. Runs after the first start at random.
    options : HRPOptions or None, default=None
        Expert settings of the exact scheme.
    random_state : int, RandomState instance or None, default=None
        Draws the starts, the working sample and the batches of the search.
    n_jobs : int or None, default=None
        Threads of the sweeps over pairs of atoms, on data with dependent codes; used from 150 features on, and never
        inside a worker process. The result does not depend on it.
    verbose : int, default=0
        1 prints a line for each stage; 2 also shows a bar for each pass over data that is not in memory.
    callback : callable or None, default=None
        Called with a :class:`~hrpursuit.core.protocols.Iterate` at each iteration of a stage and at each look of the
        search. Returning True ends the fit with the dictionary that it has
        reached.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        The atoms, one a row, of unit norm. They are ordered by the mean magnitude of their codes on a sample of 10 rows
        a feature, which depends on the number of samples alone, largest first; and the largest entry of each is
        positive (of entries equal to one part in a million the first). So two fits which find the same dictionary
        return it alike.
    encoder_ : array of shape (n_features, n_features)
        The codes are `(X - intercept_) @ encoder_` before any threshold: the transpose of an orthogonal dictionary, the
        inverse of a complete one, the pseudo-inverse of one with free atoms.
    intercept_ : array of shape (n_features,)
        Offset of the samples; zeros unless `fit_intercept`.
    n_iter_ : int
        Stage One iterations plus steps of the search.
    objective_ : float
        l1 norm of the codes per sample, before any threshold: of the working sample if certified, else of all samples,
        gaps filled.
    certified_ : Certificate
        True in a condition when the dictionary is certified sparse on the working sample: every code column has
        n_features exact zeros, and no pair of atoms looks mixed. What counts as zero follows the rounding of the data.
        Always false for `scheme="paper"`, and with `n_nonzero_coefs` on data with gaps; with free atoms true only where
        the codes of exactly sparse data leave no error.
    stages_ : list of Stage
        Name, iterations, objective before and after, and seconds of each stage.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Defined when X has feature names that are all strings.

    See Also
    --------
    recover_atom : One atom instead of a dictionary.
    sparse_code : Codes for a given dictionary.

    Notes
    -----
    NaN is a missing value. To begin with, each gap is filled with the mean of the observed entries of its row, as in
    the paper, zero if there are none, and the dictionary is learned as ever. With `n_nonzero_coefs` and
    `scheme="exact"` follows an alternation over all rows that leaves the gaps out: the codes of a row are fitted to its
    observed entries by least squares, on atoms that are taken greedily and exchanged while the error falls, and the
    dictionary is fitted to the table with the reconstruction in its gaps. The error on the observed entries never
    rises. It keeps the codes of each row, so that learning from gaps needs data in memory; `transform` codes row by
    row, wherever the rows are. Without `n_nonzero_coefs`, and for the dictionary of `scheme="paper"`, the fill with row
    means is all that is done. What a reconstruction says in a gap is no good estimate of what is missing there.

    Free atoms (`dictionary="complete"` with `n_nonzero_coefs`) start from the orthogonal dictionary, from the complete
    one of the span of the samples, or from `dict_init`, whichever has the lowest error. In turn, each
    atom is fitted by least squares, together with its codes, to the observed entries of the samples that use it, as in
    K-SVD, and the samples are coded anew, a new code being kept only if it is better; the error never rises. Up to 300
    samples per feature take part, with gaps all of them. Where there are more, least squares steps for the whole
    dictionary follow, over all samples, while these lower the error: they need only sums over blocks, so that data
    without gaps may be outside memory. An atom that no sample uses is replaced by the residual of a sample that is
    represented badly; where no residual is left it is any unit vector. In a feature that was never observed (all NaN)
    all atoms are zero, but for such a unit vector.

    References
    ----------
    Y. Xue, V. K. N. Lau and S. Cai, "Efficient Sparse Coding Using Hierarchical Riemannian Pursuit", IEEE Transactions
    on Signal Processing, 2021.

    Examples
    --------
    >>> from hrpursuit import HRP
    >>> from hrpursuit.datasets import make_sparse_coded
    >>> from hrpursuit.metrics import dictionary_error
    >>> X, codes, components = make_sparse_coded(200, 20, sparsity=0.3, random_state=0)
    >>> hrp = HRP(random_state=0).fit(X)
    >>> bool(hrp.certified_)
    True
    >>> dictionary_error(hrp.components_, components) < 1e-12
    True
    """

    _takes_gaps = True
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's own declaration
        "n_nonzero_coefs": [Interval(Integral, 1, None, closed="left"), None],
        "scheme": [StrOptions({"exact", "paper"})],
        "dictionary": [StrOptions({"orthogonal", "complete"})],
        "fit_intercept": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "dict_init": ["array-like", None],
        "options": [HRPOptions, None],
        "random_state": ["random_state"],
        "n_jobs": [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        n_nonzero_coefs: int | None = None,
        *,
        scheme: Literal["exact", "paper"] = "exact",
        dictionary: Literal["orthogonal", "complete"] = "orthogonal",
        fit_intercept: bool = False,
        n_init: int = 1,
        max_iter: int = 50,
        tol: float = 1e-4,
        dict_init: ArrayLike | None = None,
        options: HRPOptions | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.scheme = scheme
        self.dictionary = dictionary
        self.fit_intercept = fit_intercept
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.dict_init = dict_init
        self.options = options
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Learn the dictionary of the samples X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or anything that :func:`~hrpursuit.rows.open_rows` takes
            Samples, one a row, at least as many as features; NaN is a gap, in memory only. float32 and float64 are
            kept, other numbers become float64. Paths, memory maps, HDF5 and Zarr arrays are read in blocks and may be
            larger than memory; Dask collections are computed where they are.
        y : None
            Ignored.

        Returns
        -------
        self : HRP
        """
        rows = training_rows(self, X)
        with shown(rows, self.verbose):
            look_over(rows, bounded=True, gaps=True)
            X_gaps = rows.X if isinstance(rows, ArrayRows) and not rows.is_finite and has_gaps(rows.X) else None
            means = None
            if X_gaps is not None:
                names = getattr(rows, "feature_names", None)
                check_observed(X_gaps, self.dictionary, names, free=self._has_free_atoms)
                if self.fit_intercept:  # before the gaps are filled, or it would be that of the fill as well
                    means = observed_means(X_gaps)
                    X_gaps = X_gaps - means
                rows = ArrayRows(fill_with_row_means(X_gaps), feature_names=names, is_checked=True)
            self._learn(rows, X_gaps, means)
        remember_features(self, rows)
        if self._advice is not None:
            warnings.warn(f"{type(self).__name__}: {self._advice}.", ConvergenceWarning, stacklevel=3)
            return self
        is_start = any(stage.name in (T0_GAPS, T0_FREE) for stage in self.stages_)  # what came before is only that
        for stage in self.stages_:
            if stage.shortfall is not None and not is_start:
                warnings.warn(
                    f"{type(self).__name__} did not reach {stage.shortfall}.", ConvergenceWarning, stacklevel=3
                )
        return self

    @property
    def _has_free_atoms(self) -> bool:
        """Whether atoms are fitted to codes with a fixed number of nonzeros without any constraint."""
        return self.dictionary == "complete" and self.n_nonzero_coefs is not None and self.scheme == "exact"

    def _learn(self, rows: Rows, X_gaps: Array | None, means: Array | None) -> None:
        """Learn from rows; where these had gaps, `means` is the offset that was taken off already."""
        n_samples = rows.n_samples or 0
        check_enough_samples(n_samples, rows.n_features, type(self).__name__)
        sample = ordering_sample(rows)
        check_scale(sample)
        check_n_nonzero(self.n_nonzero_coefs, rows.n_features)
        complete = self.dictionary == "complete"
        if complete and not self._has_free_atoms:
            G = gram(rows)
            if self.fit_intercept:
                centred = gram(MappedRows(rows, None, mean(rows)))
                varies = np.diag(centred) > _ROUNDING * np.diag(G)
                G = centred * np.outer(varies, varies)
            dead = "constant" if self.fit_intercept else "always zero"
            check_full_rank(G, sample, getattr(rows, "feature_names", None), dead)
        learned, stages = learn(
            rows,
            scheme=self.scheme,
            complete=complete,
            free=self._has_free_atoms,
            offset=self.fit_intercept and means is None,
            n_nonzero=None if self.scheme == "paper" else self.n_nonzero_coefs,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            dict_init=check_dict_init(
                self.dict_init,
                rows.n_features,
                orthogonal=not complete,
                invertible=not self._has_free_atoms,
            ),
            options=self.options or HRPOptions(),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            on_stage=self._announcer(),
            callback=self.callback,
            sample=sample,
            X_gaps=X_gaps,
        )
        if learned.intercept is not None:
            sample = sample - learned.intercept
        intercept = np.zeros(rows.n_features) if learned.intercept is None else learned.intercept
        order, flip = canonical_order(sample, learned.components, learned.encoder)
        self.components_ = (learned.components[order] * flip[:, None]).astype(rows.dtype, copy=False)
        self.encoder_ = (learned.encoder[:, order] * flip).astype(rows.dtype, copy=False)
        self.intercept_ = (intercept if means is None else means).astype(rows.dtype, copy=False)
        self.certified_ = learned.certificate.reordered(order)
        self._advice = learned.advice
        self.objective_ = learned.objective
        self.stages_ = stages
        self.n_iter_ = sum(stage.n_iter for stage in stages if stage.name in (STAGE_ONE, SEARCH))

    def _coder(self, dtype: np.dtype) -> tuple[Coder, tuple[Any, ...]]:
        encoder = self.encoder_.astype(dtype, copy=False)
        refit = self.components_ if self.dictionary == "complete" else None
        args = (encoder, self.components_, self.n_nonzero_coefs, None, refit)
        if not self.intercept_.any():
            return gap_codes_block, args
        return centred_codes_block, (self.intercept_.astype(dtype, copy=False), *args)

    def _announcer(self) -> Callable[[object], None] | None:
        if not self.verbose:
            return None
        return lambda stage: print(f"[{type(self).__name__}] {stage}", flush=True)

    def _to_archive(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        certificate, arrays = certificate_parts(self.certified_)
        header = {
            "parameters": plain_parameters(self),
            "n_iter_": self.n_iter_,
            "objective_": self.objective_,
            "certified_": certificate,
            "stages_": [dataclasses.asdict(stage) for stage in self.stages_],
        }
        arrays["intercept_"] = self.intercept_
        if self.dict_init is not None:
            arrays["dict_init"] = np.asarray(self.dict_init, dtype=np.float64)
        return header, arrays

    @classmethod
    def _from_archive(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        model = cls(**header["parameters"], dict_init=arrays.get("dict_init"))
        model.intercept_ = np.asarray(arrays["intercept_"])
        model.n_iter_, model.objective_ = header["n_iter_"], header["objective_"]
        model.certified_ = certificate_of(header["certified_"], arrays)
        model.stages_ = [Stage(**stage) for stage in header["stages_"]]
        return model
