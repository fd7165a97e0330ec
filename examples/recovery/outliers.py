"""
How many outliers does a fit survive?
=====================================
"""

# %%
# A share of the samples is replaced by noise ten times as large as the other samples. Both methods get the same 1,000
# samples of 20 features.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

warnings.simplefilter("ignore", ConvergenceWarning)  # of FastICA
X, _, atoms = make_sparse_coded(1_000, 20, sparsity=0.2, random_state=0)
rng = np.random.default_rng(0)
is_outlier = rng.permutation(len(X))
noise = 10 * np.std(X) * rng.standard_normal(X.shape)
methods = {
    "FastICA": lambda X: FastICA(random_state=0).fit(X).mixing_.T,
    "HRP": lambda X: HRP(random_state=0).fit(X).components_,
}
shares = [0, 0.01, 0.02, 0.05, 0.1, 0.2]
errors = {name: [] for name in methods}
for share in shares:
    spoilt = np.where((is_outlier < share * len(X))[:, None], noise, X)
    for name, learn in methods.items():
        errors[name].append(dictionary_error(learn(spoilt), atoms))

# %%
# The search of HRP uses only the direction of each sample, so that a large sample has no more weight than a small one.

figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
for (name, found), colour in zip(errors.items(), ["#5aae61", "#2166ac"], strict=True):
    axis.semilogy(100 * np.array(shares), found, "o-", color=colour, label=name)
axis.set(xlabel="percent of the samples that are outliers", ylabel="relative error of the atoms", ylim=(1e-17, 10))
axis.legend(loc="center right")
axis.grid(alpha=0.3)
plt.show()
print({name: np.round(found, 3).tolist() for name, found in errors.items()})
