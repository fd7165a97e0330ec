"""
How far does noise move the atoms?
==================================
"""

# %%
# The data has 30 features, 3,000 samples, a fifth of the codes nonzero, and white noise. The true error can only be
# computed if the true dictionary is known; ``verdict_.expected_error`` estimates it without.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

warnings.simplefilter("ignore", ConvergenceWarning)  # the paper's scheme may stop short
levels = [5, 10, 15, 20, 30, 40, 50]
errors, paper, expected, found_levels = [], [], [], []
for snr_db in levels:
    X, _, atoms = make_sparse_coded(3_000, 30, sparsity=0.2, snr_db=snr_db, random_state=0)
    model = HRP(random_state=0).fit(X)
    errors.append(dictionary_error(model.components_, atoms))
    expected.append(model.verdict_.expected_error)
    found_levels.append(model.verdict_.snr_db)
    paper.append(dictionary_error(HRP(scheme="paper", random_state=0).fit(X).components_, atoms))

# %%
# The expected error agrees with the true error, and the noise level is estimated as well.

figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
axis.semilogy(levels, paper, "s-", color="#b35806", label='scheme="paper"')
axis.semilogy(levels, errors, "o-", color="#2166ac", label="HRP")
axis.semilogy(levels, np.array(expected, dtype=float), "k:", lw=2, label="verdict_.expected_error")
axis.set(xlabel="signal-to-noise ratio, dB", ylabel="relative error of the atoms")
axis.legend()
axis.grid(alpha=0.3, which="both")
plt.show()
print({level: found if found is None else round(found, 1) for level, found in zip(levels, found_levels, strict=True)})
