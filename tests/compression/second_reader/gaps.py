"""Which cells have a reading; also where a sentinel stands."""

from .model import Model
from .words import clip


def read_gaps(bits, n_rows, n):
    model = Model(bits, [26000] * 3, 250, rate=15, n_bins=1)
    model.first = lambda slot, place: (62000 if slot % 2 else 3500, 0)
    alike, was, run, rows = [32768, 32768], 0, [0] * n, []
    for t in range(n_rows):
        if t > 0:
            same = bits.bit(alike[was])
            alike[was] = clip(alike[was] + ((65535 * same - alike[was]) >> 5), 64, 65472)
            was = same
            if same:
                rows.append(rows[-1])
                run = [r + 1 for r in run]
                continue
        changes, beside, row = 0, 1, []
        for i in range(n):
            before = rows[-1][i] if t else 1
            few, length = min(changes, 3), min(run[i].bit_length(), 9)
            model.slots = [
                2 * (16 * few + length) + before,
                128 + 2 * i + before,
                4224 + 2 * (4 * beside + few) + before,
            ]
            row.append(model.mixed(0))
            if t > 0 and row[i] != before:
                changes, run[i], beside = changes + 1, 0, 1
            else:
                run[i], beside = run[i] + 1, 0
        rows.append(row)
    return rows
