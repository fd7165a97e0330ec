"""Networks of sensors: samples, each predicted from the past and from the columns before it."""

from .model import Model, scale
from .words import clip


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


def read_samples(*args):
    return list(sample_rows(*args))


def sample_rows(bits, seen, n, steps, scales, season, positive, grain, haste):
    """Rows of values, one after the other; `seen` may be an iterator."""
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

    for t, is_seen in enumerate(seen):
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
            if is_seen[k]:
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
            if not is_seen[k]:
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
        yield x[t]
