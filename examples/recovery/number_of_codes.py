"""
How many codes does a sample need?
==================================
"""

# %%
# Each sample has three nonzero codes, and there is noise. The reconstruction error falls with every additional code, so
# it cannot be used to choose the number; the likelihood of held-out samples can.

import matplotlib.pyplot as plt
import numpy as np

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded

rng = np.random.default_rng(0)
atoms = make_sparse_coded(1, 20, sparsity=1, random_state=0)[2]
in_use = rng.random((2_000, 20)).argsort(axis=1).argsort(axis=1) < 3
X = (rng.standard_normal(in_use.shape) * in_use) @ atoms
X += 0.05 * np.std(X) * rng.standard_normal(X.shape)
learned, held_out = X[:1_000], X[1_000:]

numbers = np.arange(1, 9)
models = [HRP(n_nonzero_coefs=int(number), random_state=0).fit(learned) for number in numbers]
errors = [model.reconstruction_error(held_out) for model in models]
scores = [model.score(held_out) for model in models]

# %%
# ``score`` has its maximum at three. scikit-learn's grid search finds it in the same way.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.semilogy(numbers, errors, "o-", color="#b35806")
left.set(ylabel="reconstruction_error of held-out samples")
right.plot(numbers, scores, "o-", color="#2166ac")
right.axvline(numbers[np.argmax(scores)], color="0.5", ls="--", lw=1)
right.set(ylabel="score of held-out samples")
for axis in (left, right):
    axis.set(xlabel="n_nonzero_coefs", xticks=numbers)
    axis.grid(alpha=0.3, which="both")
plt.show()
print(f"chosen: {numbers[np.argmax(scores)]}")
