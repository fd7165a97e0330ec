"""Denoise images, and fill in their missing pixels, with dictionaries learned on their own patches."""

from hrpursuit.images.assumed import Noise
from hrpursuit.images.denoise import denoise
from hrpursuit.images.inpainting import inpaint
from hrpursuit.images.noise import estimate_sigma
from hrpursuit.images.patch_hrp import PatchHRP

__all__ = ["Noise", "PatchHRP", "denoise", "estimate_sigma", "inpaint"]
