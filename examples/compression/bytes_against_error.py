"""
How small does a table get?
===========================
"""

# %%
# A simulated month of 56 sensors with gaps is compressed with larger and larger bounds on the error of a reading. For
# comparison, the general-purpose compressor xz gets the same readings, rounded to the same bound, without their gaps.

import lzma

import matplotlib.pyplot as plt
import numpy as np

from hrpursuit.compression import compress, decompress
from hrpursuit.datasets import make_sensor_network

table = make_sensor_network(as_frame=True, random_state=0)
readings = table.to_numpy()
bounds = [0, 1, 2, 5, 10]
ours, xz = [], []
for bound in bounds:
    data = compress(table, max_error=bound) if bound else compress(table, lossless=True)
    assert bound == 0 or (decompress(data) - table).abs().max().max() <= bound + 1e-9
    ours.append(len(data))
    step = 2 * bound if bound else 1  # the readings are whole numbers
    steps = np.diff(np.rint(readings.T[np.isfinite(readings.T)] / step).astype(np.int16), prepend=0)
    xz.append(len(lzma.compress(steps.tobytes(), preset=9)))

# %%
# Every reading is within the bound, gaps and time stamps come back, and the bound is stored in the file.

figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
places = np.arange(len(bounds))
axis.bar(
    places - 0.2, np.array(xz) / 1e3, 0.4, color="#b35806", label="differences, rounded, and xz (no gaps, no index)"
)
axis.bar(places + 0.2, np.array(ours) / 1e3, 0.4, color="#2166ac", label="hrpursuit (all of it)")
for place, size in zip(places, ours, strict=True):
    axis.text(place + 0.2, size / 1e3, f"{size / 1e3:.1f}", ha="center", va="bottom", fontsize=9)
axis.set(xlabel="no reading is off by more than", ylabel="kilobytes")
axis.set_xticks(places, ["lossless", *(f"{bound:g}" for bound in bounds[1:])])
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)
plt.show()
print(f"as 64-bit floats: {readings.nbytes:,} bytes; without loss: {ours[0]:,}")
