"""
What if the noise is that of counted photons?
=============================================
"""

# %%
# A camera counts photons: dark places have little noise, bright ones much. With ``noise="poisson"`` each pixel is
# treated with the noise that its brightness has.

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
# The peak signal-to-noise ratio is of the brightness that the counts stand for.

figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
for axis, (name, picture) in zip(axes, pictures.items(), strict=True):
    axis.imshow(picture, cmap="gray", vmin=0, vmax=PHOTONS)
    axis.set_axis_off()
    quality = peak_signal_noise_ratio(image, picture, data_range=PHOTONS)
    axis.set_title(name if picture is image else f"{name}\n{quality:.1f} dB")
plt.show()
