"""Whether codes are independent from column to column: those of sparse sources are, those of images are not."""

import numpy as np

from hrpursuit.core.protocols import Array

_TEST_ROWS = 3000  # rows on which the codes are tested for independence
# By quantile of the magnitudes, the mean correlation between columns above which codes are dependent. Measured at .5
# and .95: independent sources below .01, image patches .06 to .5 and .05 to .16, readings of sensors .13 and .08;
# sources with 5% of outliers .05 and more, ill-conditioned sources in noise .26 and .01.
_MOST_COINCIDENT = {0.5: 0.055, 0.95: 0.025}


def codes_are_independent(S: Array) -> bool:
    """Whether the magnitudes of the codes look independent from column to column, as maximum likelihood assumes.

    Codes are dependent where those above the median magnitude of their column coincide between columns, and those among
    the largest 5% as well: outliers (a few rows) do the second alone, noise that an ill-conditioned encoder has made
    correlated the first alone. The measure is the mean correlation over all pairs of columns, compared with the limit
    plus three standard errors.
    """
    size = np.abs(S[:: -(-len(S) // _TEST_ROWS)])
    for quantile, limit in _MOST_COINCIDENT.items():
        large = (size > np.quantile(size, quantile, axis=0)).astype(np.float32)
        large = large[:, large.any(axis=0)]
        n, k = large.shape
        if k < 2:
            return True
        large -= large.mean(axis=0)
        large /= np.sqrt(np.mean(large * large, axis=0))
        correlation = (float(np.square(large.sum(axis=1)).mean()) - k) / (k * (k - 1))
        if correlation < limit + 3 / np.sqrt(n * k * (k - 1) / 2):
            return True
    return False
