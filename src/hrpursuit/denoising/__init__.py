"""Denoise images, and fill in their missing pixels, with dictionaries learned on their own patches."""

from hrpursuit.denoising.denoise import denoise
from hrpursuit.denoising.inpainting import inpaint
from hrpursuit.denoising.noise import estimate_sigma
from hrpursuit.denoising.patch_hrp import PatchHRP

__all__ = ["PatchHRP", "denoise", "estimate_sigma", "inpaint"]
