"""Denoising in groups of similar patches: the mode `best`."""

from hrpursuit.images.grouped.passes import denoise_in_groups

__all__ = ["denoise_in_groups"]
