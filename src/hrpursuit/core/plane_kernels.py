"""Compiled kernels that rotate pairs of atoms in their plane.

All of them work on one float32 array `Z` of shape (n_features, m + n_features): row i holds the m codes of atom i and
then the atom itself, so that one rotation of two rows of `Z` turns codes and dictionary together. `norms[i]` is the l1
norm of the codes of atom i.

Angles are written in tangent form: a rotation by `a` has the l1 norm cos(a) * sum(|x + t y| + |y - t x|), t = tan(a).

The kernels release the interpreter lock and share nothing but `Z` and `norms`; on disjoint pairs they may run in
several threads. They stand in one file because numba's cache on disk follows changes of the file of a kernel, not of
the files that it calls.
"""

import numpy as np
from numba import njit

from hrpursuit.compiled import kernel

f4 = np.float32
#: -log(-log(u)) at 4096 equally likely u: the noise that turns an argmin into a draw from the Gibbs distribution
GUMBEL = (-np.log(-np.log((np.arange(4096) + 0.5) / 4096))).astype(np.float32)


@njit(fastmath=True, inline="always", error_model="numpy")
def _l1_at_three(x, y, m, t0, t1, t2):
    a = f4(0)
    b = f4(0)
    c = f4(0)
    for k in range(m):
        p = x[k]
        q = y[k]
        a += abs(p + t0 * q) + abs(q - t0 * p)
        b += abs(p + t1 * q) + abs(q - t1 * p)
        c += abs(p + t2 * q) + abs(q - t2 * p)
    return a, b, c


@njit(fastmath=True, inline="always", error_model="numpy")
def _l1_at_plus_minus(x, y, m, t):
    a = f4(0)
    b = f4(0)
    for k in range(m):
        p = x[k]
        q = y[k]
        a += abs(p + t * q) + abs(q - t * p)
        b += abs(p - t * q) + abs(q + t * p)
    return a, b


@njit(fastmath=True, inline="always", error_model="numpy")
def _rotate(x, y, c, s, m):
    """Rotate two rows in place; return the l1 norms of their first m entries."""
    a = f4(0)
    b = f4(0)
    for k in range(m):
        p = x[k]
        q = y[k]
        u = c * p + s * q
        v = c * q - s * p
        x[k] = u
        y[k] = v
        a += abs(u)
        b += abs(v)
    for k in range(m, x.shape[0]):
        p = x[k]
        q = y[k]
        x[k] = c * p + s * q
        y[k] = c * q - s * p
    return a, b


@njit(fastmath=True, inline="always", error_model="numpy")
def _energy(x, m):
    total = f4(0)
    for k in range(m):
        total += np.sqrt(abs(x[k]))
    return total


@njit(fastmath=True, inline="always", error_model="numpy")
def _energy_at_three(x, y, m, t0, t1, t2):
    a = f4(0)
    b = f4(0)
    c = f4(0)
    for k in range(m):
        p = x[k]
        q = y[k]
        a += np.sqrt(abs(p + t0 * q)) + np.sqrt(abs(q - t0 * p))
        b += np.sqrt(abs(p + t1 * q)) + np.sqrt(abs(q - t1 * p))
        c += np.sqrt(abs(p + t2 * q)) + np.sqrt(abs(q - t2 * p))
    return a, b, c


@njit(inline="always")
def _mix(z):
    """One step of splitmix64: random bits from a counter, the same in whatever order the pairs are visited."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel(fastmath=True, nogil=True, error_model="numpy")
def heat_bath(Z, m, norms, pairs, temperature, spacing, n_sweeps, key, gumbel):
    """Sweeps at a temperature: the angle of each pair is drawn from exp(-E / T), E the sum of sqrt|s|, on four grid
    angles, the present one among them. `norms` are the l1 norms again at the end.

    The grid has a random spacing of .5 to 1 times `spacing` and a random place for the present angle, so that every
    move has its reverse.
    """
    T = f4(temperature)
    energy = np.empty(Z.shape[0], f4)
    for i in range(Z.shape[0]):
        energy[i] = _energy(Z[i], m)
    for k in range(n_sweeps):
        base = _mix(np.uint64(key) + np.uint64(k))
        for p in range(len(pairs)):
            i = pairs[p, 0]
            j = pairs[p, 1]
            bits = _mix(base + np.uint64(p))
            place = int(bits & np.uint64(3))
            bits >>= np.uint64(2)
            w = spacing * (0.5 + 0.5 * int(bits & np.uint64(16383)) / 16384.0)
            bits >>= np.uint64(14)
            g0 = gumbel[int(bits & np.uint64(4095))]
            bits >>= np.uint64(12)
            g1 = gumbel[int(bits & np.uint64(4095))]
            bits >>= np.uint64(12)
            g2 = gumbel[int(bits & np.uint64(4095))]
            bits >>= np.uint64(12)
            g3 = gumbel[int(bits & np.uint64(4095))]
            a1 = (0 - place) * w if place != 0 else 3 * w
            a2 = (1 - place) * w if place != 1 else (3 - place) * w
            a3 = (2 - place) * w if place != 2 else (3 - place) * w
            c1 = f4(np.cos(a1))
            c2 = f4(np.cos(a2))
            c3 = f4(np.cos(a3))
            s1 = f4(np.sin(a1))
            s2 = f4(np.sin(a2))
            s3 = f4(np.sin(a3))
            x = Z[i]
            y = Z[j]
            f1, f2, f3 = _energy_at_three(x, y, m, s1 / c1, s2 / c2, s3 / c3)
            f1 = f1 * np.sqrt(c1) - T * g1
            f2 = f2 * np.sqrt(c2) - T * g2
            f3 = f3 * np.sqrt(c3) - T * g3
            best = energy[i] + energy[j] - T * g0
            moved = False
            c = f4(1)
            s = f4(0)
            if f1 < best:
                best = f1
                c = c1
                s = s1
                moved = True
            if f2 < best:
                best = f2
                c = c2
                s = s2
                moved = True
            if f3 < best:
                c = c3
                s = s3
                moved = True
            if moved:
                norms[i], norms[j] = _rotate(x, y, c, s, m)
                energy[i] = _energy(x, m)
                energy[j] = _energy(y, m)


@kernel(fastmath=True, nogil=True, error_model="numpy")
def zero_temperature(Z, m, norms, pairs, first, last, width):
    """One sweep of single steps of plus or minus `width` (radians), taken where they lower the l1 norm."""
    c = f4(np.cos(width))
    s = f4(np.sin(width))
    for p in range(first, last):
        i = pairs[p, 0]
        j = pairs[p, 1]
        x = Z[i]
        y = Z[j]
        a, b = _l1_at_plus_minus(x, y, m, s / c)
        if min(a, b) * c < (norms[i] + norms[j]) * f4(1 - 1e-6):
            norms[i], norms[j] = _rotate(x, y, c, s if a < b else -s, m)


@njit(fastmath=True, inline="always", error_model="numpy")
def _best_angle(x, y, m, start, n_thirds, spacing, n_halvings, shrink):
    """Angle of least l1 norm on a grid over a quarter turn, then by shrinking steps; with its l1 norm."""
    best = start
    angle = 0.0
    d = spacing
    first = -(3 * n_thirds // 2)
    for g in range(first, first + 3 * n_thirds, 3):
        f0, f1, f2 = _l1_at_three(x, y, m, f4(np.tan(g * d)), f4(np.tan((g + 1) * d)), f4(np.tan((g + 2) * d)))
        f0 *= f4(np.cos(g * d))
        f1 *= f4(np.cos((g + 1) * d))
        f2 *= f4(np.cos((g + 2) * d))
        if f0 < best:
            best = f0
            angle = g * d
        if f1 < best:
            best = f1
            angle = (g + 1) * d
        if f2 < best:
            best = f2
            angle = (g + 2) * d
    for _ in range(n_halvings):
        d *= shrink
        f0, f1, f2 = _l1_at_three(x, y, m, f4(np.tan(angle - d)), f4(np.tan(angle + d)), f4(0))
        f0 *= f4(np.cos(angle - d))
        f1 *= f4(np.cos(angle + d))
        if f0 < best and f0 <= f1:
            best = f0
            angle -= d
        elif f1 < best:
            best = f1
            angle += d
    return angle, best


@kernel(fastmath=True, nogil=True, error_model="numpy")
def greedy(Z, m, norms, pairs, first, last, changed_before, changed_now):
    """One sweep that turns each pair to the least l1 norm of its plane; pairs of atoms that did not change lately are
    left out.

    Returns the number of pairs turned.
    """
    n_turned = 0
    for p in range(first, last):
        i = pairs[p, 0]
        j = pairs[p, 1]
        if not (changed_before[i] or changed_before[j] or changed_now[i] or changed_now[j]):
            continue
        now = norms[i] + norms[j]
        angle, best = _best_angle(Z[i], Z[j], m, now, 3, np.pi / 18, 6, 0.5)
        if best < now * f4(1 - 1e-5):
            n_turned += 1
            changed_now[i] = True
            changed_now[j] = True
            norms[i], norms[j] = _rotate(Z[i], Z[j], f4(np.cos(angle)), f4(np.sin(angle)), m)
    return n_turned


@kernel(fastmath=True, nogil=True, error_model="numpy")
def unmix_pairs(S, W, pairs):
    """Turn the listed pairs of atoms to the least l1 norm of their plane, exactly: a global search, then Newton on the
    small codes.

    `S` (m, n_features) are the codes and `W` the dictionary, both in double and changed in place.
    """
    m = S.shape[0]
    x = np.empty(m, np.float32)
    y = np.empty(m, np.float32)
    for p in range(pairs.shape[0]):
        i = pairs[p, 0]
        j = pairs[p, 1]
        square = 0.0
        for k in range(m):
            x[k] = S[k, i]
            y[k] = S[k, j]
            square += S[k, i] ** 2 + S[k, j] ** 2
        angle, _ = _best_angle(x, y, m, f4(np.inf), 8, np.pi / 48, 8, 0.6)
        rms = np.sqrt(square / (2 * m))
        small = 0.05 * rms
        for _ in range(9):
            c = np.cos(angle)
            s = np.sin(angle)
            for k in range(m):
                u = S[k, i]
                v = S[k, j]
                S[k, i] = c * u + s * v
                S[k, j] = c * v - s * u
            for k in range(W.shape[1]):
                u = W[i, k]
                v = W[j, k]
                W[i, k] = c * u + s * v
                W[j, k] = c * v - s * u
            numerator = 0.0
            denominator = 1e-300
            for k in range(m):
                u = S[k, i]
                v = S[k, j]
                if abs(u) < small:
                    numerator -= u * v
                    denominator += v * v
                if abs(v) < small:
                    numerator += u * v
                    denominator += u * u
            angle = np.arctan(numerator / denominator)
            small = max(min(small / 3, 10 * abs(angle) * rms), 1e-8 * rms)
