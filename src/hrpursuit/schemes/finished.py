"""What a finish returns."""

from dataclasses import dataclass

from hrpursuit.core.protocols import Array


@dataclass(frozen=True)
class Finished:
    """What a finish returns.

    Attributes
    ----------
    components : array of shape (n_features, n_features)
        One unit atom per row.
    encoder : array of shape (n_features, n_features)
        The codes are X @ encoder.
    n_iter : int
        Iterations on the sample and on all rows of what was kept.
    objective_before, objective_after : float
        Per row, at the best start and at the result: the log-likelihood (for spike and slab a lower bound of it), or
        the l1 norm of the codes.
    method : str
        "maximum likelihood", "smooth likelihood", "spike and slab" or "greedy planes".
    noise : float or None
        Standard deviation of the noise, root mean square over the features; only spike and slab knows it.
    """

    components: Array
    encoder: Array
    n_iter: int
    objective_before: float
    objective_after: float
    method: str
    noise: float | None = None
