"""The estimator for streams: validates, hands the rows to the online learner, sets attributes."""

import copy
from numbers import Integral, Real
from os import PathLike
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from hrpursuit.blas import one_blas_thread
from hrpursuit.core.atom_order import ordering_sample
from hrpursuit.core.certificate import Certificate
from hrpursuit.core.code_density import CodeDensities, FixedSupport
from hrpursuit.core.protocols import Rows
from hrpursuit.estimators.archive import save_model
from hrpursuit.estimators.checks import check_enough_samples, check_independent, check_n_nonzero, check_scale
from hrpursuit.estimators.learning import draw_seeds
from hrpursuit.estimators.scoring import LikelihoodMixin
from hrpursuit.estimators.sources import features_of, look_over, matching_rows, training_rows, validated
from hrpursuit.rows import ArrayRows, is_outside_memory
from hrpursuit.schemes.online.learner import OnlineState, new_state, take
from hrpursuit.schemes.online.stream import OnlineSettings
from hrpursuit.schemes.verdict import Judgement, Verdict
from hrpursuit.validation import Interval, StrOptions, fit_context

_WINDOW_PER_FEATURE, _SHORTEST_WINDOW = 20, 400
_WINDOWS_REMEMBERED = 5


class MiniBatchHRP(LikelihoodMixin):
    """Sparse coding with a square dictionary that is learned from a stream of samples, and follows it.

    Finds unit atoms, one per row of `components_`, such that the codes of the samples are as sparse as possible: X =
    codes @ components_ + intercept_. Samples come in batches of any size to `partial_fit`; when the dictionary changes,
    slowly or suddenly, the estimate follows. The result does not depend on how the stream is cut into batches: samples
    are collected, and the estimate is updated in steps, when `n_features`, then 2, 4 and 8 times as many samples have
    come, and then every `max(10 * n_features, 200)` samples.

    Parameters
    ----------
    n_nonzero_coefs : int or None, default=None
        Number of nonzero codes per sample (T0). None keeps all codes. With a number, `transform` keeps this many of the
        largest codes, and the dictionary is fitted to such codes.
    dictionary : {"orthogonal", "complete"}, default="orthogonal"
        Whether the atoms are orthonormal, or any linearly independent unit vectors.
    forgetting : float or None, default=None
        Factor in (0, 1] by which the weight of a sample in the running sums shrinks with each sample that follows it; 1
        never forgets. None means `1 - 1 / (5 * window)`: about five windows are remembered. A larger factor lowers the
        influence of noise, but the estimate lags further behind a dictionary that drifts.
    window : int or None, default=None
        Number of most recent samples that are kept for the search and the polish, at least `n_features`. None means
        `max(20 * n_features, 400)`.
    fit_intercept : bool, default=False
        Whether to learn an offset of the samples, `intercept_`. If the samples are exactly sparse, the offset is exact:
        it is found from differences of samples, which do not contain it. Otherwise it is the mean of the samples that
        are remembered. A sudden change of the offset counts as a change of the dictionary.
    random_state : int, RandomState instance or None, default=None
        Determines the start and the batches of the search. It is used once, at the first samples.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        The atoms, one per row, of unit norm, once `n_features` samples have been seen. The first time a search ends
        they are ordered as those of :class:`HRP`, on the window. From then on they keep their places and signs. If a
        new dictionary is found, each new atom takes the place of an old one, if possible the most similar one.
    encoder_ : array of shape (n_features, n_features)
        Codes before any threshold are `(X - intercept_) @ encoder_`.
    intercept_ : array of shape (n_features,)
        Offset of the samples; zeros unless `fit_intercept=True`.
    n_samples_seen_ : int
        Number of samples given so far.
    n_steps_ : int
        Number of updates of the estimate. The samples since the last update wait for the next.
    n_changes_ : int
        Number of times that dictionary and offset no longer fitted the samples, so that new ones were searched for.
    drift_ : float
        How much less sparse the codes of the latest samples are than they were: with the mean over samples of
        `norm(codes, 1) / norm(codes, 2)`, the relative excess of the latest steps over the steps since the dictionary
        was last learned, smoothed so that each step of `max(10 * n_features, 200)` samples counts for a half. Codes are
        those of the dictionary before the step. `drift_` is about 0 while the dictionary fits or is followed, positive
        when it stops fitting, and is set to 0 when a new dictionary is found. (If all atoms change, and a fifth of the
        codes is nonzero and Gaussian, it tends to 1 / sqrt(0.2) - 1, about 1.2.) More nonzero codes in the same
        dictionary raise it too. It does not depend on the scale of the samples.
    certificate_ : Certificate
        `bool(certificate_)` is True if the dictionary was certified sparse on the samples that were in the window when
        it was found, and False as soon as it no longer fits.
    verdict_ : Verdict
        What kind of data the stream is, in words, judged by the samples in the window. `verdict_.kind` is one of those
        of :class:`HRP`; it is "undetermined" while there are too few samples, and after a change until a new dictionary
        is found. The verdict is computed when it is asked for.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features; defined only if X has names that are all strings.

    See Also
    --------
    HRP : Learns from samples that are available at once.

    Notes
    -----
    If features are linearly dependent, a complete dictionary does not exist. `fit` then raises an error. `partial_fit`,
    which cannot know the samples to come, regularises until the samples span the space.

    If `partial_fit` ends with an exception, including an interruption (Ctrl-C), the model is as it was before the
    batch, so that the batch can be given again. If an interruption comes at the very end, the model may already have
    taken the batch; `n_samples_seen_` tells.

    `score` and `score_samples` are those of :class:`HRP`, with densities fitted to the codes of the samples in the
    window.

    Examples
    --------
    >>> from hrpursuit import MiniBatchHRP
    >>> from hrpursuit.datasets import make_sparse_coded
    >>> from hrpursuit.metrics import dictionary_error
    >>> X, codes, components = make_sparse_coded(1000, 20, sparsity=0.2, random_state=0)
    >>> online = MiniBatchHRP(random_state=0)
    >>> for batch in X.reshape(10, 100, 20):
    ...     online = online.partial_fit(batch)
    >>> online.n_samples_seen_, bool(online.certificate_)
    (1000, True)
    >>> dictionary_error(online.components_, components) < 1e-12
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's own declaration
        "n_nonzero_coefs": [Interval(Integral, 1, None, closed="left"), None],
        "dictionary": [StrOptions({"orthogonal", "complete"})],
        "forgetting": [Interval(Real, 0, 1, closed="right"), None],
        "window": [Interval(Integral, 1, None, closed="left"), None],
        "fit_intercept": ["boolean"],
        "random_state": ["random_state"],
    }
    _saved: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(
            ("components_", "encoder_"), Annotated[NDArray[np.floating], "n_features_in_", "n_features_in_"] | None
        ),
        "intercept_": Annotated[NDArray[np.floating], "n_features_in_"] | None,
        "_state": OnlineState,
        "_dtype": np.dtype,
    }
    _state: OnlineState
    _dtype: np.dtype
    n_samples_seen_: int
    n_steps_: int
    n_changes_: int
    drift_: float
    certificate_: Certificate

    def __init__(
        self,
        *,
        n_nonzero_coefs: int | None = None,
        dictionary: Literal["orthogonal", "complete"] = "orthogonal",
        forgetting: float | None = None,
        window: int | None = None,
        fit_intercept: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.dictionary = dictionary
        self.forgetting = forgetting
        self.window = window
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Forget everything, then learn the dictionary from the samples X as a stream.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or anything that :func:`~hrpursuit.rows.open_rows` takes
            Samples, one per row, at least as many as features. float32 and float64 are kept, other numbers become
            float64.
        y : None
            Ignored.

        Returns
        -------
        self : MiniBatchHRP
        """
        rows = training_rows(copy.copy(self), X)  # validation sets attributes
        look_over(rows, bounded=True)
        check_enough_samples(rows.n_samples or 0, rows.n_features, type(self).__name__)
        sample = ordering_sample(rows)
        check_scale(sample)
        if self.dictionary == "complete":
            check_independent(rows, sample, offset=self.fit_intercept)
        return self._take(self._new_state(rows.n_features), rows, first=True)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: None = None) -> Self:
        """Continue learning with the samples X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or anything that :func:`~hrpursuit.rows.open_rows` takes
            The next samples of the stream, one per row; one is enough.
        y : None
            Ignored.

        Returns
        -------
        self : MiniBatchHRP
            The updated estimator. `transform` raises NotFittedError until n_features samples have been seen.
        """
        first = not hasattr(self, "_state")
        if is_outside_memory(X):
            rows = training_rows(self, X) if first else matching_rows(self, X)
            look_over(rows, bounded=True)
            check_scale(ordering_sample(rows), smallest=False)
        else:
            model = copy.copy(self) if first else self  # scikit-learn sets attributes while it validates
            X = validated(model, X, reset=first)
            rows = ArrayRows(X, feature_names=getattr(model, "feature_names_in_", None))
            look_over(rows, bounded=True)
        return self._take(self._new_state(rows.n_features) if first else self._state, rows, first=first)

    def _take(self, state: OnlineState, rows: Rows, *, first: bool) -> Self:
        """Go on from a state with these rows, and show what it has learned.

        Attributes change all at once and at the very end: an error or an interruption leaves the model as it was.
        """
        shown = dict(vars(self))
        if first:
            shown.pop("feature_names_in_", None)
            shown |= {"_dtype": rows.dtype} | features_of(rows)
        for block in rows.blocks():
            with one_blas_thread():
                state = take(state, block)
        moved = first or state.n_steps != self.n_steps_
        self.__dict__ = shown | self._attributes(state, shown["_dtype"] if moved else None)
        return self

    def _new_state(self, n: int) -> OnlineState:
        """A learner that has seen nothing of its n features."""
        check_n_nonzero(self.n_nonzero_coefs, n)
        window = max(_WINDOW_PER_FEATURE * n, _SHORTEST_WINDOW) if self.window is None else int(self.window)
        if window < n:
            raise ValueError(f"window must be at least {n}, the number of features; got {window}.")
        forgetting = 1 - 1 / (_WINDOWS_REMEMBERED * window) if self.forgetting is None else float(self.forgetting)
        settings = OnlineSettings(
            n_features=n,
            complete=self.dictionary == "complete",
            offset=self.fit_intercept,
            n_nonzero=None if self.n_nonzero_coefs is None else int(self.n_nonzero_coefs),
            forgetting=forgetting,
            window=window,
            seed=draw_seeds(self.random_state, 1)[0],
        )
        return new_state(settings)

    @staticmethod
    def _attributes(state: OnlineState, dtype: np.dtype | None) -> dict[str, Any]:
        """What the model shows of a state; the dictionary only where a type is given for it."""
        shown: dict[str, Any] = {
            "_state": state,
            "n_samples_seen_": state.n_seen,
            "n_steps_": state.n_steps,
            "n_changes_": state.n_changes,
            "drift_": state.drift,
            "certificate_": state.certificate,
        }
        if dtype is not None and state.n_steps > 0:
            with one_blas_thread():
                components, encoder = state.dictionary()
            arrays = {"components_": components, "encoder_": encoder, "intercept_": state.intercept}
            shown |= {name: array.astype(dtype) for name, array in arrays.items()}
        return shown

    def _judge(self) -> Judgement:
        """By what the state knows; computed when it is asked for, once for each state."""
        check_is_fitted(self, "n_samples_seen_")
        state, known = self._state, vars(self).get("_judged")
        if known is None or known[0] is not state:
            with one_blas_thread():
                known = self._judged = state, state.mode.judge(state)
        return known[1]

    @property
    def verdict_(self) -> Verdict:
        """What kind of data the stream is, in words."""
        return self._judge().verdict

    def _density_of_codes(self) -> CodeDensities | FixedSupport:
        if self.n_nonzero_coefs is None:
            return self._judge().density
        return self._support_density(self._state.recent() - self._state.intercept)

    def _check_has_dictionary(self) -> None:
        seen, n = getattr(self, "n_samples_seen_", None), getattr(self, "n_features_in_", 0)
        if seen is not None and seen < n:
            raise NotFittedError(
                f"{type(self).__name__} has seen {seen} samples of {n} features, and has a dictionary once it has seen "
                f"{n}; call partial_fit with more."
            )
        super()._check_has_dictionary()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model, with all that it needs to continue, to a file of arrays and text, without pickle.

        This works even before there are `components_`. A `random_state` that is not a number is not saved, but the seed
        drawn from it is.

        Parameters
        ----------
        path : path-like
            Name of the file; `.npz` is not appended. The file appears when it is complete.
        """
        check_is_fitted(self, "n_samples_seen_")
        self._state = self._state.joined()
        save_model(self, path)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if self.n_features_in_ != self._state.settings.n_features:
            raise ValueError("the state is of another number of features.")
        if any(hasattr(self, name) != (self._state.n_steps > 0) for name in ("components_", "encoder_", "intercept_")):
            raise ValueError("there is a dictionary from the first step on.")
        self.__dict__.update(self._attributes(self._state, self._dtype))  # those of the file follow from the state
