"""
What if the noise is that of counted photons?
=============================================
"""

# %%
# A camera counts photons: dark places have little noise, and bright places have more. With ``noise="poisson"`` each
# pixel is treated according to the noise that goes with its brightness.

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import camera
from skimage.metrics import peak_signal_noise_ratio

from hrpursuit.images import denoise

PHOTONS = 10  # in the brightest pixel
image = camera()[40:240, 130:330] / 255 * PHOTONS
counts = np.random.default_rng(0).poisson(image).astype(float)
pictures = {
    "counts": counts,
    "as if the noise were white": denoise(counts),
    'noise="poisson"': denoise(counts, noise="poisson"),
    "without noise": image,
}

# %%
# The peak signal-to-noise ratio refers to the true brightness, of which the counts are a noisy measurement.

figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
for axis, (name, picture) in zip(axes, pictures.items(), strict=True):
    axis.imshow(picture, cmap="gray", vmin=0, vmax=PHOTONS)
    axis.set_axis_off()
    if picture is image:
        axis.set_title(name)
    else:
        axis.set_title(f"{name}\n{peak_signal_noise_ratio(image, picture, data_range=PHOTONS):.1f} dB")
plt.show()
