"""Our scheme for complete dictionaries: search in whitened coordinates, then the free polish in those of the data."""

from dataclasses import replace

import numpy as np

from hrpursuit.core.certificate import Certificate, certify
from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.core.nucleation import Outcome
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.rows import MappedRows
from hrpursuit.schemes.exact import Setup, finish_noisy, finish_real, search
from hrpursuit.schemes.paper import l1_per_row
from hrpursuit.schemes.stages import Learned
from hrpursuit.schemes.working_sample import CompleteSample


def _dictionary(B: Array) -> tuple[Array, Array]:
    """Unit atoms and encoder for the rows of an encoding matrix (codes X B^T, each column up to scale)."""
    components = normalize_rows(np.linalg.inv(B.T))
    return components, np.linalg.inv(components)


def complete_scheme(rows: Rows, W: Array, P: Array, *, warm: bool, setup: Setup) -> Learned:
    """Learn a complete dictionary; W is the orthogonal start of the search in coordinates that P has whitened."""
    problem = CompleteSample(rows, setup.seed, P)
    problem.draw(setup.options.rows_per_feature[0])
    found = search(problem, W, warm, setup)
    if found.outcome in (Outcome.CERTIFIED, Outcome.SETTLED):
        components, encoder = _dictionary(found.components)
    else:
        whitened = MappedRows(rows, P)
        W_white = found.components
        if found.outcome is Outcome.NOISY:
            W_white, _ = finish_noisy(whitened, W_white, problem.X, 1.0, setup)
        elif found.outcome is Outcome.LOST:
            W_white, _ = finish_real(whitened, W, W_white, setup)
        components, encoder = _dictionary(W_white @ P)
    certificate, l1 = _check(problem, encoder)
    return Learned(components, encoder, certificate, l1 if certificate else l1_per_row(rows, encoder.T))


def _check(problem: CompleteSample, encoder: Array) -> tuple[Certificate, float]:
    """Certificate of the final encoder on the working sample, and the l1 norm of its codes per row."""
    sample = problem.plain
    for level in sample.levels:
        certificate = certify(sample.rows, encoder.T, level, orthogonal=False)
        if certificate:
            break
    return replace(certificate, zero_level=certificate.zero_level * sample.scale), sample.l1(encoder.T) * sample.scale
