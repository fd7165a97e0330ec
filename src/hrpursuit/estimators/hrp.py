"""The estimator for data that is available at once: validates, delegates to a scheme, sets attributes."""

import dataclasses
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from hrpursuit.core.atom_order import canonical_order, ordering_sample
from hrpursuit.core.certificate import Certificate
from hrpursuit.core.code_density import CodeDensities, FixedSupport
from hrpursuit.core.gpm import STAGE_ONE
from hrpursuit.core.masked import fill_with_row_means, gap_codes_block, observed_means
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.protocols import Array, Callback, Rows
from hrpursuit.core.search import SEARCH
from hrpursuit.estimators.base import Coder
from hrpursuit.estimators.checks import (
    MisspecifiedWarning,
    check_dict_init,
    check_enough_samples,
    check_independent,
    check_n_nonzero,
    check_observed,
    check_scale,
)
from hrpursuit.estimators.learning import Task, learn
from hrpursuit.estimators.scoring import LikelihoodMixin
from hrpursuit.estimators.sources import look_over, remember_features, shown, training_rows
from hrpursuit.rows import ArrayRows, MappedRows
from hrpursuit.schemes.stages import Stage
from hrpursuit.schemes.verdict import Verdict, judge
from hrpursuit.validation import Interval, StrOptions, fit_context


class HRP(LikelihoodMixin):
    """Sparse coding with a square dictionary by Hierarchical Riemannian Pursuit.

    Learns as many atoms as there are features, such that the codes of the samples are as sparse as possible:
    X = codes @ components_ + intercept_. All parameters are keyword-only.

    Parameters
    ----------
    n_nonzero_coefs : int or None, default=None
        Number of nonzero codes per sample (T0). None keeps all codes. With a number, `scheme="exact"` fits the
        dictionary to this many codes per sample, and `transform` keeps this many: the largest ones if the dictionary is
        orthogonal and the sample has no gaps, otherwise the best ones found by least squares and exchange of atoms. If
        X has gaps, both use the observed entries only.
    scheme : {"exact", "paper"}, default="exact"
        "exact": stochastic subgradient search on a working sample (10 to 20 samples per feature, drawn at random),
        exact polish and certificate. Noisy and dense data is then fitted by maximum likelihood over all samples, data
        with dependent codes (images) by minimisation of the l1 norm; `stages_` says which. "paper": Algorithm 1 of Xue,
        Lau and Cai (2021) step for step, that is Stage One, then Stage Two with step sizes 0.1 * 0.8^t in the unit of
        the data.
    dictionary : {"orthogonal", "complete"}, default="orthogonal"
        Whether the atoms are orthonormal, or any linearly independent unit vectors. With `n_nonzero_coefs` and
        `scheme="exact"`, "complete" means free atoms: neither they nor the features of X need to be linearly
        independent, and the reconstruction error is lower.
    fit_intercept : bool, default=False
        Whether to learn an offset of the samples, `intercept_`. If the samples are exactly sparse, the offset is exact:
        it is found from differences of samples, which do not contain it, but whose codes are about twice as dense.
        Otherwise it is the mean of the samples, with gaps the mean of the observed entries, which includes the mean of
        the codes if they have one. Huge codes count less in it, and if the middle of most codes (Huber's M-estimate)
        makes them clearly likelier than their mean, it is taken instead.
    n_init : int, default=1
        Maximum number of runs of the whole fit, from different random starts. The first certified run ends the fit and
        is kept. If none is certified, the run with the highest likelihood is kept, or with the lowest l1 norm if no
        likelihood was maximised; with `n_nonzero_coefs` and `scheme="exact"` the one with the lowest reconstruction
        error.
    max_iter : int, default=50
        Maximum number of Stage One iterations with `scheme="paper"`; not used by `scheme="exact"`.
    tol : float, default=1e-4
        With `scheme="paper"`, Stage One stops when `norm(W_next - W) / n_features` is at most `tol`; not used by
        `scheme="exact"`.
    dict_init : array-like of shape (n_features, n_features) or None, default=None
        Dictionary to start the first run from, one atom per row, orthonormal unless `dictionary="complete"`. None, and
        all further runs, start at random.
    options : HRPOptions or None, default=None
        Expert settings of `scheme="exact"`.
    random_state : int, RandomState instance or None, default=None
        Determines the random starts, the order of the working sample and the batches of the search.
    n_jobs : int or None, default=None
        Number of threads. If the samples are in memory and there is no `callback`, this many of the `n_init` runs are
        made at the same time. Threads that are left over share the sweeps over pairs of atoms (used on data with
        dependent codes, from 150 features on). None means 1 unless in a `joblib.parallel_config` context, -1 means all
        cores. Worker processes always use one thread. The result does not depend on `n_jobs`.
    verbose : int, default=0
        1 prints a line for each stage and the verdict; runs that are made at the same time print their lines when they
        have ended. 2 also shows a progress bar for each pass over data that is not in memory.
    callback : callable or None, default=None
        Called with an :class:`~hrpursuit.Iterate` after each iteration of a stage, and several times during the search.
        Returning True ends the fit with the dictionary that it has reached.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        The atoms, one per row, of unit norm. They are sorted by the mean magnitude of their codes on 10 samples per
        feature (always the same samples of the same data), largest first, and the entry of largest magnitude of each
        atom is positive (the first such entry, if several agree to one part in a million). So two fits that find the
        same dictionary return the same array.
    encoder_ : array of shape (n_features, n_features)
        Codes before any threshold are `(X - intercept_) @ encoder_`. It is the transpose of an orthogonal dictionary,
        the inverse of a complete one, and the pseudo-inverse of one with free atoms.
    intercept_ : array of shape (n_features,)
        Offset of the samples; zeros unless `fit_intercept=True`.
    n_iter_ : int
        Number of steps of the search, with `scheme="paper"` of Stage One iterations.
    objective_ : float
        Mean l1 norm of the codes of a sample, before any threshold. The mean is over the working sample if the
        dictionary is certified, else over all samples, with gaps filled.
    certificate_ : Certificate
        Whether the dictionary is certified sparse on the working sample, `bool(certificate_)`, and why or why not,
        `print(certificate_)`. Never true with `scheme="paper"`, nor with `n_nonzero_coefs` if X has gaps; for free
        atoms only if their codes leave no error. `certify(X)` checks all samples.
    verdict_ : Verdict
        What the fit found, in words. `verdict_.kind` is "exact", "noisy" (then `verdict_.snr_db` is the signal-to-noise
        ratio), "compressible", "not sparse", "undetermined" or "misspecified"; `print(verdict_)` says what that means,
        how sure it is and what to try next. `verdict_.expected_error` estimates the error of the dictionary if the
        samples are noisy or compressible.
    stages_ : list of Stage
        Name, number of iterations, objective before and after, and duration in seconds of each stage.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features; defined only if X has names that are all strings.

    See Also
    --------
    MiniBatchHRP : Learns from a stream of samples.
    recover_atom : Recovers a single atom.
    sparse_code : Computes codes in a given dictionary.

    Notes
    -----
    **Missing values.** NaN is a missing value. At first each gap is filled with the mean of the observed entries of its
    row (with zero if there are none), as in the paper, and a dictionary is learned from the filled samples. Without
    `n_nonzero_coefs`, and with `scheme="paper"`, this is all that is done. With `n_nonzero_coefs` and `scheme="exact"`,
    codes and dictionary are then fitted in turn to the observed entries only: the codes of each row by least squares on
    atoms that are chosen greedily and exchanged as long as the error falls, the dictionary to the table in which the
    gaps hold the reconstruction. The error on the observed entries never rises. Since this keeps the codes of all rows,
    samples with gaps have to be in memory; `transform` codes row by row, and also reads them from files.

    `np.where(np.isnan(X), hrp.inverse_transform(hrp.transform(X)), X)` has the reconstruction in the gaps. It is no
    good method to fill gaps: codes that fit the observed entries of a sample say little about its missing ones, and
    low-rank methods have lower errors there. Without `n_nonzero_coefs` the reconstruction in a gap is just the mean of
    the row, although `reconstruction_error`, which sees the observed entries only, is zero.

    **Other libraries.** In the terms of FastICA, `components_` is `mixing_.T` and `encoder_` is `components_.T` (up to
    order, scale and signs): here the atoms are called components, as in DictionaryLearning. There are always as many
    atoms as features. Nothing is whitened or centred, unless `fit_intercept=True`.

    **Free atoms** (`dictionary="complete"` with `n_nonzero_coefs`) start from the orthogonal dictionary, from the
    complete dictionary of the span of the samples, or from `dict_init`, whichever has the lowest error. As in K-SVD,
    each atom and its codes are fitted by least squares to the observed entries of the samples that use it; then all
    samples are coded anew, and new codes are kept only if they are better, so that the error never rises. Up to 300
    samples per feature take part, and all samples if there are gaps. If there are more samples, least squares steps
    over all of them follow for the whole dictionary, as long as the error falls; these need only sums over blocks, so
    that samples without gaps may be outside memory. An atom that no sample uses is replaced by the residual of a
    badly represented sample, or by a unit vector if no residual is left. In features that were never observed (all NaN)
    the atoms are zero, apart from such unit vectors.

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
    >>> bool(hrp.certificate_)
    True
    >>> dictionary_error(hrp.components_, components) < 1e-12
    True
    """

    _takes_gaps = True
    _density: CodeDensities | FixedSupport
    _saved: ClassVar[dict[str, Any]] = {
        "intercept_": Annotated[NDArray[np.floating], "n_features_in_"],
        "n_iter_": int,
        "objective_": float,
        "certificate_": Certificate,
        "verdict_": Verdict,
        "_density": CodeDensities | FixedSupport,
        "stages_": list[Stage],
        "dict_init": Annotated[NDArray[np.float64], None, None] | None,
    }
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
        *,
        n_nonzero_coefs: int | None = None,
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

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Learn the dictionary of the samples X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or anything that :func:`~hrpursuit.rows.open_rows` takes
            Samples, one per row, at least as many as features. NaN is a missing value, allowed in memory only. float32
            and float64 are kept, other numbers become float64. Paths, memory maps, HDF5 and Zarr arrays are read in
            blocks and may be larger than memory; Dask collections are computed where they are.
        y : None
            Ignored.

        Returns
        -------
        self : HRP
            The fitted estimator.
        """
        rows = training_rows(self, X)
        with shown(rows, self.verbose):
            n_gaps = look_over(rows, bounded=True, gaps=True)
            X_gaps = rows.X if n_gaps and isinstance(rows, ArrayRows) else None
            means = None
            if X_gaps is not None:
                names = rows.feature_names
                check_observed(X_gaps, self.dictionary, names, free=self._has_free_atoms)
                if self.fit_intercept:  # before the gaps are filled, or it would be that of the fill as well
                    means = observed_means(X_gaps)
                    X_gaps = X_gaps - means
                rows = ArrayRows(fill_with_row_means(X_gaps), feature_names=names, is_checked=True)
            self._learn(rows, X_gaps, means)
        remember_features(self, rows)
        if self.verbose:
            print(f"[{type(self).__name__}] {self.verdict_}", flush=True)
        if self.verdict_.kind == "misspecified" and self.n_nonzero_coefs is None:
            message = f"{self.verdict_.finding}: {self.verdict_.advice}"
            warnings.warn(f"{type(self).__name__}: {message}.", MisspecifiedWarning, stacklevel=3)
        for stage in self.stages_:
            if stage.shortfall is not None:
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
            check_independent(rows, sample, offset=self.fit_intercept)
        task = Task(
            rows=rows,
            sample=sample,
            X_gaps=X_gaps,
            scheme=self.scheme,
            complete=complete,
            free=self._has_free_atoms,
            offset=self.fit_intercept and means is None,
            n_nonzero=None if self.scheme == "paper" else self.n_nonzero_coefs,
            max_iter=self.max_iter,
            tol=self.tol,
            dict_init=check_dict_init(
                self.dict_init,
                rows.n_features,
                orthogonal=not complete,
                invertible=not self._has_free_atoms,
            ),
            options=self.options or HRPOptions(),
        )
        learned, stages = learn(
            task,
            n_init=self.n_init,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            on_stage=self._announcer(),
            callback=self.callback,
        )
        offset = learned.intercept
        sample = sample if offset is None else sample - offset
        order, flip = canonical_order(sample, learned.components, learned.encoder)
        learned = dataclasses.replace(
            learned,
            components=learned.components[order] * flip[:, None],
            encoder=learned.encoder[:, order] * flip,
            certificate=learned.certificate.reordered(order),
        )
        centred = rows if offset is None else MappedRows(rows, None, offset)
        gaps = 0.0 if X_gaps is None else float(np.isnan(X_gaps).mean())
        if X_gaps is not None and task.n_nonzero is not None:  # the means of the rows were only a start
            centred = ArrayRows(self._filled(X_gaps, learned.components, learned.encoder), is_checked=True)
            sample = ordering_sample(centred)
        judged = judge(
            centred,
            sample,
            learned,
            complete=complete,
            paper=self.scheme == "paper",
            offset=self.fit_intercept,
            n_nonzero=self.n_nonzero_coefs,
            gaps=gaps,
        )
        intercept = np.zeros(rows.n_features) if offset is None else offset
        self.components_ = learned.components.astype(rows.dtype, copy=False)
        self.encoder_ = learned.encoder.astype(rows.dtype, copy=False)
        self.intercept_ = (intercept if means is None else means).astype(rows.dtype, copy=False)
        self.certificate_, self.verdict_ = learned.certificate, judged.verdict
        self._density = judged.density
        if self.n_nonzero_coefs is not None:
            taken = (centred if X_gaps is None else ArrayRows(X_gaps)).sample(len(sample), 0)
            self._density = self._support_density(np.asarray(taken, dtype=np.float64))
        self.objective_ = learned.objective
        self.stages_ = stages
        self.n_iter_ = sum(stage.n_iter for stage in stages if stage.name in (STAGE_ONE, SEARCH))

    def _coder(self, dtype: np.dtype) -> tuple[Coder, tuple[Any, ...]]:
        encoder = self.encoder_.astype(dtype, copy=False)
        refit = self.components_ if self.dictionary == "complete" else None
        return gap_codes_block, (encoder, self.components_, self.n_nonzero_coefs, None, refit)

    def _density_of_codes(self) -> CodeDensities | FixedSupport:
        return self._density

    def _filled(self, X: Array, components: Array, encoder: Array) -> Array:
        """The rows with their reconstruction in the gaps."""
        return np.where(np.isnan(X), self._codes(X, components, encoder) @ components, X)

    def _announcer(self) -> Callable[[object], None] | None:
        if not self.verbose:
            return None
        return lambda stage: print(f"[{type(self).__name__}] {stage}", flush=True)
