"""Our scheme: search on a working sample, polish, certificate; and a finish over all rows for data that is not exactly
sparse.
"""

from dataclasses import replace

import numpy as np

from hrpursuit.blas import one_blas_thread
from hrpursuit.core.certificate import unchecked
from hrpursuit.core.evaluate import mean
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.core.search import Outcome, SearchResult
from hrpursuit.rows import MappedRows
from hrpursuit.schemes.diagnosis import diagnose
from hrpursuit.schemes.finish import finish_complete, finish_orthogonal
from hrpursuit.schemes.finish_l1 import GREEDY_PLANES
from hrpursuit.schemes.fixed_sparsity import alternate_orthogonal
from hrpursuit.schemes.offset import offset_of
from hrpursuit.schemes.outliers import without_outliers
from hrpursuit.schemes.paper import l1_per_row
from hrpursuit.schemes.setup import EXACT, Setup, random_start, run_search
from hrpursuit.schemes.stages import Learned
from hrpursuit.schemes.working_sample import WorkingSample

#: Rows per feature of the sample that settles what a smaller one leaves open: an atom that 1% of the rows use is then
#: used in as many rows as there are features. And the most entries of that sample, 160 MB.
_MANY_ROWS, _MOST_ENTRIES = 100, 20_000_000


def exact_scheme(
    rows: Rows,
    dict_init: Array | None,
    *,
    complete: bool,
    offset: bool,
    n_nonzero: int | None,
    setup: Setup,
    first: Array | None = None,
    diagnosed: bool = True,
) -> Learned:
    """Learn a dictionary, from `dict_init` where given; with `n_nonzero`, end with the alternation for so many per row.

    Parameters
    ----------
    rows : Rows
    dict_init : array of shape (n_features, n_features) or None
    complete : bool
        Whether atoms may be other than orthogonal.
    offset : bool
        Whether to learn an offset of the rows as well.
    n_nonzero : int or None
    setup : Setup
    first : array or None
        What `ordering_sample` gave for the rows.
    diagnosed : bool
        Whether to find out why the search failed, where it did.
    """
    sample = WorkingSample(rows, setup.seed, complete=complete, offset=offset, first=first)
    warm = dict_init is not None
    with one_blas_thread():  # the search magnifies the last bit of every product
        if not sample.draw(setup.options.rows_per_feature[0]):
            return _nothing_but_zeros(rows, dict_init, offset)
        W = random_start(sample, setup.seed) if dict_init is None else sample.start(dict_init)
        first_steps, few, _ = setup.options.limits(sample.rank, len(sample.X))
        few = few if n_nonzero is None else max(first_steps, few // 2)  # a fixed number of codes seldom is exact
        found, advice = _search(rows, sample, W, warm, setup, diagnosed, (first_steps, few, 2 * few))
        if found.outcome in EXACT and not found.certificate:
            sample, found = _on_more_rows(rows, sample, found, setup)
    is_exact = found.outcome in EXACT
    if sample.frequent is not None and not setup.stopper.stopped and not _is_certified_with_offset(sample, found):
        less = MappedRows(rows, None, sample.frequent)
        learned = exact_scheme(
            less, dict_init, complete=complete, offset=False, n_nonzero=n_nonzero, setup=setup, diagnosed=False
        )
        if replace(learned.certificate, reason=""):  # with few values right answers may be uncertified for a reason
            return replace(learned, intercept=sample.frequent)
    B, certificate = found.components, None if offset else found.certificate
    if not is_exact:
        B = sample.encoding(B)
    intercept = None
    if offset:
        intercept = sample.offset_row(B) if is_exact else offset_of(rows, sample.raw, *sample.dictionary(B))
    cost = error = method = None
    if not is_exact and not setup.stopper.stopped:
        starts = [B, sample.encoding(W)] if warm else [B]
        everything, is_lost = sample.all_rows(intercept), found.outcome is Outcome.LOST
        some = sample.some_rows(intercept)
        near = without_outliers(everything, some, B.T, one_code=2.0)
        finished, cost, method = _finish(near, starts, complete, is_lost, setup)
        if near is not everything and not setup.stopper.stopped and sample.is_sound(finished):
            usual = without_outliers(everything, some, finished.T)
            if (usual.n_samples or 0) > (near.n_samples or 0):
                finished, cost, method = _finish(usual, [finished], complete, False, setup)
        if sample.is_sound(finished):
            B = finished
            if found.has_exact_atom and n_nonzero is None and not offset:
                settled, checked = sample.settle_encoding(B)  # near the answer that the search has missed
                if checked:
                    B, certificate, is_exact = settled, checked, True
        else:  # a few rows can be fitted by nearly singular matrices
            cost = method = None
    components, encoder = sample.dictionary(B)
    centred = rows if intercept is None else MappedRows(rows, None, intercept)
    if n_nonzero is not None and not complete and not setup.stopper.stopped:
        max_iter = setup.options.alternations
        components, error = alternate_orthogonal(centred, components, n_nonzero, max_iter, setup.stopper, setup.log)
        encoder, B, certificate = components.T, sample.encoding_of(components), None
    if certificate is None:
        certificate = sample.check(B, intercept)
    objective = sample.l1_of_data(encoder, intercept) if certificate else l1_per_row(centred, encoder.T)
    return Learned(
        components, encoder, certificate, objective, error, intercept, cost, method, advice,
        found.outcome, found.has_exact_atom and not is_exact,
    )  # fmt: skip


def _is_certified_with_offset(sample: WorkingSample, found: SearchResult) -> bool:
    """Whether the rows less their offset are certified too: their differences may be, by a wrong dictionary."""
    B = found.components
    return bool(found.certificate) and bool(sample.check(B, sample.offset_row(B)))


def _finish(
    rows: Rows, starts: list[Array], complete: bool, lost: bool, setup: Setup
) -> tuple[Array, float | None, str]:
    """Rows of the encoding matrix after the finish for data that is not exactly sparse; and minus the log-likelihood,
    where that is what it has minimised; and by which method.
    """
    finish = finish_complete if complete else finish_orthogonal
    done = finish(rows, starts, lost=lost, seed=setup.seed, team=setup.team, callback=setup.stopper.callback)
    if done.method == GREEDY_PLANES:
        setup.log.add(done.method, done.n_iter, done.objective_before, done.objective_after)
        return done.encoder.T, None, done.method
    setup.log.add(done.method, done.n_iter, -done.objective_before, -done.objective_after)
    return done.encoder.T, -done.objective_after, done.method


def _search(
    rows: Rows,
    sample: WorkingSample,
    W: Array,
    warm: bool,
    setup: Setup,
    diagnosed: bool,
    patience: tuple[int, int, int],
) -> tuple[SearchResult, str | None]:
    """Search with some patience; where that fails, find out why, before the search goes on for longer if it has seen
    exact atoms.
    """
    found = run_search(sample, W, warm, setup, patience=patience)
    if found.outcome in (*EXACT, Outcome.STOPPED):
        return found, None
    if diagnosed:
        answer, advice = diagnose(rows, sample, setup)
        if answer is not None:
            return replace(found, outcome=Outcome.CERTIFIED, components=answer, certificate=sample.check(answer)), None
        if advice is not None:
            return found, advice
    goes_on = found.outcome is Outcome.LOST and found.has_exact_atom and sample.can_be_certified
    if goes_on and not setup.stopper.stopped:
        found = run_search(sample, found.components, False, setup, has_exact_atom=True)
    return found, None


def _on_more_rows(
    rows: Rows, sample: WorkingSample, found: SearchResult, setup: Setup
) -> tuple[WorkingSample, SearchResult]:
    """What was found, checked and if need be settled again on a larger sample, where there is one: atoms that are used
    seldom need it. The answer stays where nothing better comes of that.
    """
    n_per_feature = min(_MANY_ROWS, _MOST_ENTRIES // sample.rank**2)
    larger = WorkingSample(rows, setup.seed, complete=sample.complete, offset=sample.offset)
    if setup.stopper.stopped or not larger.draw(n_per_feature) or len(larger.X) <= len(sample.X):
        return sample, found
    if larger.rank != sample.rank:
        return sample, found
    start = larger.encoding_of(sample.dictionary(found.components)[0])[: larger.rank]  # those outside the span are last
    certificate = larger.check(start)
    if certificate:
        return larger, replace(found, components=start, certificate=certificate)
    B, certificate = larger.settle_encoding(start)
    if certificate or (certificate.has_zeros and larger.l1(B) < larger.l1(start)):
        return larger, replace(found, components=B, certificate=certificate)
    return sample, found


def _nothing_but_zeros(rows: Rows, dict_init: Array | None, offset: bool) -> Learned:
    """Every dictionary is as good; rows that are all equal are their own offset."""
    W = np.eye(rows.n_features) if dict_init is None else dict_init
    intercept = mean(rows) if offset else None
    return Learned(W, np.linalg.inv(W), unchecked(rows.n_features, "all samples are zero"), 0.0, intercept=intercept)
