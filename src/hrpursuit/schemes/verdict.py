"""The verdict on a fit, in words: what kind of data it was, how sure that is, and what to try next."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hrpursuit.core.certificate import Certificate
from hrpursuit.core.code_density import CodeDensities
from hrpursuit.core.expected_error import expected_error
from hrpursuit.core.likelihood import MAXIMUM_LIKELIHOOD, SMOOTH_LIKELIHOOD
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.core.search import Outcome
from hrpursuit.core.spike_slab import SPIKE_AND_SLAB
from hrpursuit.schemes.code_evidence import Codes, draw_evidence, gain_by_chance
from hrpursuit.schemes.evidence import has_mean
from hrpursuit.schemes.finish_l1 import GREEDY_PLANES
from hrpursuit.schemes.outliers import usual_sample
from hrpursuit.schemes.stages import Learned

Kind = Literal["exact", "noisy", "compressible", "not sparse", "undetermined", "misspecified"]

#: The same per code below which data is called not sparse; sparse codes in noise of 0 dB have .05, Laplace codes .07.
_LEAST_GAIN_PER_CODE = 0.01
_CODES, _MOST_CODES = 40_000, 400_000  # that models are compared on; the latter where so many are needed to tell
_FEWEST_DISTINCT = 2.5  # samples per feature where half of them or more are repeated; as many as the certificate asks
_NO_ERROR = 1e-8  # relative error of codes that reproduce the samples
_SAMPLES_PER_FEATURE = 10  # that recover a dictionary reliably
#: How a dictionary is finished whose error can be estimated.
_LIKELIHOODS = MAXIMUM_LIKELIHOOD, SMOOTH_LIKELIHOOD, SPIKE_AND_SLAB
_NOTHING = 0.5  # relative error above which the estimate of it means nothing: it holds for small errors
#: Signal-to-noise ratio in dB below which the noise shifts complete dictionaries by more than their statistical error.
_BIASED_BELOW = 6.0
_ROUNDED = 1e-4  # zero level, relative to the rms of the codes, above which the data was rounded to few digits
#: Samples that use one of two atoms without the other, from which on they tell the two apart. An atom that is a mixture
#: of both can be turned along any one such sample, but along two only by chance.
_FEWEST_ALONE = 3
_OUTLIERS = (
    "leave out samples that are outliers; if they are none, there may be more atoms than features, or two dictionaries"
)
_WITHOUT_GAPS = "fit the samples without gaps alone to see it certified; to fill in gaps, set n_nonzero_coefs"


@dataclass(frozen=True)
class Verdict:
    """What a fit found, in words; `print` shows it.

    Attributes
    ----------
    kind : str
        "exact": the samples are exactly sparse. "noisy": their codes are sparse, with noise. "compressible": they have
        a few large codes and many small ones, none of them zero. "not sparse": their codes are no sparser than Gaussian
        ones. "undetermined": there are too few samples to tell, or the search did not finish. "misspecified": the
        samples are exactly sparse, but not under the settings of the fit.
    finding, confidence, advice : str
        What was found, how sure that is, and what to try next. `advice` may be empty.
    snr_db : float or None
        Estimated signal-to-noise ratio of noisy samples in dB; None for other kinds.
    expected_error : float or None
        Estimated relative error of the dictionary, as :func:`~hrpursuit.metrics.dictionary_error` would measure it
        against the truth, for samples that are noisy or compressible. It is the statistical error around the right
        dictionary; atoms that the search has mixed up would come on top of it. None if it cannot be estimated.
    """

    kind: Kind
    finding: str
    confidence: str
    advice: str = ""
    snr_db: float | None = None
    expected_error: float | None = None

    def __bool__(self) -> bool:
        raise TypeError("a verdict is neither true nor false; compare `verdict_.kind`, or use bool(certificate_).")

    def __str__(self) -> str:
        parts = [part for part in (self.finding, self.confidence, self.advice) if part]
        return f"{self.kind}: " + " ".join(_sentence(part) for part in parts)


def _sentence(text: str) -> str:
    is_name = "=" in text.split(" ", 1)[0]  # a setting, which is written as it is
    return f"{text if is_name else text[0].upper() + text[1:]}."


@dataclass(frozen=True)
class Judgement:
    """A verdict, and the density of the codes that it goes with."""

    verdict: Verdict
    density: CodeDensities


@dataclass(frozen=True)
class _Asked:
    """The settings of a fit that its verdict depends on."""

    complete: bool
    paper: bool
    offset: bool
    n_nonzero: int | None
    forgets: bool


def judge(
    rows: Rows,
    sample: Array,
    learned: Learned,
    *,
    complete: bool,
    paper: bool,
    offset: bool = False,
    n_nonzero: int | None = None,
    gaps: float = 0.0,
    forgets: bool = False,
) -> Judgement:
    """Judge a fit by its certificate, by how the search ended, and by the codes of some rows.

    Parameters
    ----------
    rows : Rows
        The samples less their offset; gaps are filled.
    sample : array
        What `ordering_sample` gives for the rows: exact fits are judged by it, without another pass.
    learned : Learned
    complete : bool
        Whether atoms may be other than orthogonal.
    paper : bool
        Whether the dictionary is that of the paper's scheme, which leaves an error of its own.
    offset : bool
        Whether an offset was learned.
    n_nonzero : int or None
        Number of codes that are kept per row.
    gaps : float
        Share of the entries that were missing.
    forgets : bool
        Whether older rows count less, as in a stream.
    """
    asked = _Asked(complete, paper, offset, n_nonzero, forgets)
    if learned.certificate.has_zeros and learned.outcome is not Outcome.STOPPED:
        judged = _judge_exact(sample, rows.n_samples or 0, learned, complete, gaps > 0)
        return replace(judged, verdict=_with_context(judged.verdict, learned, gaps))
    X, share = draw_evidence(rows, _CODES)
    X, outliers = usual_sample(X, learned.encoder)
    if len(X) == 0:
        nothing = Verdict(
            "undetermined", "all samples are zero", "every dictionary fits them", "give samples that are not zero"
        )
        return Judgement(nothing, _narrow(learned.encoder, 1.0))
    codes = Codes(X, learned.encoder, complete, share)
    chance = gain_by_chance(codes.n_columns)
    if codes.kind.gain < chance:  # so little that more rows may tell
        more, share = draw_evidence(rows, min(_MOST_CODES, int(1.1 * chance / _LEAST_GAIN_PER_CODE)))
        more, outliers = usual_sample(more, learned.encoder)
        codes = Codes(more, learned.encoder, complete, share) if len(more) > len(X) else codes
    verdict = _early_verdict(learned, rows, len(X), asked, gaps)
    if verdict is None:
        verdict = _verdict_by_codes(codes, learned, rows.n_samples or 0, asked)
        verdict = replace(verdict, advice="; ".join(_hints(codes, asked) + [verdict.advice] * (verdict.advice != "")))
    density = codes.noisy_density() if verdict.kind == "noisy" else codes.fitted_density()
    if verdict.kind in ("noisy", "compressible") and learned.method in _LIKELIHOODS and learned.error is None:
        n_rows = (rows.n_samples or 0) * codes.share_distinct
        verdict = _with_error(
            verdict,
            expected_error(codes.S_all, density, learned.components, n_rows, orthogonal=not complete),
            is_biased=complete and verdict.snr_db is not None and verdict.snr_db < _BIASED_BELOW,
        )
    if outliers > 0 and verdict.kind != "misspecified":
        left_out = "" if paper or forgets or n_nonzero is not None else ", which were left out of the fit"
        finding = f"{verdict.finding}; about {100 * outliers:.2g}% of the samples are outliers{left_out}"
        verdict = replace(verdict, finding=finding)
    return Judgement(_with_context(verdict, learned, gaps), density)


def _with_error(verdict: Verdict, error: float, is_biased: bool) -> Verdict:
    size = "more than 0.5" if error > _NOTHING else f"{'at least' if is_biased else 'about'} {error:.2g}"
    text = f"the dictionary is an estimate with a relative error of {size}, which falls with the root of the number of "
    return replace(verdict, confidence=text + "samples", expected_error=float(f"{error:.3g}"))


def _hints(codes: Codes, asked: _Asked) -> list[str]:
    """Settings that may suit the samples better than those of the fit."""
    hints = []
    if not asked.offset and has_mean(codes.X):
        hints.append("try fit_intercept=True, since the mean of the samples is not zero")
    if not asked.complete and codes.are_correlated:
        hints.append('try dictionary="complete", since the codes of different atoms are correlated')
    return hints


def _narrow(encoder: Array, std: float) -> CodeDensities:
    stds = np.full((1, len(encoder)), std)
    return CodeDensities(np.ones_like(stds), np.zeros_like(stds), stds)


def _judge_exact(sample: Array, n_samples: int, learned: Learned, complete: bool, has_gaps: bool) -> Judgement:
    """Of codes with exact zeros: a spike as wide as the rounding of the data, and a Gaussian for the rest."""
    certificate = learned.certificate
    X = np.asarray(sample, dtype=np.float64)
    units = np.sqrt(np.mean(X * X, axis=0)) if complete else np.ones(X.shape[1])
    encoder = np.asarray(learned.encoder, dtype=np.float64)
    norms = np.linalg.norm(encoder * units[:, None], axis=0)
    S = (X @ encoder) / norms
    Q = S * S
    used = certificate.zero_level**2 < Q
    n_used, n = used.sum(axis=0), len(S)
    rest = max(1, n * len(norms) - int(n_used.sum()))
    energy = float(Q.mean()) or 1.0
    noise = max(float(np.sum(Q, where=~used)) / rest, np.finfo(np.float64).eps ** 2 * energy)
    variances = np.sum(Q, axis=0, where=used) / np.maximum(n_used, 1)
    variances = np.maximum(np.where(n_used > 0, variances, energy), 2 * noise)
    sparsity = (n_used + 0.5) / (n + 1)
    density = CodeDensities.spike_and_slab(noise * norms**2, sparsity, variances * norms**2)
    rounded = " up to their rounding" if certificate.zero_level > _ROUNDED * np.sqrt(energy) else ""
    mean = f"with {n_used.sum() / n:.3g} of {len(norms)} codes in use on average"
    together = _used_together(used, certificate.failing_pairs, complete)
    finding = f"the samples are exactly sparse{rounded}, {mean}"
    verdict = _exact_verdict(certificate, finding, n_samples, together, complete, has_gaps)
    n_unused = int((n_used == 0).sum())
    if n_unused:
        others = f"{verdict.confidence}; {n_unused} of {len(norms)} atoms are used by no sample, and only complete it"
        verdict = replace(verdict, confidence=others)
    return Judgement(verdict, density)


def _used_together(used: NDArray[np.bool_], pairs: NDArray[np.intp], complete: bool) -> int:
    """Number of atoms that the samples do not tell from mixtures with another: two atoms of which (nearly) every sample
    uses both or none. Of a complete dictionary it is enough that no sample uses the one without the other: that one may
    be moved along the other.
    """
    atoms: set[int] = set()
    for i, j in pairs:
        alone = (int(np.sum(used[:, i] & ~used[:, j])), int(np.sum(used[:, j] & ~used[:, i])))
        if (min(alone) if complete else max(alone)) < _FEWEST_ALONE:
            atoms |= {int(i), int(j)}
    return len(atoms)


def _exact_verdict(
    certificate: Certificate, finding: str, n_samples: int, n_together: int, complete: bool, has_gaps: bool
) -> Verdict:
    n, n_rows, fewest = certificate.n_features, certificate.n_rows, certificate.fewest_nonzeros
    if certificate:
        return Verdict("exact", finding, f"certified on {n_rows} samples")
    if not certificate.has_enough_rows or n_samples < 25 or len(certificate.ambiguous):
        return Verdict(
            "undetermined",
            f"a dictionary with exact zeros in all code columns was found, but {n_rows} samples are too few to tell "
            "it from others",
            "it may be wrong: from so few samples another dictionary can be just as sparse",
            f"give about {max(2 * n_samples, _SAMPLES_PER_FEATURE * n)} samples",
        )
    if certificate.reason:
        return Verdict(
            "undetermined",
            f"{finding}, but {certificate.reason}",
            "it may be wrong, above all if it is not orthogonal, or has few features",
            "compare the dictionaries of several values of random_state: a wrong one hardly comes twice",
        )
    if n_together:
        return Verdict(
            "undetermined",
            f"{finding}, but {n_together} of {n} atoms are used by the same samples as another one",
            "such atoms may be mixtures of each other" + "; the others are most likely right" * (n_together < n),
            "increase n_init in case the search mixed them, or give samples that use one of them without the other",
        )
    if complete and fewest < _FEWEST_ALONE:
        return Verdict(
            "undetermined",
            f"{finding}, but an atom is used by only {fewest} of {n_rows} samples",
            "such an atom may be wrong, also by parts of others; the others are most likely right",
            "give samples that use it more often, or leave out samples that are outliers",
        )
    reasons = {
        f"an atom is used by only {fewest} of {n_rows} samples": fewest < 5,
        f"an atom has only {certificate.fewest_zeros} zero codes": certificate.fewest_zeros < 20,
        "some atoms are often used together": len(certificate.entangled) > 0,
        "some pairs of atoms could be turned to a lower l1 norm": len(certificate.unstationary) > 0,
        f"{certificate.n_outliers} of {n_rows + certificate.n_outliers} samples have no zero code"
        + ", which a gap that was filled does to a sample" * has_gaps: certificate.has_many_outliers,
    }
    reason = " and ".join(text for text, holds in reasons.items() if holds)
    likely, advice = "this is most likely the right dictionary", "more samples would settle it"
    if certificate.has_many_outliers:
        finding, likely = f"many {finding.removeprefix('the ')}", f"{likely} for these"
        advice = _WITHOUT_GAPS if has_gaps else _OUTLIERS
    return Verdict("exact", finding, f"{likely}, although it is not certified: {reason}", advice)


def _early_verdict(learned: Learned, rows: Rows, n_distinct: int, asked: _Asked, gaps: float) -> Verdict | None:
    """Where the way the fit went says it, whatever the codes look like."""
    n_samples, n = rows.n_samples or 0, rows.n_features
    about = max(2 * n_samples, _SAMPLES_PER_FEATURE * n)
    if learned.outcome is Outcome.STOPPED:
        return Verdict("undetermined", "the callback ended the fit", "the dictionary is where the search had come to")
    if gaps > 0 and learned.error is not None and learned.error <= _NO_ERROR:
        return Verdict(
            "exact",
            f"the samples are exactly sparse: at most {asked.n_nonzero} codes reproduce the observed entries of each",
            "this is most likely the right dictionary; samples with gaps are not certified",
        )
    if learned.advice is not None:
        finding, advice = learned.advice.split(": ", 1)
        return Verdict("misspecified", finding, "this was certified, but the dictionary of this fit is another", advice)
    if learned.outcome is Outcome.CERTIFIED and asked.n_nonzero is not None:
        return Verdict(
            "misspecified",
            f"the samples are exactly sparse, but some have more than the {asked.n_nonzero} codes that are kept",
            "an exact dictionary was certified; the one that is returned is fitted to so few codes",
            "without n_nonzero_coefs the exact one is returned",
        )
    if n_distinct < min(n, n_samples) or n_distinct < min(_FEWEST_DISTINCT * n, n_samples / 2):
        return Verdict(
            "undetermined",
            f"only {n_distinct} different samples were found" if n_distinct > 1 else "all samples are equal",
            "they tell almost nothing about a dictionary" if n_distinct < n else "they are too few for a dictionary",
            f"give about {about} different samples",
        )
    if learned.has_exact_atom and learned.error is None:
        return Verdict(
            "undetermined",
            "some atoms have exact zeros and others have none",
            "either not all atoms were found, or only a part of the data is exactly sparse, as where some features are "
            "often zero",
            f"increase n_init or give about {about} samples; set values that are missing to NaN, not to zero",
        )
    return None


def _verdict_by_codes(codes: Codes, learned: Learned, n_samples: int, asked: _Asked) -> Verdict:
    n, kind, chance = codes.n_columns, codes.kind, gain_by_chance(codes.n_columns)
    found = kind.gain > chance or (learned.method == SPIKE_AND_SLAB and codes.is_noisy)
    if not found:
        needed = chance / (n * _LEAST_GAIN_PER_CODE)
        if len(codes.S) >= needed:
            return _not_sparse("the codes look Gaussian in every dictionary", "there is no sign of sparse codes")
        return Verdict(
            "undetermined",
            f"the codes look Gaussian, as those of {len(codes.S)} samples without any structure would",
            "either the data is not sparse, or its sparse codes are hidden by strong noise",
            f"about {int(np.ceil(max(needed, 1.5 * n_samples) / 100)) * 100} samples would tell",
        )
    if codes.is_noisy:
        snr_db = round(10 * float(np.log10(codes.snr)), 1) + 0.0  # no minus zero
        mean = float(kind.noisy.sparsity.sum())
        source = "noise, or the error of this scheme" if asked.paper else "noise"
        remembered = " that are remembered" if asked.forgets else ""
        advice = 'scheme="exact" tells the two apart' if asked.paper else "more samples make it more accurate"
        advice = "forgetting=1 makes it more accurate, if the dictionary does not drift" if asked.forgets else advice
        return Verdict(
            "noisy",
            f"sparse codes in {source}, at a signal-to-noise ratio of about {snr_db:.0f} dB, with {mean:.3g} of {n} "
            "codes in use on average",
            f"the dictionary is an estimate, whose error falls with the root of the number of samples{remembered}",
            advice,
            snr_db,
        )
    if 2 * kind.n_flat >= n:
        return _not_sparse(
            f"the codes of {kind.n_flat} of {n} atoms are no sparser than Gaussian ones",
            "independent components were found, but their codes are dense",
        )
    finding = "a few large codes carry most of each sample, but none is exactly zero"
    return Verdict("compressible", finding, *_how_it_was_found(learned, asked))


def _how_it_was_found(learned: Learned, asked: _Asked) -> tuple[str, str]:
    """A dictionary for compressible samples, and what to try next."""
    if asked.paper:
        return "the dictionary is the one that the paper's scheme ended with", 'try scheme="exact"'
    if asked.n_nonzero is not None:
        return f"the dictionary is fitted to {asked.n_nonzero} codes per sample", ""
    advice = "to keep only the large codes, set n_nonzero_coefs"
    if learned.method is None:
        return "the dictionary has the lowest l1 norm that was found", advice
    if learned.method == GREEDY_PLANES:
        return "the codes depend on each other; the dictionary has the lowest l1 norm that was found", advice
    return "the dictionary is the likeliest one for such codes, not an exact answer", advice


def _not_sparse(finding: str, confidence: str) -> Verdict:
    return Verdict(
        "not sparse",
        finding,
        confidence,
        "sparse coding is not the method for this data; try PCA, FactorAnalysis or FastICA",
    )


def _with_context(verdict: Verdict, learned: Learned, gaps: float) -> Verdict:
    """With what a fixed number of codes leaves, and what was done about gaps."""
    finding = verdict.finding
    if learned.error is not None:
        left = f"an error of {100 * learned.error:.3g}% (relative RMSE)" if learned.error > _NO_ERROR else "no error"
        finding += f"; the codes that are kept leave {left}"
    if gaps > 0:
        what = "left out of the fit" if learned.error is not None else "filled with the mean of their row"
        finding += f"; {100 * gaps:.3g}% of the entries are missing and were {what}"
    return replace(verdict, finding=finding)
