"""Why a fit failed: whether the data is exactly sparse under another assumption than the one it was fitted with."""

from dataclasses import replace

import numpy as np

from hrpursuit.core.protocols import Array, Rows
from hrpursuit.core.search import search
from hrpursuit.schemes.evidence import has_mean
from hrpursuit.schemes.setup import Setup, random_start
from hrpursuit.schemes.working_sample import WorkingSample

_STEPS = 100, 200, 1000  # of the search on its first sample, in all without an exact atom, and in all with one
_ORTHONORMAL = 1e-6  # largest cosine between atoms of an orthogonal dictionary that was found as a complete one


def diagnose(rows: Rows, sample: WorkingSample, setup: Setup) -> tuple[Array | None, str | None]:
    """For a search that failed: the answer after all, where it is one under the assumptions of the sample; else what
    the data is under others, with what to do, where that can be told.
    """
    for complete, offset in _assumptions(sample):
        trial = WorkingSample(rows, setup.seed, complete=complete, offset=offset)
        if not trial.draw(setup.options.rows_per_feature[0]):
            continue
        options = replace(setup.options, patience=_STEPS)
        found = search(trial, random_start(trial, setup.seed), options, setup.seed, callback=setup.stopper.callback)
        if setup.stopper.stopped:
            break
        if not found.certificate:
            continue
        components, encoder = trial.dictionary(found.components)
        defect = np.abs(components @ components.T - np.eye(len(components))).max()
        if complete and not sample.complete and defect < _ORTHONORMAL:
            start = sample.start(_orthonormal(encoder.T, trial.raw))
            for B in (sample.settle(start)[0], start):  # the polish may lose an atom that is very weak
                if offset == sample.offset and sample.check(B):
                    return B, None  # atoms of very different strength, which whitening makes equal
            complete = False
        if complete == sample.complete:  # differences have no mean, which makes whitening fail
            B, certificate = sample.settle_encoding(sample.encoding_of(components))
            if certificate:
                return B, None
        if complete > sample.complete or offset > sample.offset:
            return None, _advice(complete > sample.complete, offset > sample.offset)
    return None, None


def _orthonormal(encoder: Array, X: Array) -> Array:
    """Rows of the encoding matrix made orthonormal one after the other, from the weakest atom on: its row must be free
    of the strong atoms to the last digit, whereas their rows may have anything in its direction.
    """
    order = np.argsort(np.linalg.norm(X @ encoder.T, axis=0))
    Q, R = np.linalg.qr(encoder[order].T)
    found = np.empty_like(encoder)
    found[order] = (Q * np.sign(np.diag(R))).T
    return found


def _assumptions(sample: WorkingSample) -> list[tuple[bool, bool]]:
    """Whether complete, and whether with an offset, in the order in which they are tried."""
    found = []
    has_rank = sample.span is None and len(sample.raw) > sample.rank
    if not sample.complete and has_rank:
        found.append((True, sample.offset))
    if not sample.offset and has_mean(sample.raw):
        found.append((sample.complete, True))
        if not sample.complete and has_rank:
            found.append((True, True))
    return found


def _advice(complete: bool, offset: bool) -> str:
    where = " in a dictionary whose atoms are not orthogonal" if complete else ""
    around = " around an offset" if offset else ""
    settings = [name for name, used in (('dictionary="complete"', complete), ("fit_intercept=True", offset)) if used]
    comma = "," if complete and offset else ""
    return f"the samples are exactly sparse{where}{comma}{around}: use {' and '.join(settings)}"
