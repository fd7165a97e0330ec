"""Regressions of the coder of tables: how a column changes, from its own past and from columns before it."""

from .words import clip


class Regression:
    """Sums and weights of one column. Set 0 of the sums forgets sooner, set 1 later."""

    def __init__(self, n_features, n_own):
        self.n, self.n_own = n_features, n_own
        self.products = [[[0] * n_features for _ in range(n_features)] for _ in range(2)]
        self.targets = [[0] * n_features for _ in range(2)]
        self.own, self.all = ([[0] * n_features for _ in range(2)] for _ in range(2))

    def observe(self, features, target):
        for products, targets in zip(self.products, self.targets, strict=True):
            for i, feature in enumerate(features):
                for j in range(i + 1):
                    products[i][j] += feature * features[j]
                targets[i] += feature * target

    def fade(self):
        for memory, products, targets in zip((5, 8), self.products, self.targets, strict=True):
            for i in range(self.n):
                for j in range(i + 1):
                    products[i][j] -= products[i][j] >> memory
                targets[i] -= targets[i] >> memory

    def solve(self):
        for which in range(2):
            L, D, right = self._factors(self.products[which], self.targets[which])
            self._substitute(L, D, right, self.own[which], self.n_own)
            self._substitute(L, D, right, self.all[which], self.n)

    def _factors(self, products, targets):
        n, shift = self.n, 0
        while max(products[i][i] + 2**24 for i in range(n)) >> shift >= 2**30:
            shift += 1
        L, scaled = ([[0] * n for _ in range(n)] for _ in range(2))
        D, right = [0] * n, [0] * n
        for i in range(n):
            for j in range(i):
                told = sum(L[i][m] * scaled[j][m] for m in range(j)) >> 16
                L[i][j] = clip(((products[i][j] >> shift) - told) * 65536 // D[j], -(2**20), 2**20)
            for m in range(i):
                scaled[i][m] = (L[i][m] * D[m]) >> 16
            told = sum(L[i][m] * scaled[i][m] for m in range(i)) >> 16
            D[i] = max(((products[i][i] + 2**24) >> shift) - told, 1)
            told = sum(L[i][m] * right[m] for m in range(i)) >> 16
            right[i] = clip((targets[i] >> shift) - told, -(2**36), 2**36)
        return L, D, right

    @staticmethod
    def _substitute(L, D, right, weights, n):
        for i in range(n - 1, -1, -1):
            told = sum(L[m][i] * weights[m] for m in range(i + 1, n)) >> 16
            weights[i] = clip(65536 * right[i] // D[i] - told, -(2**20), 2**20)
