"""
Why does a search that never comes to rest find the dictionary?
===============================================================
"""

# %%
# The data has 100 features and 1,000 samples, and half of the codes are not zero. The steps of the search turn the
# atoms by a fixed angle, however small the gradient is, and the gradient is computed from a random batch of the
# samples. Both act like a temperature.

import matplotlib.pyplot as plt
import numpy as np

from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

N_FEATURES, N_SAMPLES, N_STEPS, EVERY = 100, 1000, 310, 10
SETTINGS = {  # rows of a batch, and the angle in radians by which a step turns an atom
    "half the batch: too hot": (325, 0.3, "#d6604d"),
    "as the search does it": (649, 0.3, "#2166ac"),
    "all rows, the same turns": (1000, 0.3, "#92c5de"),
    "all rows, short turns: too cold": (1000, 0.1, "#636363"),
}


def step(W, momentum, batch, turn):
    """One step: downhill in the l1 norm of the codes, by a turn of given size, and back to the orthogonal group."""
    S = batch @ W.T
    A = S.T @ np.sign(S)
    gradient = A - A.T
    momentum = 0.65 * momentum + turn * np.sqrt(len(W)) / np.linalg.norm(gradient) * gradient
    momentum /= max(1, np.linalg.norm(momentum, axis=1).max())
    W = W + momentum @ W
    for _ in range(4):  # Newton-Schulz steps to the nearest orthogonal matrix
        W = 1.5 * W - 0.5 * W @ (W.T @ W)
    return W, momentum


def run(n_batch, turn, seed):
    """Error, and the smallest and largest share of small codes of an atom, every few steps."""
    X, _, components = make_sparse_coded(N_SAMPLES, N_FEATURES, sparsity=0.5, random_state=seed)
    X = (X / np.sqrt(np.mean(X**2, axis=1))[:, None]).astype(np.float32)
    rng = np.random.default_rng(seed)
    W = np.linalg.qr(rng.standard_normal((N_FEATURES, N_FEATURES)))[0].astype(np.float32)
    momentum, found = np.zeros_like(W), []
    for n_steps in range(1, N_STEPS + 1):
        W, momentum = step(W, momentum, X[rng.permutation(N_SAMPLES)[:n_batch]], turn)
        if n_steps % EVERY == 0:
            S = X @ W.T
            small = (np.abs(S) < 0.3 * np.sqrt(np.mean(S**2, axis=0))).mean(axis=0)
            found.append((dictionary_error(W, components), small.min(), small.max()))
    return np.array(found).T


# %%
# If the search is too hot, the atoms wander; if it is too cold, they get stuck in a local minimum. In between, some
# atoms find true ones and the others follow. The error that remains is caused by the temperature itself: to remove it,
# hrpursuit shrinks the steps at the end, and polishes the result.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
steps = EVERY * np.arange(1, N_STEPS // EVERY + 1)
for label, (n_batch, turn, colour) in SETTINGS.items():
    runs = [run(n_batch, turn, seed) for seed in range(3)]
    for k, (error, _, _) in enumerate(runs):
        left.plot(steps, error, color=colour, lw=1.8, label=label if k == 0 else None)
    _, fewest, most = runs[0]
    if (n_batch, turn) != (N_SAMPLES, 0.3):  # it would hide the others
        right.fill_between(steps, fewest, most, color=colour, alpha=0.5, lw=0)
    print(f"{label}: error {np.median([error[-1] for error, _, _ in runs]):.2f}")
figure.legend(loc="outside upper center", ncols=4, fontsize=10, frameon=False)
left.set(xlabel="steps, three random starts each", ylabel="relative error of the dictionary", ylim=(0, 1.3))
right.axhline(0.236, color="0.3", lw=1, ls=":")
right.text(N_STEPS - 5, 0.21, "Gaussian codes", fontsize=9, color="0.3", ha="right", va="top")
right.set(
    xlabel="steps, one start each", ylabel="share of small codes, from the atom\nwith the fewest to that with the most"
)
right.set(ylim=(0.1, 0.7))
for axis in (left, right):
    axis.set(xlim=(0, N_STEPS))
    axis.grid(alpha=0.25)
plt.show()
