"""Regressions of the coder of tables: how a column changes, from its own past and from columns before it."""

from .words import clip


class Regression:
    """Sums and weights of one column. Set 0 of the sums forgets sooner, set 1 later."""

    def __init__(self, n_features, n_own, hasty):
        self.n, self.n_own = n_features, n_own
        self.every, self.fading = (32, (3, 6)) if hasty else (8, (5, 8))
        self.recent, self.count = [], 0
        self.products = [[[0] * n_features for _ in range(n_features)] for _ in range(2)]
        self.targets = [[0] * n_features for _ in range(2)]
        self.own, self.all = ([[0] * n_features for _ in range(2)] for _ in range(2))

    def observe(self, features, target):
        self.recent.append((list(features), target))
        self.count += 1
        if len(self.recent) < self.every and self.count > 32:
            return
        for products, targets in zip(self.products, self.targets, strict=True):
            for f, y in self.recent:
                for i in range(self.n):
                    for j in range(i + 1):
                        products[i][j] += f[i] * f[j]
                    targets[i] += f[i] * y
        self.recent = []
        if self.count % self.every == 0:
            self._fade()
        for which in range(2):
            L, D, right, shifts = self._factors(self.products[which], self.targets[which])
            self.own[which] = self._weights(L, D, right, shifts, self.n_own)
            self.all[which] = self._weights(L, D, right, shifts, self.n)

    def _fade(self):
        for memory, products, targets in zip(self.fading, self.products, self.targets, strict=True):
            for i in range(self.n):
                for j in range(i + 1):
                    products[i][j] -= products[i][j] >> memory
                targets[i] -= targets[i] >> memory

    def _factors(self, products, targets):
        n = self.n
        shifts = [(max((products[i][i] + 2**24).bit_length() - 29, 0) + 1) >> 1 for i in range(n)]
        L, scaled = ([[0] * n for _ in range(n)] for _ in range(2))
        D, right = [0] * n, [0] * n
        for i in range(n):
            for j in range(i):
                told = sum(L[i][m] * scaled[j][m] for m in range(j)) >> 16
                entry = (products[i][j] >> (shifts[i] + shifts[j])) - told
                L[i][j] = (clip(entry, -32 * D[j], 32 * D[j]) * (2**46 // D[j])) >> 30
            for m in range(i):
                scaled[i][m] = (L[i][m] * D[m]) >> 16
            told = sum(L[i][m] * scaled[i][m] for m in range(i)) >> 16
            ridge = max(2**24 >> (2 * shifts[i]), 256)
            D[i] = max((products[i][i] >> (2 * shifts[i])) + ridge - told, 1)
            told = sum(L[i][m] * right[m] for m in range(i)) >> 16
            right[i] = clip((targets[i] >> shifts[i]) - told, -(2**35), 2**35)
        return L, D, right, shifts

    @staticmethod
    def _weights(L, D, right, shifts, n):
        scaled = [0] * n
        for i in range(n - 1, -1, -1):
            told = sum(L[m][i] * scaled[m] for m in range(i + 1, n)) >> 16
            scaled[i] = clip(65536 * right[i] // D[i] - told, -(2**26), 2**26)
        return [clip((256 * w) >> shift, -(2**28), 2**28) for w, shift in zip(scaled, shifts, strict=False)]
