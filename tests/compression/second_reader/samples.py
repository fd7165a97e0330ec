"""Networks of sensors: samples, each predicted from the past and from the columns before it."""

from .model import Model, scale
from .words import clip


def factorize(cov, scales, factor, n):
    ridge, shift = [8 * s * s for s in scales], 0
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


class Regression:
    def __init__(self, m):
        self.m, self.v, self.Y, self.Q = m, [0] * 8, [0] * 8, [[0] * 8 for _ in range(8)]

    def change(self, feature):
        return sum(a * b for a, b in zip(self.v, feature, strict=True)) >> 16

    def learn(self, feature, change, ridge):
        for a in range(8):
            for c in range(8):
                self.Q[a][c] += feature[a] * feature[c] - (self.Q[a][c] >> self.m)
            self.Y[a] += feature[a] * change - (self.Y[a] >> self.m)
        for a in range(8):
            rest = 65536 * self.Y[a] - sum(self.Q[a][c] * self.v[c] for c in range(8))
            self.v[a] = clip(self.v[a] + rest // (self.Q[a][a] + ridge), -131072, 131072)


def read_samples(*args):
    return list(sample_rows(*args))


def sample_rows(bits, seen, n, steps, scales, season, positive, grain, haste):
    """Rows of values, one after the other; `seen` may be an iterator."""
    model = Model(bits, [13107] * 5 + [3277] * 2, 80, n_experts=5, rate=20, n_places=n)
    slow, fast = ([[64 * scales[k]] * 5 for k in range(n)] for _ in range(2))
    own, of_all = [Regression(8) for _ in range(n)], Regression(9)
    cov, factor = ([[[0] * n for _ in range(n)] for _ in range(2)] for _ in range(2))
    left, innovation = ([[0] * n for _ in range(2)] for _ in range(2))
    total, count, before = [0] * n, [0] * n, [0] * n
    x, following, mean_change, unrest = [], 2, 0, 256

    def C(j):
        return 65536 // j if j else 0

    for t, is_seen in enumerate(seen):
        if t >= following:
            for h in range(2):
                factorize(cov[h], scales, factor[h], n)
            following = t + min(32 if haste else 8, max(1, t // 16))
        changes, n_changes, unrest_sum, n_unrest, sizes = 0, 0, 4 * unrest, 4, [0] * n
        way = [total[k] // count[k] - x[t - 1][k] if count[k] else 0 for k in range(n)]
        x.append([0] * n)
        for k in range(n):
            step, R = steps[k], 2**32 // steps[k]
            last = x[t - 1][k] if t else 0
            told = [
                clip(sum(factor[h][k][j] * innovation[h][j] for j in range(k)) >> 16, -(2**17), 2**17) for h in range(2)
            ]
            feature = [
                last - x[t - 2][k] if t > 1 else 0, way[k], (changes * C(n_changes)) >> 16,
                x[t - season][k] - last if t >= season else 0, sum(way) // n, mean_change,
                clip(way[k] + told[0], -(2**17), 2**17), told[1],
            ]  # fmt: skip
            predictions = [last + own[k].change(feature), last + of_all.change(feature)]
            predictions += [last + feature[a] for a in (6, 7, 2)]
            r = [((179 * slow[k][e] + 77 * fast[k][e]) >> 14) + 1 for e in range(5)]
            g = [(256 * min(r) // one) ** 4 for one in r]
            centre = sum(a * b for a, b in zip(g, predictions, strict=True)) // sum(g)
            if grain:
                centre = ((centre + (grain >> 1)) // grain) * grain
            centre = clip(max(centre, 0) if positive else centre, -(2**16), 2**16)
            value = centre
            if is_seen[k]:
                unrest = (unrest_sum * C(n_unrest)) >> 16
                w = [min((((slow[k][e] + fast[k][e]) >> 7) * unrest) >> 8, 2**20) for e in range(5)]
                widths = [max((141 * one * R) >> 32, 10) for one in w]
                model.experts = [
                    ((256 * clip(predictions[e] - centre, -(2**21), 2**21) * R) >> 32, 2**32 // widths[e])
                    for e in range(5)
                ]
                b, v1, v2 = before[k], sizes[k - 1] if k > 0 else 0, sizes[k - 2] if k > 1 else 0
                model.slots = [
                    64 * scale(2 * min(widths)) + scale(128 * b), 2560 + 36 * min(b, 5) + 6 * min(v1, 5) + min(v2, 5)
                ]  # fmt: skip
                model.place = k
                level = model.number()
                sizes[k] = abs(level)
                value = clip(centre + level * step, -(2**16), 2**16)
                value = max(value, 0) if positive else value
                n_changes, changes = n_changes + 1, changes + value - last
            x[t][k] = value
            is_known = count[k] > 0
            if is_known or is_seen[k]:
                total[k], count[k] = total[k] + value, count[k] + 1
            if not is_seen[k] or not is_known:
                for h in range(2):
                    left[h][k], innovation[h][k] = told[h], 0
                continue
            change = value - last
            for h, one in enumerate((change - way[k], change)):
                left[h][k], innovation[h][k] = one, one - told[h]
            own[k].learn(feature, change, scales[k] ** 2 + (scales[k] ** 2 >> 1))
            *shares, share = (clip((f * (2**26 // scales[k])) >> 16, -(2**16), 2**16) for f in [*feature, change])
            of_all.learn(shares, share, 3 * 2**19)
            error = 64 * abs(value - centre) + 10 * step
            unrest_sum += min(256 * error // (min(slow[k]) + 1), 4096)
            n_unrest += 1
            for e in range(5):
                error = 64 * abs(value - predictions[e]) + 10 * step
                slow[k][e] += ((error - slow[k][e]) * (65536 // min(t + 2, 50))) >> 16
                fast[k][e] += (38 * (error - fast[k][e])) >> 8
        before, mean_change = sizes, (changes * C(n_changes)) >> 16
        unrest = (unrest_sum * C(n_unrest)) >> 16
        weight = 65536 // max(unrest, 64)
        for h in range(2):
            for i in range(n):
                for j in range(i + 1):
                    cov[h][i][j] += ((left[h][i] * weight * left[h][j]) >> 8) - (cov[h][i][j] >> 11)
        yield x[t]
