"""Networks of sensors: the transform, its basis that is learned on the way, and the correction."""

import math

from .model import Model, guess, scale
from .words import T, clip


def cosines(n):
    """In doubles: for these small n no entry is near a half."""
    return [
        [math.floor(2**24 * math.sqrt((1 if f == 0 else 2) / n) * math.cos(math.pi * (2 * i + 1) * f / (2 * n)) + 0.5)
         for i in range(n)] for f in range(n)
    ]  # fmt: skip


def turn(rows, p, q, cosine, sine):
    u, v = rows[p], rows[q]
    rows[p] = [(cosine * a - sine * b + 2**23) >> 24 for a, b in zip(u, v, strict=True)]
    rows[q] = [(sine * a + cosine * b + 2**23) >> 24 for a, b in zip(u, v, strict=True)]


def refresh(M, e):
    n, shift = len(e), 0
    while (1 + sum(M[i][i] for i in range(n))) >> shift >= 2**29:
        shift += 1
    P = [[sum((M[k][i] >> shift) * (e[j][k] >> 8) for k in range(n)) >> 16 for i in range(n)] for j in range(n)]
    A = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            A[i][j] = A[j][i] = sum((e[i][k] >> 8) * P[j][k] for k in range(n)) >> 16
    for p in range(n - 1):
        for q in range(p + 1, n):
            x, y = 2 * A[p][q], A[q][q] - A[p][p]
            high, low = max(abs(x), abs(y)), min(abs(x), abs(y))
            if high == 0:
                continue
            index, part = (1024 * low + (high >> 1)) // high, int(abs(x) > abs(y))
            if part == index == 0:
                continue
            cosine, sine = T["TURNS"][2050 * part + 2 * index : 2050 * part + 2 * index + 2]
            sine = -sine if (x < 0) != (y < 0) else sine
            turn(A, p, q, cosine, sine)
            columns = [list(column) for column in zip(*A, strict=True)]
            turn(columns, p, q, cosine, sine)
            A = [list(row) for row in zip(*columns, strict=True)]
            turn(e, p, q, cosine, sine)
    diagonal = [A[i][i] for i in range(n)]
    for start in range(1, n):
        i = start
        while i > 0 and diagonal[i] > diagonal[i - 1]:
            diagonal[i], diagonal[i - 1] = diagonal[i - 1], diagonal[i]
            e[i], e[i - 1] = e[i - 1], e[i]
            i -= 1


def read_transform(bits, n_rows, n, step, positive, e, adaptive):
    model = Model(bits, [7208, 7208, 7208, 25231, 18022, 14417], 250)
    model.first = guess([(4864, 6), (4928, 6), (4992, 6)], [(0, 2)])
    last, total, mean = [0] * n, [0] * n, [0] * n
    M = [[0] * n for _ in range(n)]
    quick, slow, before = ([[start] * 8 for _ in range(n)] for start in (32768, 32768, 0))
    by_atom, by_wave, overall = [65536] * n, [65536] * 8, 65536
    rows, following = [], 1
    for b, t0 in enumerate(range(0, n_rows, 8)):
        if adaptive and b >= following:
            refresh(M, e)
            following = b + 1 + ((b * n) >> 9)
        atoms = [[(x + 512) >> 10 for x in row] for row in e]
        forecast, weight = [], 65536
        for _ in range(8):
            weight = (weight * 52429) >> 16
            forecast.append([mean[i] + (((last[i] - mean[i]) * weight) >> 16) for i in range(n)])
        levels = []
        for k in range(n):
            levels.append([])
            per = 2**32 // (overall + 1280)
            L = [[abs(x) for x in row] for row in levels]
            for f in range(8):
                earlier = before[k][f]
                left = L[k][f - 1] if f > 0 else earlier
                left2 = L[k][f - 2] if f > 1 else left
                up = L[k - 1][f] if k > 0 else earlier
                upright = L[k - 1][f + 1] if k > 0 and f < 7 else up
                up2 = L[k - 2][f] if k > 1 else up
                around = ((2 * left + left2 + 2 * up + upright + up2 + 2 * earlier) * 7282) >> 8
                q, s = quick[k][f] >> 8, slow[k][f] >> 8
                margins = ((((by_atom[k] + 1280) * (by_wave[f] + 1280)) >> 16) * per) >> 16
                near = 64 * min(left, 3) + 16 * min(up, 3) + 4 * min(earlier, 3) + min(left2 + up2, 3)
                model.slots = [
                    64 * scale(s) + scale(around), 2560 + 256 * f + min(k, 255), 4608 + near,
                    4864 + scale((154 * around + 102 * s) >> 8), 4928 + scale(margins >> 8), 4992 + scale((q + s) >> 1),
                ]  # fmt: skip
                if model.bin(model.slots[1], 0)[1] == 0:
                    for place in range(20):
                        model.bin(model.slots[1], place)[:] = [model.bin(model.slots[4], place)[0], 2]
                levels[k].append(model.number(learned=False))
                L[k].append(abs(levels[k][f]))
            z = [size * 65536 for size in L[k]]
            for f in range(8):
                beside = z[max(f - 1, 0)] + z[min(f + 1, 7)]
                quick[k][f] += (z[f] - quick[k][f] + 2) >> 2
                slow[k][f] += (26 * z[f] + 10 * beside - 46 * slow[k][f] + 128) >> 8
                by_wave[f] += (6 * (z[f] - by_wave[f]) + 128) >> 8
                before[k][f] = L[k][f]
            by_atom[k] += (6 * (sum(z) - 8 * by_atom[k]) + 128) >> 8
            overall += (3 * (sum(z) - 8 * overall) + 128) >> 8
        wave = [
            [(step * sum(levels[k][f] * T["COSINES"][8 * f + t] for f in range(8)) + 2048) >> 12 for t in range(8)]
            for k in range(n)
        ]
        for t in range(min(8, n_rows - t0)):
            row = [
                clip(forecast[t][i] + ((8192 + sum(atoms[k][i] * wave[k][t] for k in range(n))) >> 14), -(2**20), 2**20)
                for i in range(n)
            ]
            last = [max(x, 0) for x in row] if positive else row
            rows.append(last)
            for i in range(n):
                total[i] += last[i]
                for j in range(n):
                    M[i][j] += (last[i] >> 4) * (last[j] >> 4)
        mean = [total[i] // len(rows) for i in range(n)]
    return rows


def read_correction(bits, seen, rough, fraction, bound):
    n, half = len(rough[0]), 2**fraction >> 1
    model = Model(bits, [18000] * 4, 250)
    model.first = guess([(0, 6)], [(64, 2)])
    size, overall, before, rows = [6000] * n, 6000, [0] * n, []
    for t, row in enumerate(rough):
        now = [0] * n
        rows.append([(x + half) >> fraction for x in row])
        for k in range(n):
            if not seen[t][k]:
                continue
            b, start = before[k], rows[t][k]
            sign = 1 if b > 0 else 2 if b < 0 else 0
            v1, v2 = abs(now[k - 1]) if k > 0 else 0, abs(now[k - 2]) if k > 1 else 0
            change = abs(row[k] - rough[t - 1][k]) >> fraction if t else 0
            around, z = 256 * (2 * abs(b) + v1 + v2) // 4, size[k] >> 8
            lengths = 10 * min(change.bit_length(), 7) + min(max(start, 0).bit_length(), 9)
            model.slots = [
                scale((3 * z + around) >> 2), 64 + 64 * scale(z) + scale(overall >> 8),
                2624 + 3 * (9 * min(abs(b), 2) + 3 * min(v1, 2) + min(v2, 2)) + sign, 2705 + 3 * lengths + sign,
            ]  # fmt: skip
            now[k] = model.number()
            rows[t][k] = clip(start + now[k] * bound, -(2**26), 2**26)
            size[k] += (65536 * abs(now[k]) - size[k]) >> 5
            overall += (65536 * abs(now[k]) - overall) >> 7
        before = now
    return rows
