"""Denoise images, and fill in their missing pixels, with dictionaries learned on their own patches."""
