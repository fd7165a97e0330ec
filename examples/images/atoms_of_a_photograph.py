"""
What are the atoms of a photograph?
===================================
"""

# %%
# For each photograph, a dictionary of 64 atoms is learned on its patches of 8 x 8 pixels, with five codes per patch.

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import camera, chelsea

from hrpursuit.images import PatchHRP

grey = plt.get_cmap("gray").with_extremes(bad="#9fbfe6")
photographs = {"a cat": chelsea()[40:240, 100:300].mean(axis=-1), "a man and his camera": camera()[::2, ::2]}


def drawn(model):
    """The atoms on one sheet, most used first, with a line between them."""
    atoms = model.atoms_[np.argsort(-model.usage_)]
    sheet = np.ma.masked_all((8 * 9 + 1, 8 * 9 + 1))
    for place, atom in enumerate(atoms):
        row, column = 9 * (place // 8) + 1, 9 * (place % 8) + 1
        sheet[row : row + 8, column : column + 8] = atom / np.abs(atom).max()
    return sheet


# %%
# Smooth shades are used most, then edges and stripes in the directions that occur in the photograph: fur in one, the
# legs of a tripod in the other.

figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
for (image_axis, atom_axis), (name, image) in zip(axes.reshape(2, 2), photographs.items(), strict=True):
    model = PatchHRP(8, n_nonzero_coefs=5, random_state=0).fit(image)
    image_axis.imshow(image, cmap="gray")
    image_axis.set_title(name)
    atom_axis.imshow(drawn(model), cmap=grey)
    atom_axis.set_title("its atoms")
for axis in axes:
    axis.set_axis_off()
plt.show()
