"""
What becomes of a dictionary when the data moves on?
====================================================
"""

# %%
# The true dictionary is constant at first, then drifts slowly, is constant again, and is then replaced by another one.
# `MiniBatchHRP` gets the samples in batches of 50; `HRP` is fitted once, to the first 1,000 samples.

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import expm

from hrpursuit import HRP, MiniBatchHRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

N_FEATURES, BATCH, DRIFT_FROM, DRIFT_TO, CHANGE, END = 20, 50, 4_000, 12_000, 16_000, 20_000
rng = np.random.RandomState(0)
skew = rng.standard_normal((N_FEATURES, N_FEATURES))
skew -= skew.T
turn = expm(BATCH * 5e-5 * np.sqrt(N_FEATURES) * skew / np.linalg.norm(skew))  # half a percent in 100 samples


def stream():
    """Batches of samples, a fifth of the codes not zero, 30 dB of noise; and the dictionary behind each."""
    W = None  # a random one
    for row in range(0, END, BATCH):
        if row == CHANGE:
            W = None
        elif DRIFT_FROM <= row < DRIFT_TO:
            W = W @ turn
        X, _, W = make_sparse_coded(BATCH, N_FEATURES, sparsity=0.2, components=W, snr_db=30, random_state=rng)
        yield X, W


# %%
# Both are compared with the true dictionary of the moment, which neither of them knows.

online, once, first = MiniBatchHRP(random_state=0), HRP(random_state=0), []
rows, errors, drifts = [], {"online": [], "once": []}, []
for batch, W in stream():
    online.partial_fit(batch)
    if len(first) < 1_000 // BATCH:
        first.append(batch)
        if len(first) == 1_000 // BATCH:
            once.fit(np.concatenate(first))
    if hasattr(once, "components_"):
        rows.append(online.n_samples_seen_)
        errors["online"].append(dictionary_error(online.components_, W))
        errors["once"].append(dictionary_error(once.components_, W))
        drifts.append(online.drift_)
print(f"changes seen: {online.n_changes_}")
print(f"error at the end: {errors['online'][-1]:.4f}; of the fit at the start: {errors['once'][-1]:.2f}")

# %%
# The online estimate follows the drift closely, notices the change, and is right again a few hundred samples later.
# `drift_` does not need the true dictionary: it measures how much less sparse the codes have become.

figure, (top, bottom) = plt.subplots(2, 1, sharex=True, height_ratios=[2.2, 1], figsize=(8, 5.6), layout="constrained")
top.semilogy(rows, errors["once"], color="#b35806", lw=1.8, label="HRP, fitted once at the start")
top.semilogy(rows, errors["online"], color="#2166ac", lw=1.8, label="MiniBatchHRP")
top.set(ylabel="relative error of the dictionary", ylim=(7e-4, 3))
top.legend(loc="upper left", bbox_to_anchor=(0.0, 0.93), frameon=False)
bottom.plot(rows, drifts, color="#2166ac", lw=1.8)
bottom.set(xlabel="samples seen", ylabel="drift_", xlim=(0, END), ylim=(-0.08, None))
for axis in (top, bottom):
    axis.axvspan(DRIFT_FROM, DRIFT_TO, color="0.92", lw=0)
    axis.axvline(CHANGE, color="0.5", lw=1, ls="--")
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
for x, text in ((DRIFT_FROM / 2, "still"), ((DRIFT_FROM + DRIFT_TO) / 2, "slow drift"), (CHANGE, "sudden change")):
    top.text(x, 1.02, text, transform=top.get_xaxis_transform(), ha="center", va="bottom")
bottom.xaxis.set_major_formatter("{x:,.0f}")
figure.align_ylabels()
plt.show()
