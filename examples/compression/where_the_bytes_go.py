"""
Where do the bytes of a file go?
================================
"""

# %%
# A month of 56 sensors is compressed with four targets, and ``describe`` counts the bytes of each part of the file.

import matplotlib.pyplot as plt

from hrpursuit.compression import compress, describe
from hrpursuit.datasets import make_sensor_network

table = make_sensor_network(as_frame=True, random_state=0)
targets = {
    "lossless": {"lossless": True},
    "max_error=2": {"max_error": 2},
    "relative_rmse=5%": {"relative_rmse": 0.05},
    "5 codes per hour": {"n_nonzero_coefs": 5},
}
parts = {name: describe(compress(table, **target)).parts for name, target in targets.items()}

# %%
# Nearly all bytes are for the readings. Gaps, names and time stamps cost little; only the target with five codes per
# hour has to store a dictionary.

shown = {"readings": "#2166ac", "dictionary": "#b35806", "gaps": "#5aae61"}
figure, axis = plt.subplots(figsize=(8, 3.4), layout="constrained")
left = dict.fromkeys(parts, 0)
for part, colour in [*shown.items(), ("all else", "#bdbdbd")]:
    sizes = [
        sum(size for key, size in found.items() if key not in shown) if part == "all else" else found.get(part, 0)
        for found in parts.values()
    ]
    axis.barh(list(parts), sizes, left=list(left.values()), color=colour, label=part)
    left = {name: left[name] + size for name, size in zip(parts, sizes, strict=True)}
axis.invert_yaxis()
axis.set(xlabel="bytes")
axis.legend(frameon=False, loc="lower right")
axis.spines[["top", "right"]].set_visible(False)
plt.show()
print({name: dict(found) for name, found in parts.items()})
