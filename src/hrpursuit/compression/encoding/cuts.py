"""Where a chunk is better cut: before rows from which on columns lie on a finer or a coarser grid, as after a sensor
was replaced.
"""

import numpy as np

from hrpursuit.compression.encoding.grids import nearest_whole

_BLOCK = 256  # rows, at least, between two cuts
_MOST_BLOCKS = 64
_LOOKED_AT = 48  # rows of each block
_FEWEST_VALUES = 8  # different ones that tell the step of a block: fewer have a common divisor by chance
_MOST_DECIMALS = 9
_BESIDE = 0.25  # of these values: half are where the step was halved
_PART_BITS, _COLUMN_BITS = 1024, 2048  # about what a part costs, and what each of its columns costs to learn anew


def cut_places(columns: list[np.ndarray]) -> list[int]:
    """Rows before which a chunk without loss is cut; none where all columns stay on one grid."""
    n_rows = len(columns[0]) if columns else 0
    block = max(_BLOCK, -(-n_rows // _MOST_BLOCKS))
    n_blocks = n_rows // block
    if n_blocks < 2:
        return []
    numbers = []
    for column in columns:
        few = _on_decimals(column[: block * n_blocks].reshape(n_blocks, block)[:, :_LOOKED_AT])
        if few is not None and len(np.unique(_steps(few))) > 1:  # worth a look at all of its rows
            numbers.append(_on_decimals(column))
    numbers = [one for one in numbers if one is not None and _changes_grid(one[: block * n_blocks], block)]
    if not numbers:
        return []
    changing = np.array([_steps(one[: block * n_blocks].reshape(n_blocks, block)) for one in numbers])
    cuts = _best_cuts(changing, block, _PART_BITS + _COLUMN_BITS * len(columns))
    return _moved(cuts, changing, numbers, block)


def _on_decimals(values: np.ndarray) -> np.ndarray | None:
    """Values as whole numbers of the last decimal that any of them has, 0 for gaps; None if they have too many."""
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    if values.dtype.kind != "f":
        return None
    values = np.where(np.isfinite(values), values, 0).astype(values.dtype)
    for decimals in range(_MOST_DECIMALS + 1):
        numbers, fits = nearest_whole(values, decimals, False)
        if fits.all():
            return numbers.astype(np.int64)
    return None


def _steps(numbers: np.ndarray) -> np.ndarray:
    """The step of the grid in each block (a row of `numbers`); 0 where too few values tell it."""
    n_different = 1 + np.count_nonzero(np.diff(np.sort(numbers, axis=1), axis=1), axis=1)
    return np.where(n_different >= _FEWEST_VALUES, np.gcd.reduce(numbers, axis=1), 0)


def _changes_grid(numbers: np.ndarray, block: int) -> bool:
    """Whether many values of blocks with a finer grid lie beside the coarsest one. Few do where values have a number of
    significant digits, and where exceptions have more decimals.
    """
    blocks = numbers.reshape(-1, block)
    steps = _steps(blocks)
    coarsest = max(int(steps.max()), 1)
    finer = blocks[(steps > 0) & (steps < coarsest)]
    return bool(np.mean(finer % coarsest != 0) > _BESIDE) if len(finer) else False


def _best_cuts(steps: np.ndarray, block: int, part_bits: float) -> list[int]:
    """Blocks before which cuts save most bits: each value of a part takes the logarithm of its step less."""
    n_blocks = steps.shape[1]
    saved = np.zeros(n_blocks + 1)  # by all blocks before
    last_cut = np.zeros(n_blocks + 1, dtype=int)
    for end in range(1, n_blocks + 1):
        step, best = np.zeros(len(steps), np.int64), -np.inf
        for start in range(end - 1, -1, -1):
            step = np.gcd(step, steps[:, start])
            bits = saved[start] + block * (end - start) * float(np.log2(np.maximum(step, 1)).sum()) - part_bits
            if bits > best:
                best, last_cut[end] = bits, start
        saved[end] = best
    cuts, end = [], last_cut[n_blocks]
    while end > 0:
        cuts.append(int(end))
        end = last_cut[end]
    return cuts[::-1]


def _moved(cuts: list[int], steps: np.ndarray, numbers: list[np.ndarray], block: int) -> list[int]:
    """Rows of the cuts, each moved to where the coarser grid ends or begins."""
    bounds, places = [0, *cuts, steps.shape[1]], list[int]()
    for first, cut, last in zip(bounds, cuts, bounds[2:], strict=False):
        before, after = (np.gcd.reduce(part, axis=1) for part in (steps[:, first:cut], steps[:, cut:last]))
        place = block * cut
        is_coarser = float(np.log2(np.maximum(before, 1)).sum()) > float(np.log2(np.maximum(after, 1)).sum())
        near = slice(place, place + block) if is_coarser else slice(place - block, place)
        beside = np.zeros(block, bool)
        for one, a, b in zip(numbers, before, after, strict=True):
            step = max(int(a if is_coarser else b), 1)
            part = one[near] % step != 0
            beside[: len(part)] |= part
        found = np.flatnonzero(beside)
        if is_coarser:
            place += int(found[0]) if len(found) else block
        else:
            place += int(found[-1]) + 1 - block if len(found) else -block
        if place > (places[-1] if places else 0):
            places.append(place)
    return places
