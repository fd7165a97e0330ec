"""A problem on a working sample: the rows that a search works on, and the way from their coordinates back to those of
the data.

Rows are evidence for the directions in which they are sparse, each as much as any other: they are taken once however
often they occur, and divided by their norm, so that neither copies nor outliers decide. An unknown offset is taken off
by differences of rows, which are sparse in the same dictionary. Rows that lack rank are searched in their span. For a
complete dictionary the features are scaled to one unit and the rows whitened, so that an orthogonal dictionary is
nearly right, and polished without orthogonality.
"""

from dataclasses import replace

import numpy as np

from hrpursuit.core.certificate import Certificate, certify_codes, has_exact_atom, unchecked
from hrpursuit.core.certificate_kernels import count_zeros
from hrpursuit.core.manifolds import normalize_rows, polar
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.core.rounding import zero_levels
from hrpursuit.core.settle import mode, settle_complete, settle_orthogonal
from hrpursuit.rows import MappedRows
from hrpursuit.schemes.evidence import distinct, distinct_live, sample_evidence
from hrpursuit.schemes.offset import frequent_row
from hrpursuit.schemes.span import IsAlong, missing_directions, spanning, units_of, whitening_of

_FEWEST_ROWS = 200  # of a working sample, however few the features
_ROWS_TO_WHITEN = 30  # per feature: the more, the nearer to orthogonal is the dictionary of the whitened rows
_MOST_ENTRIES = 20_000_000  # of the rows to whiten by
_ROWS_TO_POLISH = 5, 600  # per feature, and at least; from 64 features on, where the polish takes the time
_MORE_CONDITION = 1e3  # times that of the whitening: the worst condition of an encoding matrix that is gone on with
_FEWEST_TO_CERTIFY, _LEAST_ROWS = 25, 3  # rows, and per feature: with fewer the true dictionary is not the sparsest
#: Share of distinct rows from which on copies stay: with an offset, rows whose codes are all zero are equal to each
#: other, so that a few copies are no reason to drop rows.
_MOSTLY_DISTINCT = 0.8
_VANISHING = 1e-100  # magnitude of a row, relative to the largest one, that is as good as zero
_OUTSIDE = 1e-8  # norm of what an atom has in the span of the data, below which it has nothing
_COARSE = 0.1  # rows whose zero level exceeds this share of their rms say nothing


class WorkingSample:
    """Rows to search, and what is known of them.

    Parameters
    ----------
    rows : Rows
    seed : int
        Orders the rows.
    complete : bool, default=False
        Whether atoms may be other than orthogonal.
    offset : bool, default=False
        Whether the rows have an unknown offset, which differences take off.
    first : array or None, default=None
        What `ordering_sample` gave, to save the draw.

    Attributes
    ----------
    X : array of shape (m, rank)
        Rows in the coordinates of the search, of unit mean square each, in random order.
    rank : int
        Dimension of the span of the data: features, unless some are dead or linearly dependent (orthogonal only).
    frequent : array of shape (n_features,) or None
        With an offset: a row that occurs often, which may be the offset.
    """

    def __init__(
        self, rows: Rows, seed: int, *, complete: bool = False, offset: bool = False, first: Array | None = None
    ) -> None:
        self._rows, self._seed, self._first = rows, seed, first
        self.complete, self.offset = complete, offset
        self._n_asked = 0
        self.rank = rows.n_features
        self.X: Array = np.empty((0, self.rank))
        self._pool: Array = self.X
        self.units: Array = np.ones(self.rank)
        self.span: Array | None = None
        self._stretch = 1.0  # of the zero level of a unit vector, by the coordinates of the search
        self.missing: Array = np.empty((self.rank, 0))
        self.frequent: Array | None = None

    # --- rows ---------------------------------------------------------------------------------------------------------

    def draw(self, rows_per_feature: int) -> bool:
        """Make the sample this large, if there are so many rows; whether it has grown."""
        n = self._rows.n_features
        n_rows = max(rows_per_feature * n, _FEWEST_ROWS)
        if n_rows <= self._n_asked:
            return False
        self._n_asked = n_rows
        if not self.complete or len(self._pool) == 0:
            self._fill_pool(max(n_rows, min(_ROWS_TO_WHITEN * n, _MOST_ENTRIES // n)) if self.complete else n_rows)
            if self.complete and 0 < n_rows < len(self._pool):
                self._pool = _spanning_first(self._pool, n_rows, self._levels[0].floor)
        return self._take(min(n_rows, len(self._pool)))

    def _fill_pool(self, n_rows: int) -> None:
        """Draw rows, and find their units, zero levels, span and whitening."""
        rng = np.random.default_rng([self._seed, 3])
        n_first = 0 if self._first is None else len(self._first)
        first = self._first if n_first in (n_rows, self._rows.n_samples) else None
        if self.offset:
            raw = self._rows.sample(n_rows, 0)
            once = distinct(raw)
            self.frequent = frequent_row(raw) if len(once) < len(raw) else None
            self.raw = raw if len(once) >= _MOSTLY_DISTINCT * len(raw) else raw[once]
            if self.complete:
                self.units = units_of(self.raw - self.raw.mean(axis=0))
            centre = np.median(np.asarray(self.raw, dtype=np.float64), axis=0)
            self._levels = zero_levels(self.raw, self.units if self.complete else None, centre)
            order = rng.permutation(len(self.raw))
            X = np.asarray(self.raw, dtype=np.float64)[order]
            X = X - np.roll(X, 1, axis=0)
            X = X[distinct_live(X)]
        else:
            X = self.raw = sample_evidence(self._rows, n_rows, first)
            self.units = units_of(X) if self.complete else self.units
            self._levels = zero_levels(X, self.units if self.complete else None)
            X = np.asarray(X, dtype=np.float64)[rng.permutation(len(X))]
        if len(X) == 0:
            return
        if self.complete:
            scaled = MappedRows(self._rows, 1 / self.units)
            self._pool = _not_vanishing(spanning(scaled, X / self.units, self._levels[0].floor, fixed=self.offset)[0])
            self._P = whitening_of(self._pool)
            self._stretch = float(np.linalg.norm(self._P, 2))
            self._worst_condition = _MORE_CONDITION * float(np.linalg.cond(self._P))
        else:
            if len(self.X) == 0:  # a larger sample is searched in the same coordinates
                X, self.missing = spanning(self._rows, X, self._levels[0].floor, fixed=self.offset)
                self.span = missing_directions(self.missing.T) if self.missing.shape[1] else None
            self._pool = _not_vanishing(X if self.span is None else X @ self.span)
        self.rank = self._pool.shape[1]

    def _take(self, n_rows: int) -> bool:
        n_before = len(self.X)
        if n_rows <= n_before:
            return False
        self._plain = self._pool[:n_rows] if self.complete else self._pool
        self.levels = [level.of_rows(self._plain) for level in self._levels]
        self._normalize()
        keep = np.flatnonzero(self.levels[0] < _COARSE)
        if len(keep) < len(self.X):
            self.X, self._plain, self.levels = self.X[keep], self._plain[keep], [level[keep] for level in self.levels]
        return len(self.X) > n_before

    def _normalize(self) -> None:
        """Rows of unit mean square in the coordinates of the search; those of the polish divided alike."""
        X = self._plain @ self._P if self.complete else self._plain
        squares = np.einsum("ij,ij->i", X, X) / self.rank
        scales = 1 / np.sqrt(np.maximum(squares, np.finfo(float).tiny))
        self.X = X * scales[:, None]
        self._plain = self._plain * scales[:, None] if self.complete else self.X
        self.levels = [level * scales for level in self.levels]

    @property
    def can_be_certified(self) -> bool:
        """Whether there are so many rows that a long search may end with a certificate."""
        return len(self.X) >= max(_FEWEST_TO_CERTIFY, _LEAST_ROWS * self.rank)

    # --- settling, as the search asks for it --------------------------------------------------------------------------

    def settle(self, W: Array) -> tuple[Array, Certificate]:
        """Polished rows B of an encoding matrix (codes X B^T; orthogonal, or each up to scale), and the certificate of
        B on the sample.
        """
        n_few, n = max(_ROWS_TO_POLISH[0] * self.rank, _ROWS_TO_POLISH[1]), len(self.X)
        return self.settle_encoding(self.encoding(W), None if self.rank <= 64 or n <= n_few else n_few)

    def settle_encoding(self, start: Array, n_rows: int | None = None) -> tuple[Array, Certificate]:
        """The same from rows of an encoding matrix, polished on the first `n_rows` rows, or on all."""
        few = slice(n_rows)
        for known, level in zip(self._levels, self.levels, strict=True):
            if self.complete:
                B, certificate = settle_complete(self._plain[few], start, level[few])
                if not self.is_sound(B) or (certificate.has_zeros and certificate.n_features < self.rank):
                    return start, unchecked(self.rank)  # two atoms have become one, or one has become nothing
            else:
                B, certificate = settle_orthogonal(self._plain[few], start, level[few])
            if certificate.has_zeros and few.stop is not None:
                certificate = self._check(B, level)  # of all rows of the sample
            certificate = replace(certificate, zero_level=known.floor)
            if certificate.has_zeros:
                break
        return B, certificate

    def is_sound(self, B: Array) -> bool:
        """Whether an encoding matrix is finite and not nearly singular, for data of this condition."""
        if not np.isfinite(B).all():
            return False
        return not self.complete or bool(np.linalg.cond(normalize_rows(B)) < self._worst_condition)

    def adopt(self, components: Array) -> bool:
        """Whitening is never exact, which matters where rows are few: go over to coordinates in which an encoding
        matrix with some exact rows is the identity.
        """
        if not self.complete:
            return False
        S = self._plain @ components.T
        zeros = count_zeros(S, self.levels[-1], np.linalg.norm(components, axis=1))[1]
        rms = np.sqrt(np.mean(S * S, axis=0))
        if not ((zeros >= self.rank).any() and rms.min() > 0 and np.isfinite(rms).all()):
            return False
        scaled = components / rms[:, None]
        if not np.linalg.cond(scaled) < self._worst_condition:
            return False
        self._P, self._stretch = scaled.T, float(np.linalg.norm(scaled, 2))
        self._normalize()
        return True

    def has_exact_atom(self, w: Array) -> bool:
        return any(has_exact_atom(self.X, w, self._stretch * level) for level in self.levels)

    def l1(self, components: Array) -> float:
        S = self._plain @ components.T
        if not self.complete:
            return float(np.abs(S).sum()) / len(S)
        return float(np.sum(np.abs(S).mean(axis=0) / np.sqrt(np.mean(S * S, axis=0))))  # the scale of B means nothing

    def check(self, B: Array, intercept: Array | None = None) -> Certificate:
        """Certificate of any encoding matrix on the sample, less the offset where one is known, at the finest zero
        level that it passes.
        """
        plain, all_levels = self._plain, self.levels
        if intercept is not None:
            plain = self._in_polish(np.asarray(self.raw - intercept, dtype=np.float64))
            all_levels = [level.of_rows(plain) for level in self._levels]
        for known, levels in zip(self._levels, all_levels, strict=True):
            certificate = replace(self._check(B, levels, plain), zero_level=known.floor)
            if certificate:
                break
        return certificate

    def _check(self, B: Array, levels: Array, plain: Array | None = None) -> Certificate:
        S = (self._plain if plain is None else plain) @ B.T
        return certify_codes(S, levels, np.linalg.norm(B, axis=1), orthogonal=not self.complete)

    def _in_polish(self, X: Array) -> Array:
        """Rows of the data in the coordinates of the polish."""
        if self.complete:
            return X / self.units
        return X if self.span is None else X @ self.span

    def rows_less(self, intercept: Array) -> Array:
        """The rows less an offset in the coordinates of the search; these have half the codes of the differences."""
        X = self._in_polish(np.asarray(self.raw, dtype=np.float64) - intercept)
        return X @ self._P if self.complete else X

    # --- coordinates --------------------------------------------------------------------------------------------------

    def start(self, components: Array) -> Array:
        """Orthogonal start of the search for a dictionary in the coordinates of the data."""
        if self.complete:
            return polar(np.linalg.inv(components).T * self.units @ np.linalg.inv(self._P.T))
        return components if self.span is None else polar(components[: self.rank] @ self.span)

    def encoding(self, W: Array) -> Array:
        """Rows of the encoding matrix for an orthogonal dictionary of the search."""
        return W @ self._P.T if self.complete else W

    def encoding_of(self, components: Array) -> Array:
        """Rows of the encoding matrix for atoms in the coordinates of the data."""
        if self.complete:
            return np.linalg.inv(components).T * self.units
        if self.span is None:
            return components
        B = components @ self.span
        return np.where(np.linalg.norm(B, axis=1, keepdims=True) > _OUTSIDE, B, 0.0)

    def offset_row(self, B: Array) -> Array:
        """The offset of the rows: where the codes of each column pile up, in the coordinates of the data."""
        X = np.asarray(self.raw, dtype=np.float64)
        components, encoder = self.dictionary(B)
        scale = np.linalg.norm(encoder * self.units[:, None], axis=0)
        widths = self._levels[-1].floor * scale
        offsets = [mode(column, width) for column, width in zip((X @ encoder).T, widths, strict=True)]
        return np.asarray(offsets) @ components

    def dictionary(self, B: Array) -> tuple[Array, Array]:
        """Unit atoms in the coordinates of the data, one per row, and the encoder (codes X @ encoder)."""
        if self.complete:
            components = normalize_rows(np.linalg.inv((B / self.units).T))
            return components, np.linalg.inv(components)
        W = B if self.span is None else np.vstack([B @ self.span.T, self.missing.T])
        return W, W.T

    def all_rows(self, intercept: Array | None = None) -> Rows:
        """All rows of the data in the coordinates of the polish, less an offset."""
        A = 1 / self.units if self.complete else self.span
        return self._rows if A is None and intercept is None else MappedRows(self._rows, A, intercept)

    def some_rows(self, intercept: Array | None = None) -> Array:
        """Some of these rows, in memory."""
        return self._in_polish(np.asarray(self.raw if intercept is None else self.raw - intercept, dtype=np.float64))

    def l1_of_data(self, encoder: Array, intercept: Array | None = None) -> float:
        """l1 norm of the codes per row of the sample, in the unit of the data."""
        X = self.raw if intercept is None else self.raw - intercept
        return float(np.abs(X @ encoder).sum()) / max(1, len(X))


def _spanning_first(X: Array, n_rows: int, level: float) -> Array:
    """X with the rows that alone have a direction, as those of an atom that is used seldom, before the first `n_rows`
    where these lack it: the atoms would collapse along it without any sample to tell.
    """
    missing = missing_directions(X[:n_rows])
    if missing.shape[1] == 0:
        return X
    along = IsAlong(missing, level)(X)
    return np.concatenate([X[along], X[~along]])


def _not_vanishing(X: Array) -> Array:
    """Rows without those so small beside the largest that their squares leave the range of double."""
    largest = np.abs(X).max(axis=1)
    keep = largest > _VANISHING * largest.max()
    return X if keep.all() else X[keep]
