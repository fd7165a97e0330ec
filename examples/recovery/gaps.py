"""
What is lost when readings are missing?
=======================================
"""

# %%
# The data is a simulated table of 744 hours and 56 sensors. In addition to its own gaps, some readings are removed, and
# a dictionary with five codes per hour is fitted to the rest: once with the gaps left open, and once after filling them
# with the mean of the hour.

import matplotlib.pyplot as plt
import numpy as np

from hrpursuit import HRP
from hrpursuit.datasets import make_sensor_network

table = make_sensor_network(random_state=0)
table = table[:, np.isfinite(table).sum(axis=0) > len(table) / 3]
rng = np.random.default_rng(0)
order = rng.random(table.shape)


def error(model, X, observed):
    again = model.inverse_transform(model.transform(X))
    return np.linalg.norm((again - table)[observed]) / np.linalg.norm(table[observed])


shares = [0, 0.1, 0.2, 0.3]
errors = {"gaps left open": [], "gaps filled with the mean of the hour": []}
for share in shares:
    observed = np.isfinite(table) & (order >= share)
    observed[~observed.any(axis=1), 0] = True
    with_gaps = np.where(observed, table, np.nan)
    filled = np.where(observed, table, np.nanmean(with_gaps, axis=1, keepdims=True))
    for name, X in zip(errors, (with_gaps, filled), strict=True):
        model = HRP(n_nonzero_coefs=5, random_state=0).fit(X)
        errors[name].append(error(model, X, observed & np.isfinite(table)))

# %%
# Codes that are fitted to the observed readings alone reproduce them better, and the advantage grows with the share of
# missing readings. They say little about the *missing* readings, though: do not use HRP to fill gaps.

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, found), colour in zip(errors.items(), ["#2166ac", "#b35806"], strict=True):
    axis.plot(100 * np.array(shares), 100 * np.array(found), "o-", color=colour, label=name)
axis.set(xlabel="percent of the readings taken away", ylabel="error of the observed readings, percent", ylim=(0, None))
axis.legend()
axis.grid(alpha=0.3)
plt.show()
print({name: np.round(found, 3).tolist() for name, found in errors.items()})
