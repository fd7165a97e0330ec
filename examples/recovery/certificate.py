"""
When can a learned dictionary be trusted?
=========================================
"""

# %%
# A dictionary of 20 atoms is learned from different numbers of samples, ten times each. `certificate_` judges by the
# codes alone. In this example the true dictionary is known, so the picture can show whether the certificate was right.

import matplotlib.pyplot as plt
from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

outcomes = {"certified, right": [], "certified, wrong": [], "not certified, right": [], "not certified, wrong": []}
samples = [30, 35, 40, 45, 50, 60, 80]
for n_samples in samples:
    counts = dict.fromkeys(outcomes, 0)
    for seed in range(10):
        X, _, components = make_sparse_coded(n_samples, 20, sparsity=0.3, random_state=seed)
        model = HRP(random_state=seed).fit(X)
        right = dictionary_error(model.components_, components) < 1e-6
        counts[f"{'' if model.certificate_ else 'not '}certified, {'right' if right else 'wrong'}"] += 1
    for outcome, count in counts.items():
        outcomes[outcome].append(count)

# %%
# With too few samples the dictionary is wrong, and is not certified.

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
colours = {"certified, right": "#2166ac", "certified, wrong": "#b2182b"}
colours |= {"not certified, right": "#92c5de", "not certified, wrong": "#d9d9d9"}
bottom = [0] * len(samples)
for outcome, counts in outcomes.items():
    axis.bar([str(n) for n in samples], counts, bottom=bottom, label=outcome, color=colours[outcome])
    bottom = [b + c for b, c in zip(bottom, counts, strict=True)]
axis.set(xlabel="samples of 20 features, 30% of the codes not zero", ylabel="fits", ylim=(0, 14))
axis.legend(ncols=2, loc="upper center")
plt.show()
print(outcomes)
