"""A second reader, written from docs/format.md alone: plain Python, no kernel of ours, to hold the document true."""

import math
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

import hrpursuit.compression.kernels as kernels
from hrpursuit.compression import Decoder, compress, decompress, describe


def _tables():
    data = Path(kernels.__file__).with_name("constants.bin").read_bytes()
    numbers, at, out = struct.unpack(f"<{len(data) // 4}i", data), 0, {}
    sizes = {"SQUASH": 4096, "STRETCH": 4096, "RATE": 256, "LOGISTIC": 8192, "SCALE": 8192, "FIRST_GUESS": 800}
    for name, size in {**sizes, "COSINES": 64, "TURNS": 4100}.items():
        out[name] = numbers[at : at + size]
        at += size
    return out


T = _tables()


def clip(x, low, high):
    return min(max(x, low), high)


def scale(m):
    return T["SCALE"][clip(m, 0, 8191)]


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        return self.take(1)[0]

    def take(self, n):
        self.at += n
        return self.data[self.at - n : self.at]

    def rest(self):
        return self.take(len(self.data) - self.at)

    def varint(self):
        number, shift = 0, 0
        while True:
            byte = self.byte()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def signed(self):
        number = self.varint()
        return -(number + 1) // 2 if number % 2 else number // 2

    def packed(self):
        kind, rest = self.byte(), self.rest()
        return zlib.decompress(rest, -15) if kind else rest


class Bits:
    def __init__(self, data):
        self.data, self.at, self.low, self.high = data, 4, 0, 2**32 - 1
        self.code = int.from_bytes(data[:4].ljust(4, b"\0"), "big")

    def bit(self, chance):
        span = self.high - self.low
        middle = self.low + (span >> 16) * chance + (((span & 65535) * chance) >> 16)
        one = self.code <= middle
        if one:
            self.high = middle
        else:
            self.low = middle + 1
        while self.low >> 24 == self.high >> 24:
            following = self.data[self.at] if self.at < len(self.data) else 0
            self.at += 1
            self.low = (self.low << 8) % 2**32
            self.high = (self.high << 8) % 2**32 + 255
            self.code = (self.code << 8) % 2**32 + following
        return int(one)

    def plain(self, width):
        result = 0
        for _ in range(width):
            result = 2 * result + self.bit(32768)
        return result

    def gamma(self):
        z = 0
        while z < 24 and self.bit(32768) == 0:
            z += 1
        return 2**z + self.plain(z)


class Model:
    def __init__(self, bits, weights, limit, *, n_experts=0, rate=25, n_bins=20):
        self.bits, self.limit, self.rate, self.n_bins, self.n_experts = bits, limit, rate, n_bins, n_experts
        self.weights = [[*weights, 0] for _ in range(n_bins)]
        self.inputs = [0] * len(weights) + [77]
        self.slots, self.experts, self.bins, self.first = [], [], {}, lambda slot, place: (32768, 0)

    def bin(self, slot, place):
        return self.bins.setdefault((slot, place), list(self.first(slot, place)))

    def mixed(self, place):
        found = [self.bin(slot, place) for slot in self.slots]
        for c, (chance, _) in enumerate(found):
            self.inputs[self.n_experts + c] = T["STRETCH"][chance >> 4]
        weights = self.weights[place]
        total = sum(a * b for a, b in zip(self.inputs, weights, strict=True))
        p = T["SQUASH"][clip(total >> 16, -2047, 2047) + 2048]
        b = self.bits.bit(p)
        error = (65536 * b - p) * self.rate
        for i, x in enumerate(self.inputs):
            weights[i] += (x * error + 2**19) >> 20
        for one in found:
            one[0] += ((65535 * b - one[0]) * T["RATE"][one[1]]) >> 16
            one[1] = min(one[1] + 1, self.limit)
        return b

    def ask(self, what, m=0, negative=0):
        for e, (c, w) in enumerate(self.experts):

            def F(u, w=w):
                return T["LOGISTIC"][clip((u * w) >> 24, -4095, 4095) + 4096]

            if what == "zero":
                q = (F(128 - c) - F(-128 - c)) >> 12
            elif what == "sign":
                g = F(-128 - c) + 64
                q = g * 4096 // (g + 2**24 - F(128 - c) + 64)
            else:
                c = -c if negative else c
                here = F(128 - 256 * m + c)
                q = (here - F(-128 - 256 * m + c) + 16) * 4096 // (here + 32)
            self.inputs[e] = T["STRETCH"][clip(q, 0, 4095)]

    def number(self, learned=True):
        self.ask("zero")
        if self.mixed(0):
            return 0
        if learned:
            self.ask("sign")
        negative = self.mixed(1) if learned else self.bits.bit(32768)
        for m in range(1, 40):
            self.ask("m", m, negative)
            if self.mixed(min(1 + m, 19)):
                return -m if negative else m
        size = 39 + self.bits.gamma()
        return -size if negative else size


def guess(by_scale, by_two):
    """First slots of each kind, with counts."""

    def first(slot, place):
        for start, count in by_scale:
            if start <= slot < start + 40:
                return T["FIRST_GUESS"][20 * (slot - start) + place], count
        for start, count in by_two:
            s, other = divmod(slot - start, 64)
            if 0 <= s < 40 and other < 40:
                return (T["FIRST_GUESS"][20 * s + place] + T["FIRST_GUESS"][20 * other + place]) >> 1, count
        return 32768, 0

    return first


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


def factorize(cov, scales, factor, n):
    ridge, shift = [20 * s * s for s in scales], 0
    while max(1, *(cov[i][i] + ridge[i] for i in range(n))) >> shift >= 2**30:
        shift += 1
    scaled, D = [[0] * n for _ in range(n)], [1] * n
    for i in range(n):
        for k in range(i):
            told = sum(factor[i][j] * scaled[k][j] for j in range(k)) >> 16
            factor[i][k] = clip((((cov[i][k] >> shift) - told) * 65536) // D[k], -(2**18), 2**18)
        for j in range(i):
            scaled[i][j] = (factor[i][j] * D[j]) >> 16
        told = sum(factor[i][j] * scaled[i][j] for j in range(i)) >> 16
        D[i] = max(((cov[i][i] + ridge[i]) >> shift) - told, 1)


def read_samples(bits, seen, n, steps, scales, season, positive, grain, haste):
    model = Model(bits, [65536 // (4 if haste else 8)] * (4 if haste else 8) + [3277] * 4, 80,
                  n_experts=4 if haste else 8)  # fmt: skip
    slow, fast = ([[64 * scales[k]] * 4 for k in range(n)] for _ in range(2))
    u, v, Y = ([[0] * 5 for _ in range(n)] for _ in range(3))
    Q = [[[0] * 5 for _ in range(5)] for _ in range(n)]
    cov, factor = ([[0] * n for _ in range(n)] for _ in range(2))
    total, left, innovation, before = [0] * n, [0] * n, [0] * n, [0] * n
    x, following, mean_change = [], 2, 0

    def C(j):
        return 65536 // j if j else 0

    for t in range(len(seen)):
        if t >= following:
            factorize(cov, scales, factor, n)
            following = t + min(32 if haste else 8, max(1, t // 16))
        changes, count, activity, sizes = 0, 0, 0, [0] * n
        x.append([0] * n)
        for k in range(n):
            step, R = steps[k], 2**32 // steps[k]
            last = x[t - 1][k] if t else 0
            feature = [
                last - x[t - 2][k] if t > 1 else 0, total[k] // t - last if t else 0,
                x[t - season][k] - last if t >= season else 0, mean_change, (changes * C(count)) >> 16,
            ]  # fmt: skip
            past = sum(u[k][a] * feature[a] for a in range(4)) >> 16
            full = sum(v[k][a] * feature[a] for a in range(5)) >> 16
            told = clip(sum(factor[k][j] * innovation[j] for j in range(k)) >> 16, -(2**20), 2**20)
            predictions = [last + past + told, last + full, last + feature[4], last]
            r = [((179 * slow[k][e] + 77 * fast[k][e]) >> 14) + 1 for e in range(4)]
            g = [(256 * min(r) // one) ** 4 for one in r]
            centre = sum(a * b for a, b in zip(g, predictions, strict=True)) // sum(g)
            if grain:
                centre = ((centre + (grain >> 1)) // grain) * grain
            centre = clip(max(centre, 0) if positive else centre, -(2**16), 2**16)
            value = centre
            if seen[t][k]:
                act = (activity * C(k)) >> 16
                model.experts = []
                for e in range(4):
                    place = (256 * clip(predictions[e] - centre, -(2**21), 2**21) * R) >> 32
                    S, F = slow[k][e] >> 6, fast[k][e] >> 6
                    F = F if k <= 3 else (F + ((act * step) >> 8)) >> 1
                    for width in [(S + F) >> 1] if haste else [S, F]:
                        model.experts.append((place, 2**32 // max((141 * width * R) >> 32, 10)))
                b, v1, v2 = before[k], sizes[k - 1] if k > 0 else 0, sizes[k - 2] if k > 1 else 0
                widths = [scale((4 * min(one[k][0], one[k][1]) * R) >> 32) for one in (slow, fast)]
                model.slots = [
                    k, 4096 + 64 * scale(128 * b) + scale(act), 6656 + 36 * min(b, 5) + 6 * min(v1, 5) + min(v2, 5),
                    6872 + 64 * widths[0] + widths[1],
                ]  # fmt: skip
                level = model.number()
                sizes[k] = abs(level)
                value = clip(centre + level * step, -(2**16), 2**16)
                value = max(value, 0) if positive else value
            x[t][k] = value
            total[k] += value
            change = value - last
            if not seen[t][k]:
                left[k], innovation[k] = told, 0
                continue
            left[k] = clip(change - past, -(2**20), 2**20)
            innovation[k] = left[k] - told
            for a in range(5):
                for c in range(5):
                    Q[k][a][c] += feature[a] * feature[c] - (Q[k][a][c] >> 8)
                Y[k][a] += feature[a] * change - (Y[k][a] >> 8)
            ridge = scales[k] ** 2 + (scales[k] ** 2 >> 1)
            for w, size in ((v[k], 5), (u[k], 4)):
                for a in range(size):
                    rest = 65536 * Y[k][a] - sum(Q[k][a][c] * w[c] for c in range(size))
                    w[a] = clip(w[a] + rest // (Q[k][a][a] + ridge), -131072, 131072)
            for e in range(4):
                error = 64 * abs(value - predictions[e]) + 10 * step
                slow[k][e] += ((error - slow[k][e]) * (65536 // min(t + 2, 50))) >> 16
                fast[k][e] += (38 * (error - fast[k][e])) >> 8
            activity += ((256 * abs(value - centre) * R) >> 32) + 26
            count, changes = count + 1, changes + change
        before, mean_change = sizes, (changes * C(count)) >> 16
        for i in range(n):
            for j in range(i + 1):
                cov[i][j] += left[i] * left[j] - (cov[i][j] >> 8)
    return x


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


def read_group(data, n_rows, n, basis):
    source = Bytes(data)
    flags = source.byte()
    mode, positive, rounded = flags & 3, flags & 4, flags & 8
    decimals = list(source.take(n if flags & 16 else 1)) * (1 if flags & 16 else n)
    fraction = source.signed()
    factor = struct.unpack("<d", source.take(8))[0] if 255 in decimals else 1.0
    offsets = [source.signed() for _ in range(n)] if flags & 32 else [0] * n
    widths = list(source.take(n)) if flags & 64 else [0] * n
    steps = [source.varint() for _ in range(n)] if flags & 128 else [source.varint()] * n
    more = season = bound = 0
    scales = []
    if mode == 0:
        more, season = source.byte(), source.varint()
        scales = [source.varint() for _ in range(n)] if more & 2 else [source.varint()] * n
    elif mode == 2:
        bound = source.varint()
    bits = Bits(source.rest())
    seen, low = read_gaps(bits, n_rows, n), [[0] * n for _ in range(n_rows)]
    kind, what = basis
    if mode == 0:
        grain = 2**fraction if more & 1 else 0
        k = read_samples(bits, seen, n, steps, scales, season, positive, grain, more & 4)
        low = [[bits.plain(widths[j]) if seen[t][j] else 0 for j in range(n)] for t in range(n_rows)]
    elif mode == 3:
        k = read_sparse(bits, seen, n, steps[0], positive, what)
    else:
        atoms = [list(row) for row in what] if kind == "sent" else cosines(n)
        k = read_transform(bits, n_rows, n, steps[0], positive, atoms, kind == "adaptive")
        if mode == 2:
            k, fraction = read_correction(bits, seen, k, fraction, bound), 0
    out = np.full((n_rows, n), np.nan)
    for t in range(n_rows):
        for j in range(n):
            number, divisor = k[t][j], 1.0
            if fraction < 0:
                number <<= -fraction
            elif rounded:
                number = (number + (2**fraction >> 1)) >> fraction
            else:
                divisor = float(2**fraction)
            number = (number << widths[j]) + low[t][j] + offsets[j]
            if seen[t][j]:
                out[t, j] = (
                    number * (factor / divisor) if decimals[j] == 255 else number / (divisor * 10.0 ** decimals[j])
                )
    return mode, out


def read_file(data):
    """The chunks of a file with a plain array of doubles: modes and tables. Frames are told apart by our reader."""
    decoder = Decoder(data)
    n, shared = decoder.n_columns, Bytes(decoder._header.shared or b"\x01\x00")
    n_groups = shared.varint()
    number = [0] * n
    if n_groups > 1:
        inner = Bytes(Bytes(shared.take(shared.varint())).packed())
        number = [inner.varint() for _ in range(n)]
    groups = [[j for j in range(n) if number[j] == i] for i in range(n_groups)]
    bases = [read_basis(shared, len(group)) for group in groups]
    modes, tables = set(), []
    for chunk in decoder.chunks:
        frame = Bytes(data[chunk.offset + 2 : chunk.offset + chunk.n_bytes - 4])
        frame.varint(), frame.varint()
        n_rows = frame.varint()
        table, flags = np.full((n_rows, n), np.nan), frame.byte()
        assert not flags & 2
        empty = np.unpackbits(np.frombuffer(frame.take((n + 7) // 8), "u1")) if flags & 1 else np.zeros(n)
        places, cells = [], b""
        if flags & 4:
            places = np.cumsum([frame.varint() for _ in range(frame.varint())])
            cells = frame.take(8 * len(places))
        coded = [i for i in range(n_groups) if not all(empty[j] for j in groups[i])]
        for i in coded:
            part = frame.rest() if i == coded[-1] else frame.take(frame.varint())
            columns = [j for j in groups[i] if bases[i][0] != "adaptive" or not empty[j]]
            mode, values = read_group(part, n_rows, len(columns), bases[i])
            modes.add(mode)
            for place, j in enumerate(columns):
                if not empty[j]:
                    table[:, j] = values[:, place]
        for place, value in zip(places, struct.iter_unpack("<d", cells), strict=True):
            table[place // n, place % n] = value[0]
        tables.append(table)
    return modes, np.concatenate(tables)


def readings(n_rows, n, decimals, seed=0):
    rng = np.random.default_rng(seed)
    hours = np.arange(n_rows)[:, None]
    table = 40 + 15 * np.sin(hours / 24 * 2 * np.pi) + np.cumsum(rng.normal(0, 1.5, (n_rows, n)), axis=0)
    table += rng.normal(0, 4, (n_rows, 1))
    table = np.round(np.maximum(table, 0), decimals)
    table[rng.random(table.shape) < 0.1] = np.nan
    table[5:9] = np.nan
    return table


@pytest.mark.parametrize(
    ("target", "mode"),
    [
        ({"lossless": True}, 0),
        ({"lossless": True, "effort": "fast"}, 0),
        ({"rmse": 0.01}, 0),
        ({"rmse": 0.15}, 1),
        ({"rmse": 0.15, "basis": "pca"}, 1),
        ({"rmse": 0.15, "basis": "dct"}, 1),
        ({"max_error": 0.3}, 0),
        ({"max_error": 12}, 2),
        ({"n_nonzero": 2}, 3),
    ],
)
def test_the_document_reads_what_is_written(target, mode):
    table = readings(100, 6, 0)
    table[70:, 4] = np.nan  # a column that is empty in the last chunk
    data = compress(table, chunk_rows=70, **target)
    modes, found = read_file(data)
    assert modes == {mode}
    assert found.tobytes() == decompress(data).tobytes()


@pytest.mark.parametrize("name", ["exceptions", "wide", "many", "mixed"])
def test_the_document_reads_odd_tables(name):
    table = readings(40, 5, 1)
    if name == "exceptions":
        table[3, 1], table[20, 4], table[21, 0] = np.inf, -0.0, -np.inf
    elif name == "wide":
        table[:, 2] = 1e6 + np.round(np.random.default_rng(1).normal(0, 1e5, 40))
    elif name == "many":
        table = np.hstack([readings(4, 150, 0, 1), readings(4, 150, 0, 2)])
    else:
        table[:, 1] = np.round(table[:, 1] * 100)
        table[:, 3] = np.round(7 - table[:, 3], 1)
    data = compress(table, lossless=True)
    assert "verbatim" not in describe(data).parts
    assert read_file(data)[1].tobytes() == table.tobytes() == decompress(data).tobytes()


@pytest.mark.parametrize(("target", "amount"), [("rmse", 0.2), ("rmse", 0.001), ("max_error", 0.3), ("max_error", 9)])
@pytest.mark.parametrize("size", [1e12, np.pi * 1e-9])
def test_the_document_reads_tables_of_any_size(size, target, amount):
    """Fractions below zero, and multiples of a factor."""
    table = readings(40, 5, 1) * size
    data = compress(table, **{target: amount * size if target == "max_error" else amount})
    assert read_file(data)[1].tobytes() == decompress(data).tobytes()
