"""The baselines with the habits of the published code, one by one: what the column 'as published' is made of.

Read in the authors' code; where a part of it lies in an archive that was not read (thresholds and steps of TransLearn,
and the rounding of logcosh-RTR), what is here is the plainest rule that gives the paper's row of the sensor table, and
the report says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from hrpursuit.baselines import MSP, SPAMS
from hrpursuit.baselines.atom_update import SparseCodes, code_all, room_for, update_atoms
from hrpursuit.baselines.deflation import complement
from hrpursuit.baselines.subgradient import values_and_subgradients
from hrpursuit.baselines.transform_learning import TransformCost, transform_learning
from hrpursuit.baselines.trust_region import MeanLogCosh, trust_region
from hrpursuit.core.coding import codes_block
from hrpursuit.core.evaluate import gram
from hrpursuit.core.manifolds import Sphere, normalize_rows, random_orthogonal
from hrpursuit.core.protocols import Array
from hrpursuit.core.sphere import random_on_sphere
from hrpursuit.experiments.quirks import GRADIENT, ONE_START, TRANSPOSE, TRUTH
from hrpursuit.rows import ArrayRows

_KSVD_ITERATIONS = 10
_FEWEST_USERS, _SAME = 4, 0.99  # samples that an atom needs to be kept; cosine from which two atoms are the same
_SYNTHETIC_RUNS, _SENSOR_RUNS = 1500, 4000  # most iterations of a run of l1-RGD
_SYNTHETIC_FOUND, _SENSOR_FOUND = 1e-2, 1e-3  # 1 - |cos| to a true atom at which a run stops
_ROUNDING_STEP, _ROUNDING_DECAY, _N_ROUNDING = 0.1, 0.95, 200


@dataclass(frozen=True)
class Learned:
    """What a method made of the samples.

    Attributes
    ----------
    components : array of shape (n_features, n_features)
        The dictionary, one atom per row.
    decoded : callable of n_nonzero
        The samples again, from so many codes each.
    """

    components: Array
    decoded: Callable[[int], Array]


def by_codes(X: Array, encoder: Array, components: Array) -> Learned:
    """Codes are the largest entries of X @ encoder."""
    return Learned(components, lambda k: codes_block(X, encoder, k) @ components)


def learn(
    name: str,
    X: Array,
    n_nonzero: int | None,
    rng: np.random.Generator,
    quirks: Collection[str],
    *,
    truth: Array,
    lambda1: float,
    for_readings: bool,
) -> Learned:
    """A method with these of its quirks, at least one."""
    if name == "ksvd":
        return _ksvd(X, n_nonzero or 1, rng)
    if name == "spams":
        return _spams(X, lambda1, rng)
    if name == "translearn":
        return _transform_learning(X, n_nonzero or 1, quirks, rng)
    if name == "logcosh-rtr":
        return _logcosh(X, rng)
    if name == "l4-msp":
        W = MSP(max_iter=50, random_state=int(rng.integers(2**31))).fit(X).components_
        return by_codes(X, W.T, W)
    if name != "l1-rgd":
        raise ValueError(f"{name} has no quirks.")
    W = _l1_deflation(X, truth, quirks, rng) if for_readings else _l1_runs(X, truth, rng)
    return by_codes(X, W.T, W)


def _ksvd(X: Array, n_nonzero: int, rng: np.random.Generator) -> Learned:
    """As KSVD-Box returns it: atoms are replaced after the last sweep, the codes are of before."""
    W = random_orthogonal(X.shape[1], rng)
    codes = room_for(X, W, n_nonzero)
    for _ in range(_KSVD_ITERATIONS):
        products = code_all(X, W, None, codes)
        update_atoms(X, W, codes, products, rng.permutation(len(W)))
        S = dense(codes, len(W))
        replace_in_turn(X, W, S)
    return Learned(W, lambda k: S @ W)


def replace_in_turn(X: Array, W: Array, S: Array) -> int:
    """Put the worst represented samples, each once, in the place of atoms that fewer than four samples use or that are
    the same as another, atom by atom and in place. A sample that is put in may be the same as an atom whose turn comes
    later, which then is replaced, too. How many are comes back.
    """
    left = np.sum((X - S @ W) ** 2, axis=1)
    n_users = np.sum(np.abs(S) > 1e-7, axis=0)
    n_replaced = 0
    for j in range(len(W)):
        cosines = np.abs(W @ W[j])
        cosines[j] = 0
        if n_users[j] >= _FEWEST_USERS and cosines.max() <= _SAME:
            continue
        worst = int(left.argmax())
        if left[worst] <= 0:
            break
        W[j] = X[worst] / np.linalg.norm(X[worst])
        left[worst] = 0
        n_replaced += 1
    return n_replaced


def dense(codes: SparseCodes, n_atoms: int) -> Array:
    """Codes as one array, samples x atoms."""
    S = np.zeros((len(codes.count), n_atoms))
    row, place = np.nonzero(np.arange(codes.index.shape[1]) < codes.count[:, None])
    S[row, codes.index[row, place]] = codes.value[row, place]
    return S


def _spams(X: Array, lambda1: float, rng: np.random.Generator) -> Learned:
    W = SPAMS(lambda1=lambda1, dict_init=random_orthogonal(X.shape[1], rng)).fit(X).components_
    return by_codes(X, np.linalg.pinv(W), W)


def _transform_learning(X: Array, n_nonzero: int, quirks: Collection[str], rng: np.random.Generator) -> Learned:
    settings: dict[str, Any] = {"log_det": 0.5, "frobenius": 0.25, "step_size": 1e-4, "max_inner": 60, "max_iter": 1000}
    if GRADIENT in quirks:
        W, S = plain_gradient(X, np.eye(X.shape[1]), n_nonzero=n_nonzero, **settings)
    else:
        start = random_orthogonal(X.shape[1], rng)
        W = transform_learning(ArrayRows(X), start, n_nonzero=n_nonzero, tol=1e-5, **settings).components
        S = codes_block(X, W.T, n_nonzero)
    decoder = normalize_rows(W) if TRANSPOSE in quirks else np.linalg.inv(W).T
    return Learned(decoder, lambda k: S @ decoder)


def plain_gradient(
    X: Array,
    W: Array,
    *,
    n_nonzero: int,
    log_det: float,
    frobenius: float,
    step_size: float,
    max_inner: int,
    max_iter: int,
) -> tuple[Array, Array]:
    """The transform after steps of fixed size along the gradient, and the codes that the last steps were for."""
    G = gram(ArrayRows(X))
    S = with_ties(X @ W.T, n_nonzero)
    for _ in range(max_iter):
        before, S = W, with_ties(X @ W.T, n_nonzero)
        cost = TransformCost(G, S.T @ X, float(np.vdot(S, S)), log_det, frobenius)
        with np.errstate(over="ignore", invalid="ignore"):  # told below
            for _ in range(max_inner):
                W = W - step_size * cost.grad(W)
        if not np.isfinite(W).all():
            raise ArithmeticError(f"steps of {step_size:g} along the gradient are too long for this data.")
        if np.linalg.norm(W - before) <= 1e-10 * np.linalg.norm(W):  # what is left changes no digit of a table
            break
    return W, S


def with_ties(S: Array, n_nonzero: int) -> Array:
    """Codes of at least the magnitude of the n-th largest of their sample: more than n where some are equal, as many
    readings are, which are the codes of the identity.
    """
    size = np.abs(S)
    return np.where(size >= -np.partition(-size, n_nonzero - 1, axis=1)[:, n_nonzero - 1 : n_nonzero], S, 0)


def _logcosh(X: Array, rng: np.random.Generator) -> Learned:
    n_features = X.shape[1]
    atoms = np.empty((0, n_features))
    while len(atoms) < n_features - 1:
        V = np.linalg.svd(atoms)[2][len(atoms) :].T if len(atoms) else np.eye(n_features)
        start = random_on_sphere(1, V.shape[1], rng)[0]
        end = trust_region(MeanLogCosh(X @ V, 0.01), start, max_iter=500, tol=1e-6)
        atoms = np.vstack([atoms, rounded(X, V @ end.q)])
    atoms = np.vstack([atoms, np.linalg.svd(atoms)[2][-1:]])
    return by_codes(X, atoms.T, atoms)


def rounded(X: Array, r: Array) -> Array:
    """Subgradient steps for the l1 norm of the codes over all q with r.q = 1, then scaled to unit norm."""
    q, step = r, _ROUNDING_STEP
    for _ in range(_N_ROUNDING):
        slope = np.sign(X @ q) @ X / len(X)
        step *= _ROUNDING_DECAY
        q = q - step * (slope - (r @ slope) * r)
    return np.asarray(q / np.linalg.norm(q))


def _l1_deflation(X: Array, truth: Array, quirks: Collection[str], rng: np.random.Generator) -> Array:
    """One atom after another, each from one start, or (without ONE_START) the best of 5 log N."""
    n_features = X.shape[1]
    n_starts = 1 if ONE_START in quirks else int(np.ceil(5 * np.log(n_features)))
    stop_at = truth if TRUTH in quirks else None
    atoms, V = np.empty((0, n_features)), np.eye(n_features)
    while V.shape[1] > 1:
        starts = random_on_sphere(n_starts, V.shape[1], rng)
        rows, targets = X @ V, None if stop_at is None else stop_at @ V
        ends, _ = _descend(rows, starts, targets, _SENSOR_FOUND, _SENSOR_RUNS)
        best = int(np.abs(rows @ ends.T).sum(axis=0).argmin())
        atoms, V = np.vstack([atoms, ends[best] @ V.T]), V @ complement(ends[best : best + 1])
    return np.vstack([atoms, V.T])


def _l1_runs(X: Array, truth: Array, rng: np.random.Generator) -> Array:
    """From 5 N log N starts, one after another, until each true atom has been met; those that none meets are zero."""
    n_features = X.shape[1]
    n_left = round(5 * n_features * np.log(n_features))
    atoms = np.zeros((n_features, n_features))
    while n_left > 0 and not atoms.any(axis=1).all():
        n_starts = min(n_left, 2 * n_features)
        n_left -= n_starts
        starts = random_on_sphere(n_starts, n_features, rng)
        for end, is_found in zip(*_descend(X, starts, truth, _SYNTHETIC_FOUND, _SYNTHETIC_RUNS), strict=True):
            if is_found:
                atoms[np.abs(truth @ end).argmax()] = end
            if atoms.any(axis=1).all():
                break
    return atoms


def _descend(X: Array, Q: Array, truth: Array | None, found: float, max_iter: int) -> tuple[Array, Array]:
    """Runs with steps 1 / sqrt(t), each until it meets a true atom; and which of them did."""
    Q, is_found, rows, sphere = Q.copy(), np.zeros(len(Q), dtype=bool), ArrayRows(X), Sphere()
    for t in range(1, max_iter + 1):
        going = np.flatnonzero(~is_found)
        if len(going) == 0:
            break
        G = values_and_subgradients(rows, Q[going])[1]
        Q[going] = sphere.project(Q[going] - sphere.tangent(Q[going], G) / np.sqrt(t))
        if truth is not None:
            is_found[going] = 1 - np.abs(Q[going] @ truth.T).max(axis=1) <= found
    return Q, is_found
