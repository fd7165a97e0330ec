"""
How much of an image do five numbers per patch keep?
====================================================
"""

# %%
# All 8 x 8 patches of a photograph, each coded with T0 = 5 numbers instead of 64. The paper's scheme learns a
# dictionary and then drops all but the five largest codes; the default also fits the dictionary to five codes per
# patch.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import camera
from sklearn.exceptions import ConvergenceWarning

from hrpursuit import HRP

warnings.simplefilter("ignore", ConvergenceWarning)
image = camera()[::2, ::2] / 255.0
tiles = image.reshape(32, 8, 32, 8).swapaxes(1, 2).reshape(-1, 64)
means = tiles.mean(axis=1, keepdims=True)

coded = {}
for scheme in ("paper", "exact"):
    model = HRP(n_nonzero_coefs=5, scheme=scheme, random_state=0).fit(tiles - means)
    coded[scheme] = model.inverse_transform(model.transform(tiles - means)) + means

# %%
# Lower is better: root mean squared error in grey levels of 255.

panels = {"original": tiles, **{f'scheme="{scheme}"': found for scheme, found in coded.items()}}
figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), layout="constrained")
for axis, (title, found) in zip(axes, panels.items(), strict=True):
    error = 255 * np.sqrt(np.mean((found - tiles) ** 2))
    print(f"{title}: root mean squared error {error:.2f} grey levels")
    picture = found.reshape(32, 32, 8, 8).swapaxes(1, 2).reshape(256, 256)
    axis.imshow(picture, cmap="gray", vmin=0, vmax=1)
    axis.set_title(title if title == "original" else f"{title}, T0 = 5\nerror {error:.2f} grey levels")
    axis.set_axis_off()
plt.show()
