"""Denoise images, and fill in their missing pixels, with dictionaries learned on their own patches."""

from hrpursuit.denoising.denoise import denoise
from hrpursuit.denoising.noise import estimate_sigma

__all__ = ["denoise", "estimate_sigma"]
