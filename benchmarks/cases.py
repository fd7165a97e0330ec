"""Data of many kinds with a known dictionary, for `robustness.py`: codes, supports, offsets, outliers, units, noise."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

SPARSITY = 0.2
CONDITION = 10  # of complete dictionaries


@dataclass(frozen=True)
class Sample:
    """X = codes @ components + offset, each feature then times its unit, then rounded or made noisy."""

    X: np.ndarray
    codes: np.ndarray
    components: np.ndarray
    offset: np.ndarray | float = 0.0
    units: np.ndarray | float = 1.0

    def error(self, components: np.ndarray) -> float:
        """Of a dictionary, with every feature in the unit in which the truth was drawn; infinite if not finite."""
        return dictionary_error(components / self.units, self.components) if np.isfinite(components).all() else np.inf

    def offset_error(self, intercept: np.ndarray) -> float:
        """Relative to the root mean square norm of the samples without offset."""
        scale = np.sqrt(np.mean(np.sum((self.codes @ self.components) ** 2, axis=1)))
        return float(np.linalg.norm(intercept - self.offset) / scale)


def with_codes(codes: np.ndarray, rng: np.random.Generator, dictionary: str = "orthogonal") -> Sample:
    """Samples with these codes in a random dictionary."""
    n_features = codes.shape[1]
    if dictionary == "orthogonal":
        components = random_orthogonal(n_features, rng)
    else:
        seed, kind = int(rng.integers(2**31)), {"dictionary": "complete", "condition": CONDITION}
        components = make_sparse_coded(1, n_features, sparsity=1, random_state=seed, **kind)[2]
    return Sample(codes @ components, codes, components)


def gaussian(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.standard_normal(shape)


#: Values of the codes that are not zero.
VALUES: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "Gaussian": gaussian,
    "uniform": lambda rng, shape: rng.uniform(-1, 1, shape),
    "Laplace": lambda rng, shape: rng.laplace(size=shape),
    "±1": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    "positive": lambda rng, shape: np.abs(rng.standard_normal(shape)),
    "0 and 1": lambda rng, shape: np.ones(shape),
}


def independent(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.random(shape) < SPARSITY


def exactly_three(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.random(shape).argsort(axis=1).argsort(axis=1) < 3


def by_atom(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Sparsity .02 to .6; each atom is used by three samples or more, since fewer could leave it undetermined."""
    support = rng.random(shape) < np.geomspace(0.02, 0.6, shape[1])
    for column in support.T:
        if column.sum() < 3:
            column[rng.permutation(shape[0])[:3]] = True
    return support


def markov(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """An atom that is used stays in use for 5 rows on average; the share of rows that use it is the sparsity."""
    leave = 0.2
    enter = leave * SPARSITY / (1 - SPARSITY)
    support = np.empty(shape, bool)
    support[0] = rng.random(shape[1]) < SPARSITY
    for now, before in zip(support[1:], support[:-1], strict=True):
        now[:] = rng.random(shape[1]) < np.where(before, 1 - leave, enter)
    return support


def sparse(
    n_samples: int,
    n_features: int,
    seed: int,
    *,
    values: str = "Gaussian",
    support: Callable[[np.random.Generator, tuple[int, int]], np.ndarray] = independent,
    energies: float = 1,
    dictionary: str = "orthogonal",
    change: Callable[[Sample, np.random.Generator], Sample] | None = None,
) -> Sample:
    """Sparse codes in a random dictionary, then changed. `energies` is the largest mean square of the codes of an atom
    that are not zero; they grow geometrically from 1.
    """
    rng = np.random.default_rng([seed, n_samples, n_features])
    shape = n_samples, n_features
    codes = VALUES[values](rng, shape) * support(rng, shape) * np.sqrt(np.geomspace(1, energies, n_features))
    sample = with_codes(codes, rng, dictionary)
    return sample if change is None else change(sample, rng)


def offset(sample: Sample, rng: np.random.Generator) -> Sample:
    mean = 3 * rng.standard_normal(sample.X.shape[1])
    return replace(sample, X=sample.X + mean, offset=mean)


def centred(sample: Sample, rng: np.random.Generator) -> Sample:
    mean = sample.X.mean(axis=0)
    return replace(sample, X=sample.X - mean, offset=-mean)


def outliers(share: float, sample: Sample, rng: np.random.Generator) -> Sample:
    """Replace a share of the rows by dense Gaussian ones of ten times the rms of the data."""
    X = sample.X.copy()
    chosen = rng.permutation(len(X))[: round(share * len(X))]
    X[chosen] = 10 * np.sqrt(np.mean(X**2)) * rng.standard_normal((len(chosen), X.shape[1]))
    return replace(sample, X=X)


def half_repeated(sample: Sample, rng: np.random.Generator) -> Sample:
    """Half of the rows, anywhere, are copies of one row that is not zero."""
    X, rows = sample.X.copy(), rng.permutation(len(sample.X))
    X[rows[: len(X) // 2]] = X[next(row for row in rows if X[row].any())]
    return replace(sample, X=X)


def half_zero(sample: Sample, rng: np.random.Generator) -> Sample:
    X = sample.X.copy()
    X[rng.permutation(len(X))[: len(X) // 2]] = 0
    return replace(sample, X=X)


def units(sample: Sample, rng: np.random.Generator) -> Sample:
    """Each feature in a unit of its own, from 1e-6 to 1e6."""
    scale = rng.permutation(np.geomspace(1e-6, 1e6, sample.X.shape[1]))
    return replace(sample, X=sample.X * scale, units=scale)


def rounded(decimals: int, sample: Sample, rng: np.random.Generator) -> Sample:
    return replace(sample, X=np.round(sample.X, decimals))


def float32(sample: Sample, rng: np.random.Generator) -> Sample:
    return replace(sample, X=sample.X.astype(np.float32))


def noise(snr_db: float, sample: Sample, rng: np.random.Generator) -> Sample:
    level = np.sqrt(np.mean(sample.X**2)) * 10 ** (-snr_db / 20)
    return replace(sample, X=sample.X + level * rng.standard_normal(sample.X.shape))


def dense(n_samples: int, n_features: int, seed: int, *, source: str, dictionary: str) -> Sample:
    """Sources that are never zero, of unit variance (Student's t with 3 degrees: divided by the root of 3), but for
    those with a Cauchy density, which has no variance.
    """
    rng = np.random.default_rng([seed, n_samples, n_features])
    shape = n_samples, n_features
    codes = {
        "Laplace": lambda: rng.laplace(scale=np.sqrt(0.5), size=shape),
        "Student t": lambda: rng.standard_t(3, shape) / np.sqrt(3),
        "Cauchy": lambda: rng.standard_cauchy(shape),
        "Laplace + uniform": lambda: np.where(
            np.arange(n_features) % 2,
            rng.laplace(scale=np.sqrt(0.5), size=shape),
            np.sqrt(3) * rng.uniform(-1, 1, shape),
        ),
    }[source]()
    return with_codes(codes, rng, dictionary)


@dataclass(frozen=True)
class Case:
    """One kind of data, how it is fitted, and what is asked of the fits.

    `asked` is "exact" (every error at most `exact`), "peers" (median error against the best peer's) or "message" (a
    warning that names the complete dictionary). A certified fit with an error above `wrong` is a wrong certificate:
    1e-8 where the zeros of the codes are exact; where rounding or noise hides them, the rms of what hides them relative
    to that of the data, at most 0.1; 1e-3 for dense sources, which have no zeros to certify. `word` is the right kind
    of verdict: values rounded to decimals are exact to their rounding; half uniform sources are not sparse.
    """

    name: str
    make: Callable[..., Sample]
    settings: dict[str, Any] = field(default_factory=dict)
    asked: Literal["exact", "peers", "message"] = "exact"
    exact: float = 1e-11
    wrong: float = 1e-8
    word: str = "exact"

    def word_at(self, n_features: int, n_samples: int) -> str:
        """Noise as strong as the signal hides sparse codes, unless the dictionary is orthogonal and there are 50
        samples per feature: the errors are then above .6, also those of every other method.
        """
        hidden = self.name.startswith("0 dB") and (self.dictionary == "complete" or n_samples < 50 * n_features)
        return "undetermined" if hidden else self.word

    @property
    def dictionary(self) -> str:
        return self.settings.get("dictionary", "orthogonal")

    @property
    def intercept(self) -> bool:
        return self.settings.get("fit_intercept", False)


COMPLETE = {"dictionary": "complete"}
INTERCEPT = {"fit_intercept": True}
RMS = np.sqrt(SPARSITY)  # of the data, before it is changed


def _sparse_cases() -> list[Case]:
    def case(name: str, settings=None, *, asked="exact", exact=1e-11, wrong=1e-8, word="exact", **make) -> Case:
        return Case(name, partial(sparse, **make), settings or {}, asked, exact, wrong, word)

    cases = [case(f"{values} codes", values=values) for values in VALUES]
    cases += [
        case("complete dictionary", COMPLETE, **COMPLETE),
        case("exactly 3 nonzeros", support=exactly_three),
        case("sparsity .02 to .6", support=by_atom),
        case("energies 1 to 100", energies=100),
        case("Markov supports", support=markov),
        case("offset", INTERCEPT, change=offset),
        case("offset, complete", INTERCEPT | COMPLETE, change=offset, **COMPLETE),
        case("centred", INTERCEPT, change=centred),
        case("positive and centred", INTERCEPT, values="positive", change=centred),
        case("1% outliers", change=partial(outliers, 0.01)),
        case("5% outliers", change=partial(outliers, 0.05)),
        case("half one sample", change=half_repeated),
        case("half zero", change=half_zero),
        case("units 1e±6, complete", COMPLETE, change=units, **COMPLETE),
        case("float32", exact=1e-6, wrong=1e-4, change=float32),
        case("not orthogonal", asked="message", word="misspecified", **COMPLETE),
    ]
    for decimals in (3, 2):
        level = 10**-decimals / np.sqrt(12) / RMS
        cases.append(case(f"{decimals} decimals", asked="peers", wrong=level, change=partial(rounded, decimals)))
    for snr_db in (60, 30, 20, 10, 0):
        for settings in ({}, COMPLETE):
            name, level = f"{snr_db} dB{', complete' if settings else ''}", min(0.1, 10 ** (-snr_db / 20))
            made = {"wrong": level, "word": "noisy", "change": partial(noise, snr_db)}
            cases.append(case(name, settings, asked="peers", **made, **settings))
    return cases


SPARSE_CASES = _sparse_cases()
DENSE_CASES = [
    Case(
        f"{source}{end}",
        partial(dense, source=source, dictionary=kind),
        {"dictionary": kind},
        "peers",
        1e-11,
        1e-3,
        word,
    )
    for kind, end in (("orthogonal", ""), ("complete", ", complete"))
    for source, word in (
        ("Laplace", "compressible"),
        ("Student t", "compressible"),
        *([("Cauchy", "compressible")] if end else []),
        ("Laplace + uniform", "not sparse"),
    )
]
