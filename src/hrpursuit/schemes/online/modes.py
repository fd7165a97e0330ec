"""The modes of the online learner: what each makes of the rows of a step, how it notices a change, what comes next.

Starting: Stage One, until a search has ended. Searching: the dictionary does not fit any more. Exact: its codes have
exact zeros. `following` has those that move the dictionary with the rows: Noisy (sparse codes plus noise), Dense (codes
that are not sparse) and Fixed (so many codes per row as asked for).
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from hrpursuit.core.certificate import unchecked
from hrpursuit.core.manifolds import polar
from hrpursuit.core.objectives import LpNorm
from hrpursuit.core.protocols import Array
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.online.search import Found, search_window
from hrpursuit.schemes.online.stream import Square, Stream, Vector, check_not_negative, unit_atoms
from hrpursuit.schemes.online.watch import SLACK, SUSPICION, Level, Sparsity, Step
from hrpursuit.schemes.stages import Learned
from hrpursuit.schemes.verdict import Judgement, Verdict, judge

_ROWS_OF_QUICK_SEARCH = 4  # per feature: a first try, for streams that end early
QUICK_STEPS = 48  # of a search that only looks whether the answer is easy
_SAME_COSINE = 1 - 1e-6  # of exact atoms that are the same
_SAME_OFFSET = 10.0  # zero levels by which an exact offset may differ
_DOUBT = 8.0  # CUSUM of the zeros that a column lacks, above which the dictionary is looked at again
_KEPT_ZEROS = 0.1  # share of the zeros of a column, below which it is not exact any more
_ENOUGH_ZEROS = 15.0  # expected in a column, to miss them
_ZEROS_REMEMBERED = 10.0  # steps


class Mode:
    """What a mode does in each step, in this order; `Stream` is what it shares with the others."""

    #: Whether the offset of the rows is kept as it is, and not their running mean.
    keeps_offset = False
    #: Whether rows are remembered in the running mean and second moment.
    remembers = True

    def watch(self, stream: Stream, step: Step) -> "Searching | None":
        """What to go on with where the dictionary does not fit the rows of the step any more."""
        return None

    def follow(self, stream: Stream, step: Step) -> None:
        """Move the dictionary by the rows of the step."""

    def next(self, stream: Stream) -> "Mode | Found":
        """Search the window where it is time; what is found there, or the mode to go on with."""
        return self

    def judge(self, stream: Stream) -> Judgement:
        """The verdict on the stream so far, and the density of its codes: by the rows in the window."""
        settings, X = stream.settings, stream.recent() - stream.intercept
        atoms, encoder = stream.dictionary()
        certificate = stream.certificate if len(X) else unchecked(settings.n_features)
        found = judge(
            ArrayRows(X),
            X,
            Learned(atoms, encoder, certificate, 0.0, error=self._error(stream, X)),
            complete=settings.complete,
            paper=False,
            offset=settings.offset,
            n_nonzero=settings.n_nonzero,
            forgets=settings.forgetting < 1,
        )
        verdict = self._verdict(stream, found.verdict)
        if stream.n_changes:
            changes = "once" if stream.n_changes == 1 else f"{stream.n_changes} times"
            verdict = replace(verdict, finding=f"{verdict.finding}; the dictionary has changed {changes} so far")
        return replace(found, verdict=verdict)

    def _error(self, stream: Stream, X: Array) -> float | None:
        """Relative error of codes with a fixed number of nonzeros, where the dictionary is fitted to such."""
        return None

    def _verdict(self, stream: Stream, found: Verdict) -> Verdict:
        """The verdict, in view of the one on the codes in the window."""
        if found.kind != "undetermined":
            return found
        return replace(found, advice=f"{found.advice}; only the samples in the window count, which can be set larger")


@dataclass(kw_only=True)
class Starting(Mode):
    """Stage One on a running gradient, from the first rows on."""

    gradient: Square

    def follow(self, stream: Stream, step: Step) -> None:
        G = LpNorm(3).score(step.S, out=np.empty_like(step.S)).T @ step.X
        self.gradient = stream.settings.forgetting ** len(step.X) * self.gradient + G
        if stream.settings.complete:
            P = stream.whitening()[0]
            stream.coder = P @ polar(self.gradient @ P).T
        else:
            stream.coder = polar(self.gradient).T.copy()

    def next(self, stream: Stream) -> "Mode | Found":
        few, n_held = _ROWS_OF_QUICK_SEARCH * stream.settings.n_features, stream.n_held
        is_full = n_held >= stream.settings.search_rows
        is_due = stream.is_search_due() if is_full else few <= n_held < 2 * few and stream.is_independent
        found = search_window(stream, None if is_full else QUICK_STEPS, warm=False) if is_due else None
        return found if found is not None and (is_full or found.is_exact) else self

    def _verdict(self, stream: Stream, found: Verdict) -> Verdict:
        n, n_wanted = stream.settings.n_features, stream.settings.step_rows
        confidence = "there is no dictionary yet" if stream.n_steps == 0 else "the dictionary is a first guess"
        if stream.n_seen < n_wanted:
            finding = f"{stream.n_seen} samples of {n} features are too few to tell"
            return Verdict("undetermined", finding, confidence, f"give about {n_wanted} samples")
        if stream.is_independent:
            return Verdict("undetermined", "no search has ended yet", confidence, "give more samples that are not zero")
        advice = 'remove or combine features, or use dictionary="orthogonal"'
        return Verdict("undetermined", "the features are linearly dependent so far", confidence, advice)


@dataclass(kw_only=True)
class Watched(Mode):
    """A mode with a dictionary that was learned, and is judged by the sparsity of its codes."""

    level: Level
    #: Whether many steps that are a little less sparse add up to a change.
    sums = True

    #: Whether searches go on after a change as seldom as they were before it.
    keeps_waiting = False

    def watch(self, stream: Stream, step: Step) -> "Searching | None":
        lost = self._is_lost(stream, step)
        self._follow_drift(stream, step, lost)
        return self._start_over(stream) if lost else None

    def _follow_drift(self, stream: Stream, step: Step, lost: bool) -> None:
        """The relative excess over the level, smoothed so that a full step counts for a half."""
        if self.level.n_judged > 0 or lost:
            rate = 1 - 0.5 ** (len(step.X) / stream.settings.step_rows)
            stream.drift += rate * (step.sparsity.mean / self.level.mean - 1 - stream.drift)

    def _is_lost(self, stream: Stream, step: Step) -> bool:
        self.level, lost = self.level.judge(step.sparsity, sums=self.sums)
        return lost

    def _start_over(self, stream: Stream) -> "Searching":
        """Forget the rows, not the dictionary: it stays until there is a better one."""
        stream.forget_rows()
        stream.uncertify()
        stream.n_changes, stream.countdown = stream.n_changes + 1, 0
        stream.wait = stream.wait if self.keeps_waiting else 1
        return Searching(level=self.level)

    def follow(self, stream: Stream, step: Step) -> None:
        self.level = self.level.follow(step.sparsity, stream.settings, sums=self.sums)


@dataclass(kw_only=True)
class Searching(Watched):
    """A new dictionary is looked for on rows from after a change."""

    keeps_offset = True

    def watch(self, stream: Stream, step: Step) -> None:
        self._follow_drift(stream, step, self._is_lost(stream, step))

    def follow(self, stream: Stream, step: Step) -> None:
        pass

    def next(self, stream: Stream) -> "Mode | Found":
        found = search_window(stream, None, warm=True) if stream.is_search_due() else None
        return found or self

    def _verdict(self, stream: Stream, found: Verdict) -> Verdict:
        finding = f"the samples do not fit the dictionary any more, and {stream.n_held} have come since"
        advice = f"give about {stream.settings.search_rows} samples from after the change"
        if stream.n_held >= stream.settings.search_rows:
            advice = "give more samples"
        return Verdict("undetermined", finding, "the dictionary is the one of before", advice)


@dataclass(kw_only=True)
class Exact(Watched):
    """The dictionary has exact zeros and stays as it is; each step checks that they are still there.

    Attributes
    ----------
    zero_level : float
        Magnitude below which a code of a unit atom is zero.
    zero_share, zero_evidence : array
        Share of zeros in each code column, and standard deviations by which they were fewer than that, summed up.
    n_known : float
        Rows that `zero_share` is known from.
    in_doubt : bool
        Whether the dictionary is to be looked at again when more rows have come.
    """

    zero_level: float
    zero_share: Vector
    zero_evidence: Vector
    n_known: float
    in_doubt: bool
    keeps_offset = True

    @property
    def remembers(self) -> bool:  # type: ignore[override]
        return self.in_doubt

    @classmethod
    def begin(cls, stream: Stream) -> Self:
        certificate, S = stream.certificate, stream.centred() @ stream.coder
        if certificate:
            stream.wait, stream.countdown = 1, 0
        mode = cls(
            level=Level(Sparsity.of(S).mean),
            zero_level=certificate.zero_level,
            zero_share=np.zeros(len(stream.coder)),
            zero_evidence=np.zeros(len(stream.coder)),
            n_known=float(len(S)),
            in_doubt=not certificate,
        )
        mode.zero_share = (np.abs(S) < mode._zero_sizes(stream)).mean(axis=0)
        return mode

    def _zero_sizes(self, stream: Stream) -> Array:
        """Magnitude below which a code of each column is a zero."""
        return self.zero_level * np.linalg.norm(stream.coder, axis=0)

    def _is_lost(self, stream: Stream, step: Step) -> bool:
        """Whether the exact zeros of a column, or of all together, are gone; a wrong atom has hardly any.

        Where they merely are fewer, atoms may have been mixed with each other, which keep their common zeros, or are
        used more often, which is no change of the dictionary. Then it is in doubt, and to be looked at on rows from now
        on.
        """
        is_zero, n_rows = step.size < self._zero_sizes(stream), len(step.X)
        if stream.settings.offset:  # rows of zeros are zeros up to rounding there
            live = ~is_zero.all(axis=1)
            step.sparsity = Sparsity(step.sparsity.rows[live]) if live.any() else step.sparsity
        zeros = np.ones(n_rows) @ is_zero.astype(np.float64)  # far faster than a sum of booleans
        expected = n_rows * self.zero_share
        lost = (zeros < _KEPT_ZEROS * expected) & (expected >= _ENOUGH_ZEROS)
        if lost.any() or zeros.sum() < _KEPT_ZEROS * expected.sum():
            return True
        self._follow_zeros(stream, zeros, n_rows)
        return False

    def _follow_zeros(self, stream: Stream, zeros: Array, n_rows: int) -> None:
        p, n_known = self.zero_share, max(self.n_known, 1.0)
        p_guarded = (n_known * p + 1) / (n_known + 2)  # of a column that had nothing but zeros, too
        deviation = np.sqrt(n_rows * p_guarded * (1 - p_guarded) * (1 + n_rows / n_known))
        fewer = (n_rows * p - zeros) / np.maximum(deviation, 1.0)
        self.zero_evidence = np.maximum(0.0, self.zero_evidence + fewer - SLACK)
        if self.zero_evidence.max() > _DOUBT:
            self.in_doubt, stream.countdown = True, 0
            stream.forget_rows()
            self.zero_evidence, self.n_known = np.zeros_like(p), 0.0  # what zeros there are is measured anew
        rate = n_rows / (n_rows + self.n_known)
        self.n_known = min(self.n_known + n_rows, _ZEROS_REMEMBERED * stream.settings.step_rows)
        self.zero_share = np.where(self.zero_evidence > SUSPICION, p, p + rate * (zeros / n_rows - p))

    def next(self, stream: Stream) -> "Mode | Found":
        """Count a change if the dictionary on rows from after the doubt is another one, or none."""
        found = search_window(stream, QUICK_STEPS, warm=True) if self.in_doubt and stream.is_search_due() else None
        if found is None or not (found.is_exact or stream.certificate):
            return self  # without a certificate from the first: zeros that go together, and too few rows to tell
        if not found.is_exact:
            return self._start_over(stream)  # some of these rows may be older than the change
        stream.n_changes += self._has_changed(stream, found)
        return found

    def _has_changed(self, stream: Stream, found: Found) -> bool:
        """Whether an exact dictionary differs from the present one by more than what that one left open: atoms that may
        have been mixtures of each other.
        """
        certificate = stream.certificate
        sure = np.full(len(stream.coder), certificate.has_enough_rows)
        for pairs in (certificate.failing_pairs, certificate.ambiguous):
            sure[pairs.ravel()] = False
        moved = np.abs((found.intercept - stream.intercept) @ stream.coder) > _SAME_OFFSET * self._zero_sizes(stream)
        atoms, before = unit_atoms(found.coder, stream.settings.complete)[0], stream.dictionary()[0]
        is_there = np.abs(atoms @ before.T).max(axis=0) > _SAME_COSINE
        return bool(moved[sure].any() or not is_there[sure].all())

    def _verdict(self, stream: Stream, found: Verdict) -> Verdict:
        if not self.in_doubt or not stream.certificate:
            return super()._verdict(stream, found)
        confidence = "zeros have become fewer since, which is looked into"
        return replace(found, confidence=f"{found.confidence}, but {confidence}")

    def check(self) -> None:
        check_not_negative(self, "zero_level", "zero_share", "zero_evidence", "n_known")
        if self.zero_share.max() > 1:
            raise ValueError("zero_share must be shares, from 0 to 1.")
