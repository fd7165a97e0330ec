"""
Do the atoms have to be orthogonal?
===================================
"""

# %%
# Twelve linearly independent atoms, 1,000 samples, a fifth of the codes not zero. The atoms are made from singular
# values that are spread by a factor of 1, where they are orthogonal, up to 100, where some nearly coincide.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import ortho_group
from sklearn.decomposition import FastICA

from hrpursuit import HRP, MisspecifiedWarning
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

warnings.simplefilter("ignore", MisspecifiedWarning)  # HRP notices that the atoms are not orthogonal, and says so
N_FEATURES, N_SAMPLES = 12, 1_000


def atoms_of_condition(condition, seed):
    left, right = ortho_group.rvs(N_FEATURES, size=2, random_state=seed)
    atoms = left * np.geomspace(1, 1 / condition, N_FEATURES) @ right
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


methods = {
    'HRP(dictionary="orthogonal")': lambda X: HRP(random_state=0).fit(X).components_,
    "FastICA": lambda X: FastICA(random_state=0, max_iter=1_000).fit(X).mixing_.T,
    'HRP(dictionary="complete")': lambda X: HRP(dictionary="complete", random_state=0).fit(X).components_,
}
conditions = [1, 2, 5, 10, 30, 100]
errors = {name: [] for name in methods}
for condition in conditions:
    atoms = atoms_of_condition(condition, seed=1)
    X = make_sparse_coded(N_SAMPLES, N_FEATURES, sparsity=0.2, components=atoms, random_state=2)[0]
    for name, learn in methods.items():
        errors[name].append(dictionary_error(learn(X), atoms))

# %%
# With ``dictionary="complete"`` the atoms are exact whatever their angles. An orthogonal dictionary cannot be right if
# the atoms are not orthogonal, and FastICA, which does not make use of exact zeros, has its statistical error.

figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
colours = ["#b35806", "#5aae61", "#2166ac"]
for (name, found), colour in zip(errors.items(), colours, strict=True):
    axis.loglog(conditions, found, "o-", color=colour, label=name)
axis.set(xlabel="spread of the singular values of the dictionary", ylabel="relative error of the atoms")
axis.set_xticks(conditions, [str(condition) for condition in conditions])
axis.set_xticks([], minor=True)
axis.set_ylim(1e-17, 10)
axis.legend(loc="center left", bbox_to_anchor=(0, 0.6))
axis.grid(alpha=0.3)
plt.show()
print({name: np.round(np.log10(found)).astype(int).tolist() for name, found in errors.items()})
