"""Checks of what denoising and inpainting both take."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def is_number(value: Any, kind: type) -> bool:
    """Whether it is of the kind, `Real` or `Integral`, and not a bool."""
    return isinstance(value, kind) and not isinstance(value, (bool, np.bool_))


def check_patch_size(patch_size: Any, smallest: int, largest: int) -> int:
    """As an int: squares of numpy's small integers overflow."""
    if not is_number(patch_size, Integral):
        raise TypeError(f"patch_size must be a whole number; got {patch_size!r}.")
    if not smallest <= patch_size <= largest:
        raise ValueError(f"patch_size must be {smallest} to {largest} pixels; got {patch_size}.")
    return int(patch_size)


def check_sigma(sigma: Any, none_means: str) -> None:
    """A standard deviation, or None."""
    if sigma is None:
        return
    if not is_number(sigma, Real):
        raise TypeError(
            f"sigma must be one number, the standard deviation of the noise in the unit of the image, or None; got "
            f"{sigma!r}."
        )
    if not 0 <= sigma < np.inf:
        raise ValueError(f"sigma must be finite and not negative; got {sigma}. None {none_means}.")


def check_run(n_jobs: Any, progress: Any) -> None:
    """How many tiles at a time, and whom to tell."""
    if n_jobs is not None and not is_number(n_jobs, Integral):
        raise TypeError(f"n_jobs must be a whole number or None; got {n_jobs!r}.")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; pass 1 for one tile at a time, -1 for one for each core.")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be callable with the numbers of tiles done and of all tiles; got {progress!r}.")


def seed_from(random_state: Any) -> int:
    """A seed for what is drawn; always the same one from None."""
    return int(check_random_state(0 if random_state is None else random_state).randint(2**31 - 1))
