"""
How few samples does it take to learn a dictionary exactly?
===========================================================
"""

# %%
# With 40 features and a fifth of the codes nonzero, the scheme of the paper and the default are compared for different
# numbers of samples.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

warnings.simplefilter("ignore", ConvergenceWarning)  # the paper's Stage One, where it has too few samples
samples = [120, 200, 400, 800, 1600, 3200]
COLOURS = {"paper": "#b35806", "exact": "#2166ac"}
errors = {scheme: [] for scheme in COLOURS}
for n_samples in samples:
    X, _, components = make_sparse_coded(n_samples, 40, sparsity=0.2, random_state=0)
    for scheme, found in errors.items():
        model = HRP(scheme=scheme, random_state=0).fit(X)
        found.append(dictionary_error(model.components_, components))

# %%
# The error of the paper's scheme falls slowly with the number of samples; the default is exact as soon as there are
# enough samples to determine the dictionary.

figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
for scheme, found in errors.items():
    axis.loglog(samples, found, "o-", color=COLOURS[scheme], label=f'scheme="{scheme}"')
axis.set(xlabel="samples of 40 features", ylabel="relative error of the dictionary", xticks=samples)
axis.set_xticks(samples, [str(n) for n in samples])
axis.set_xticks([], minor=True)
axis.legend()
axis.grid(alpha=0.3)
plt.show()
print({scheme: np.round(np.log10(found)).astype(int).tolist() for scheme, found in errors.items()})
