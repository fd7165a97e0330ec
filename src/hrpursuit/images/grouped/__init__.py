"""Denoising in groups of similar patches: the modes `best` and `fast`."""

from hrpursuit.images.grouped.progressive import denoise_in_two_steps, denoise_progressively

__all__ = ["denoise_in_two_steps", "denoise_progressively"]
