"""Networks of sensors: sparse codes, and bases that are sent."""

import math

from .model import Model, guess, scale
from .transform import cosines
from .words import Bits, clip


def read_sparse(bits, seen, n, step, positive, basis):
    atoms, p, T0 = basis
    use = Model(bits, [24000] * 3, 250, rate=15, n_bins=1)
    levels = Model(bits, [24000] * 3, 120)
    levels.first = guess([(0, 4), (64, 4), (128, 4), (192, 4)], [])
    used, run, last, change = ([start] * len(atoms) for start in (0, 0, 0, 1024))
    rows = []
    for row in seen:
        level, left = [0] * len(atoms), T0
        for k in range(len(atoms)) if any(row) else ():
            is_used = 0
            if left > 0:
                length = min(run[k].bit_length(), 7)
                use.slots = [2 * min(k, 255) + used[k], 512 + 2 * (16 * length + min(left, 15)) + used[k],
                             768 + 2 * scale(64 * abs(last[k])) + used[k]]  # fmt: skip
                is_used = use.mixed(0)
            if is_used:
                left -= 1
                levels.slots = [64 * used[k] + scale(change[k]), 128 + 64 * used[k] + scale(64 * abs(last[k])),
                                256 + 2 * min(k, 255) + used[k]]  # fmt: skip
                d = levels.number()
                change[k] += (256 * abs(d) - change[k]) >> 3
                level[k] = last[k] = clip(d + last[k], -(2**20), 2**20)
            run[k] = run[k] + 1 if is_used == used[k] else 0
            used[k] = is_used
        sums = [sum(level[k] * step * atoms[k][i] for k in range(len(atoms))) for i in range(n)]
        values = [clip(((2**p >> 1) + one) >> p, -(2**20), 2**20) for one in sums]
        rows.append([max(x, 0) if positive else x for x in values] if any(row) else [0] * n)
    return rows


def read_atoms(bits, n_atoms, n):
    model = Model(bits, [22000] * 3, 100)
    model.first = guess([(0, 4)], [])
    atoms, mean = [[0] * n for _ in range(n_atoms)], 256
    for k in range(n_atoms):
        for i in range(n):
            places = [(k, i - 1), (k, i - 2), (k - 1, i), (k - 1, i + 1), (k - 1, i - 1)]
            around = sum(abs(atoms[a][b]) for a, b in places if a >= 0 and 0 <= b < n)
            away = abs(i - k)
            model.slots = [scale((mean + 256 * around // 5) >> 1), 64 + 8 * min(around, 15) + min(away, 14) // 2,
                           192 + min(away, 63)]  # fmt: skip
            atoms[k][i] = model.number()
            mean += (256 * abs(atoms[k][i]) - mean) >> 4
    return atoms


def sent_basis(order, atoms, n):
    base = [[0] * n for _ in range(n)]
    for f, row in enumerate(cosines(n)):
        for i in range(n):
            base[f][order[i]] = row[i]
    if not atoms:
        return base
    made = [[sum(clip(a[f], -64, 64) * base[f][i] for f in range(n)) // 9 for i in range(n)] for a in atoms]
    rows = []
    for candidate in made + base:
        c = list(candidate)
        for _ in range(2):
            for r in rows:
                d = (sum(a * b for a, b in zip(c, r, strict=True)) + 2**23) >> 24
                c = [a - ((d * b + 2**23) >> 24) for a, b in zip(c, r, strict=True)]
            norm = math.isqrt(sum(a * a for a in c))
            if norm < 2**21:
                break
            c = [a * 2**24 // norm for a in c]
        if norm >= 2**21 and len(rows) < n:
            rows.append(c)
    return rows if len(rows) == n else base


def read_basis(source, n):
    kind = source.byte()
    if kind == 0:
        return "adaptive", None
    head = [source.varint() for _ in range(1 if kind == 1 else 3)]
    bits = Bits(source.take(source.varint()))
    if kind == 1:
        rest, order = list(range(n)), []
        for i in range(n - 1):
            place = min(bits.plain((n - i - 1).bit_length()), n - i - 1)
            order.append(rest.pop(place))
        return "sent", sent_basis(order + rest, read_atoms(bits, head[0], n), n)
    p, T0, n_atoms = head
    atoms, low = read_atoms(bits, n_atoms, n), max(p - 6, 0)
    return "dictionary", ([[a * 2**low + bits.plain(low) for a in row] for row in atoms], p, T0)
