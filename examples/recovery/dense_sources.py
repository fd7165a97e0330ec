"""
What if no code is zero at all?
===============================
"""

# %%
# Ten independent Laplace sources, mixed by an orthogonal dictionary. No unbiased estimate can have a smaller error than
# the Cramer-Rao bound, which is proportional to one over the square root of the number of samples.

import warnings
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import polar
from scipy.stats import ortho_group
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

from hrpursuit import HRP
from hrpursuit.metrics import dictionary_error

warnings.simplefilter("ignore", ConvergenceWarning)
N_FEATURES, SAMPLES, SEEDS = 10, [1000, 3000, 10_000, 40_000], range(4)


def fast_ica(X, seed):
    return polar(FastICA(whiten="unit-variance", random_state=seed).fit(X).components_)[0]


def picard_o(X, seed):
    from picard import picard  # noqa: PLC0415 - may not be installed

    return picard(X.T, ortho=True, whiten=False, extended=True, centering=False, random_state=seed)[1]


methods = {
    'scheme="paper"': (lambda X, seed: HRP(scheme="paper", random_state=seed).fit(X).components_, "s"),
    "FastICA": (fast_ica, "^"),
    "Picard-O": (picard_o, "v"),
    "hrpursuit (default)": (lambda X, seed: HRP(random_state=seed).fit(X).components_, "o"),
}
if find_spec("picard") is None:
    del methods["Picard-O"]
errors = {name: np.empty((len(SAMPLES), len(SEEDS))) for name in methods}
for i, n_samples in enumerate(SAMPLES):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        components = ortho_group.rvs(N_FEATURES, random_state=rng)
        X = rng.laplace(scale=np.sqrt(0.5), size=(n_samples, N_FEATURES)) @ components
        for name, (learn, _) in methods.items():
            errors[name][i, seed] = dictionary_error(learn(X, seed), components)

# %%
# The default fits a density to the codes of each atom and maximises the likelihood, which brings it to the bound.

figure, axis = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
rms = {name: np.sqrt(np.mean(found**2, axis=1)) for name, found in errors.items()}
bound = np.sqrt((N_FEATURES - 1) / 2 / np.array(SAMPLES))
axis.loglog(SAMPLES, bound, "k:", label="Cramér-Rao bound", lw=1.5)
colours = ["#b35806", "#5aae61", "#9970ab", "#2166ac"]
for (name, (_, marker)), colour in zip(methods.items(), colours[-len(methods) :], strict=True):
    axis.loglog(SAMPLES, rms[name], marker + "-", color=colour, label=name, lw=1.8, alpha=0.85)
axis.set(xlabel=f"samples of {N_FEATURES} Laplace sources", ylabel="relative error of the dictionary")
axis.set_xticks(SAMPLES, [f"{n:,}" for n in SAMPLES])
axis.set_xticks([], minor=True)
axis.legend()
axis.grid(alpha=0.25, which="both")
plt.show()
print({name: (found / bound).round(2).tolist() for name, found in rms.items()})
