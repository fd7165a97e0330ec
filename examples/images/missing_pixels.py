"""
How much of a photograph can be missing?
========================================
"""

# %%
# Pixels are missing at random, and where something was written over them. Patches with gaps are coded by their observed
# pixels, in a dictionary learned on the image itself.

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import chelsea

from hrpursuit.images import inpaint

image = chelsea()[70:190, 130:250]
rng = np.random.default_rng(0)
y, x = np.mgrid[:120, :120]
written = (np.abs(y - 60 - 40 * np.sin(x / 9)) < 4) | ((y % 40 < 4) & (x % 60 < 45))
masks = {"half missing": rng.random(image.shape[:2]) < 0.5, "four fifths missing": rng.random(image.shape[:2]) < 0.8}
masks["written over"] = written

# %%
# The errors are those of the missing pixels only; all others come back unchanged.

figure, axes = plt.subplots(2, 3, figsize=(9, 6.6), layout="constrained")
for column, (name, mask) in zip(axes.T, masks.items(), strict=True):
    filled = inpaint(image, mask, channel_axis=-1)
    error = np.sqrt(np.mean((filled[mask].astype(float) - image[mask]) ** 2))
    print(f"{name} ({mask.mean():.0%}): root mean squared error {error:.1f} of 255")
    column[0].imshow(np.where(mask[..., None], np.uint8(255), image))
    column[0].set_title(name)
    column[1].imshow(filled)
    column[1].set_title(f"filled: error {error:.1f} of 255")
for axis in axes.ravel():
    axis.set_axis_off()
plt.show()
