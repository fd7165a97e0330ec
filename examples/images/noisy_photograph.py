"""
What is left of a photograph under strong noise?
================================================
"""

# %%
# The noise has a standard deviation of 50 on a scale of 0 to 255. The dictionaries are learned on the noisy photograph
# itself, and the strength of the noise is estimated.

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import chelsea
from skimage.metrics import peak_signal_noise_ratio

from hrpursuit.images import denoise, estimate_sigma

clean = chelsea()[40:240, 100:350]
rng = np.random.default_rng(0)
noisy = clean + 50 * rng.standard_normal(clean.shape)
print(f"estimated noise: {estimate_sigma(noisy, average_sigmas=True, channel_axis=-1):.1f}")

# %%
# Both modes filter groups of similar patches: "fast" in three steps at one scale, "best" in six steps at three scales.

pictures = {"with noise": noisy}
for mode in ("fast", "best"):
    pictures[mode] = denoise(noisy, mode=mode, channel_axis=-1)
figure, axes = plt.subplots(1, 4, figsize=(9.0, 2.0), layout="constrained")
for axis, (name, picture) in zip(axes, {**pictures, "without": clean}.items(), strict=True):
    axis.imshow(np.clip(picture, 0, 255).astype(np.uint8))
    axis.set_axis_off()
    is_clean = picture is clean
    axis.set_title(name if is_clean else f"{name}: {peak_signal_noise_ratio(clean, picture, data_range=255):.1f} dB")
plt.show()
