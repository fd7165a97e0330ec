"""Other ways to store a table of readings at a given error, each at its best: what ours is measured against.

Every function of `RIVALS` takes a table and one target, tries arrangements, fills for the gaps and settings, and
returns the smallest that meets the target together with the table that comes back, or None where it cannot. Their gaps
cost what the best general-purpose compressor makes of the mask.
"""

import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hrpursuit.core.coding import keep_largest
from hrpursuit.estimators import HRP
from hrpursuit.rivals.packers import EXTRA, PACKERS
from hrpursuit.rivals.tables import Arrangement, Grid, Job, Stored, search, smallest
from hrpursuit.rows.optional import needed

#: (table, *, rmse=None, max_error=None, lossless=False) -> Stored or None
Rival = Callable[..., Stored | None]


def _differences(numbers: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Differences along each of the axes in turn, the first entries kept: what cumulative sums undo."""
    for axis in axes:
        numbers = np.diff(numbers, axis=axis, prepend=0)
    return numbers


def _as_bytes(numbers: np.ndarray, axes: tuple[int, ...], by_columns: bool) -> bytes:
    """The shortest integers that hold the numbers, as planes of bytes; differences may wrap around."""
    numbers = numbers - (numbers.min() if numbers.size else 0)  # the least is in the header
    width = next(width for width in (1, 2, 4, 8) if width == 8 or numbers.max(initial=0) < 256**width)
    changed = _differences(numbers, axes)
    if by_columns:
        changed = changed.T
    planes = np.ascontiguousarray(changed).astype(np.int64).view(np.uint8).reshape(-1, 8)[:, :width]
    return planes.T.tobytes()


def _ways(job: Job) -> list[tuple[Arrangement, tuple[int, ...], bool]]:
    """Fills and orders x differences over nothing, time, or time and sensors x by rows or by columns."""
    return [
        (arrangement, axes, by_columns)
        for arrangement in job.arrangements
        for axes in ((), (0,), (0, 1))
        for by_columns in (False, True)
    ]


def _steps(job: Job) -> Iterator[float]:
    """Steps that may meet the target, the most promising last."""
    if job.rmse is None:
        assert job.bound is not None
        if job.unit is not None:  # e units to either side of a whole multiple
            yield (2 * int(job.bound / job.unit + 1e-9) + 1) * job.unit
        elif job.bound > 0:
            yield 2 * job.bound * (1 - 1e-9)
        return
    likely = job.rmse * job.root_mean_square * np.sqrt(12)  # were errors uniform
    steps = likely * np.linspace(0.8, 1.25, 46)
    if job.unit is not None:
        whole = np.unique(np.round(steps / job.unit)) * job.unit
        steps = np.concatenate([steps, whole[whole > 0], [job.unit]])
    yield from np.sort(steps[steps > 0])


def _quantised(name: str, table: np.ndarray, **target: Any) -> Stored | None:
    """Whole multiples of a step, differences of them, then a compressor of bytes."""
    job = Job(table, **target)
    pack = PACKERS[name].pack
    if job.unit is None and job.bound == 0:
        return _verbatim(job, pack)

    def decoded(arrangement: Arrangement, step: float) -> np.ndarray | None:
        values = np.round(arrangement.filled / step) * step
        tries = [values] if job.unit is None else [job.rounded(values), values]
        return next((live for live in map(arrangement.back, tries) if job.met(live)), None)

    fitting = [step for step in _steps(job) if decoded(job.arrangements[0], step) is not None]
    if not fitting:
        return None

    def data(step: float, arrangement: Arrangement, axes: tuple[int, ...], by_columns: bool) -> bytes:
        return _as_bytes(np.round(arrangement.filled / step).astype(np.int64), axes, by_columns)

    def attempt(step: float, way: tuple[Arrangement, tuple[int, ...], bool]) -> Stored | None:
        live = decoded(way[0], step)
        if live is None:
            return None
        over = {(): "", (0,): "differences over time, ", (0, 1): "differences over time and sensors, "}[way[1]]
        how = f"step {step:g}, {over}by {'columns' if way[2] else 'rows'}, {way[0].name}"
        return job.stored(len(pack(data(step, *way))) + way[0].extra_bytes, live, how)

    # all ways by a quick compressor, the best few by the real one, the best of these at every step
    ways = sorted(_ways(job), key=lambda way: len(zlib.compress(data(fitting[-1], *way))) + way[0].extra_bytes)
    tried = [(attempt(fitting[-1], way), way) for way in ways[:6]]
    sizes = [np.inf if stored is None else stored.n_bytes for stored, _ in tried]
    way = tried[int(np.argmin(sizes))][1]
    return smallest([*(stored for stored, _ in tried), *(attempt(step, way) for step in fitting[-12:-1])])


def _verbatim(job: Job, pack: Callable[[bytes], bytes]) -> Stored:
    """Numbers that are not short decimals: their eight bytes, plane by plane."""
    found = []
    for arrangement in job.arrangements:
        for by_columns in (False, True):
            numbers = np.ascontiguousarray(arrangement.filled.T if by_columns else arrangement.filled)
            for values in (numbers.view(np.uint64), np.diff(numbers.view(np.uint64), axis=-1, prepend=0)):
                planes = np.ascontiguousarray(values).view(np.uint8).reshape(-1, 8).T
                size = len(pack(planes.tobytes())) + arrangement.extra_bytes
                found.append(job.stored(size, arrangement.back(arrangement.filled), f"verbatim, {arrangement.name}"))
    return min(found, key=lambda stored: stored.n_bytes)


def _sz3(rounded: bool, table: np.ndarray, **target: Any) -> Stored | None:
    """SZ3 with a bound on the error; `rounded`: what it decodes is rounded to the decimals that the readings have."""
    pysz = needed("pysz", "comparisons with SZ3", EXTRA)
    job = Job(table, **target)
    if rounded and job.unit is None:
        return None
    values = job.table[job.observed]
    precision = np.float32 if rounded or np.array_equal(values.astype(np.float32), values) else np.float64
    algorithms = ["INTERP_LORENZO", "INTERP", "LORENZO_REG"]
    if job.bound == 0 and not rounded:
        algorithms = ["LOSSLESS"]

    def attempt(grid: Grid, algorithm: str, bound: float) -> Stored | None:
        numbers = np.ascontiguousarray(grid.numbers, dtype=precision)
        config = pysz.szConfig()
        config.errorBoundMode = pysz.szErrorBoundMode.ABS
        config.absErrorBound = bound
        config.cmprAlgo = getattr(pysz.szAlgorithm, algorithm)
        data = pysz.sz.compress(numbers, config)[0]
        decoded = pysz.sz.decompress(data, numbers.dtype.type, numbers.shape)[0].astype(np.float64)
        live = grid.back(job.rounded(decoded) if rounded else decoded)
        if not job.met(live):
            return None
        return job.stored(len(data) + grid.extra_bytes, live, f"{algorithm}, bound {bound:.4g}, {grid.name}")

    ways = [partial(attempt, grid, algorithm) for grid in job.grids for algorithm in algorithms]
    if job.rmse is not None:
        likely = job.rmse * job.root_mean_square * np.sqrt(3)  # were errors uniform
        return smallest(search(way, likely / 2, likely * 2.5) for way in ways)
    assert job.bound is not None
    bound = max(job.bound, 1e-300)
    if rounded and job.unit is not None:  # what is less than half a unit beyond the bound is rounded back
        bound = (int(job.bound / job.unit + 1e-9) + 0.49) * job.unit
    return smallest(way(bound) for way in ways)


def _zfp(table: np.ndarray, **target: Any) -> Stored | None:
    """The codec zfp by tolerance and by precision, rounded to the decimals of the readings where that helps. Tolerances
    count as powers of two, so readings are also scaled a little.
    """
    zfpy = needed("zfpy", "comparisons with zfp", EXTRA)
    job = Job(table, **target)

    def attempt(grid: Grid, scale: float, **setting: float) -> Stored | None:
        numbers = np.ascontiguousarray(grid.numbers * scale)
        data = zfpy.compress_numpy(numbers, **setting)
        decoded = zfpy.decompress_numpy(data) / scale
        tries = [decoded] if job.unit is None else [decoded, job.rounded(decoded)]
        live = next((live for live in map(grid.back, tries) if job.met(live)), None)
        if live is None:
            return None
        settings = ", ".join(f"{name} {value:g}" for name, value in setting.items()) or "reversible"
        return job.stored(len(data) + grid.extra_bytes, live, f"{settings}, scale {scale:.3g}, {grid.name}")

    def tries() -> Iterator[Stored | None]:
        size = job.rmse * job.root_mean_square if job.rmse is not None else max(job.bound or 0.0, job.unit or 0.0)
        middle = int(np.floor(np.log2(size))) if size > 0 else 0
        for grid in job.grids:
            if job.bound == 0:
                yield attempt(grid, 1.0)
            if size > 0:
                for power in range(middle - 2, middle + 7):
                    for scale in (1.0, 1.19, 1.41, 1.68):
                        yield attempt(grid, scale, tolerance=2.0**power)
            for precision in range(4, 21):
                yield attempt(grid, 1.0, precision=precision)

    return smallest(tries())


def plain_t0(table: np.ndarray, n_nonzero: int, components: np.ndarray | None = None) -> Stored:
    """The paper's coding written plainly: the dictionary and `n_nonzero` coefficients a row as float16, and one bit an
    entry for which they are. Gaps are filled with the mean of their row and do not count, as in the paper.

    Parameters
    ----------
    table : array of shape (n_rows, n_columns)
        NaN is a gap.
    n_nonzero : int
        Coefficients a row.
    components : array of shape (n_columns, n_columns) or None, default=None
        Orthogonal dictionary; None learns one by the paper's scheme.

    Returns
    -------
    stored : Stored
    """
    table = np.asarray(table, dtype=np.float64)
    filled, scale = _for_learning(table)
    if components is None:
        components = _papers_dictionary(filled)
    n_rows, n_columns = table.shape
    atoms = components.astype(np.float16).astype(np.float64)
    codes = keep_largest(filled @ components.T, n_nonzero)
    codes = (codes * scale).astype(np.float16).astype(np.float64)
    n_bytes = n_rows * (2 * n_nonzero + (n_columns + 7) // 8) + 2 * n_columns**2
    return Stored(n_bytes, np.where(np.isnan(table), np.nan, codes @ atoms), f"T0 = {n_nonzero}")


def _for_learning(table: np.ndarray) -> tuple[np.ndarray, float]:
    """Gaps as the mean of their row, divided by the largest reading, as the paper's scheme wants it."""
    observed = ~np.isnan(table)
    means = np.where(observed, table, 0).sum(axis=1) / np.maximum(observed.sum(axis=1), 1)
    scale = float(np.abs(table[observed]).max(initial=0)) or 1.0
    return np.where(observed, table, means[:, None]) / scale, scale


def _papers_dictionary(filled: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():  # its 50 iterations are part of the scheme
        warnings.simplefilter("ignore", ConvergenceWarning)
        return HRP(scheme="paper", random_state=0).fit(filled).components_


def _paper(table: np.ndarray, **target: Any) -> Stored | None:
    """The fewest coefficients a row that meet a relative RMSE; there is no bound for single readings."""
    job = Job(table, **target)
    if job.rmse is None:
        return None
    components = _papers_dictionary(_for_learning(job.table)[0])
    found = (plain_t0(job.table, n_nonzero, components) for n_nonzero in range(1, job.table.shape[1] + 1))
    return next((stored for stored in found if job.met(stored.table[:, job.live])), None)


RIVALS: dict[str, Rival] = {
    **{f"quantise + delta + {name}": partial(_quantised, name) for name in PACKERS},
    "SZ3": partial(_sz3, False),
    "SZ3, rounded": partial(_sz3, True),
    "zfp": _zfp,
    "T0 coding, plain": _paper,
}
