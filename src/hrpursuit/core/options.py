"""Expert settings of the exact scheme, with the values that our measurements led to."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any


@dataclass(frozen=True)
class HRPOptions:
    """Settings of the exact scheme that a user seldom needs.

    Parameters
    ----------
    look_every : int or None, default=None
        Number of steps, at the start of the search, after which it looks whether the codes are sparse enough to be
        polished. None means 16 up to 32 features, else 8.
    rows_per_feature : (int, int), default=(10, 20)
        Number of samples per feature in the working sample at the start, and after `patience[0]` steps without success.
    patience : (int, int or None, int or None), default=(150, None, None)
        Maximum number of steps of the search: on the first working sample; in total if no exact atom is found (None:
        1000 up to 100 features, then fewer, but at least 300; with more than 32 features and at least nine rows per
        feature at most 800); in total if an exact atom is found (None: 100000 / n_features, but 3000 to 10000).
    alternations : int, default=50
        Maximum number of alternations between codes and dictionary over all samples, with `n_nonzero_coefs`.
    gap_rounds : int, default=100
        Maximum number of alternations between codes and dictionary, with `n_nonzero_coefs` on samples with gaps.
    free_rounds : int, default=60
        Maximum number of alternations between codes and atoms, with `n_nonzero_coefs` and `dictionary="complete"`.
    """

    look_every: int | None = None
    rows_per_feature: tuple[int, int] = (10, 20)
    patience: tuple[int, int | None, int | None] = (150, None, None)
    alternations: int = 50
    gap_rounds: int = 100
    free_rounds: int = 60

    def __post_init__(self) -> None:
        for name in ("alternations", "gap_rounds", "free_rounds"):
            self._require(name, _is_count(getattr(self, name)), "a positive whole number")
        is_count = self.look_every is None or _is_count(self.look_every)
        self._require("look_every", is_count, "None or a whole number of at least 1")
        sizes = _counts(self.rows_per_feature, 2)
        rule = "two whole numbers of at least 1, the second not below the first"
        self._require("rows_per_feature", sizes is not None and None not in sizes and sizes == sorted(sizes), rule)
        steps = _counts(self.patience, 3)
        known = [] if steps is None else [n for n in steps if n is not None]
        rises = steps is not None and steps[0] is not None and known == sorted(known)
        self._require("patience", rises, "three whole numbers of steps that do not fall (None: the default)")

    def _require(self, name: str, holds: bool, what: str) -> None:
        if not holds:
            raise ValueError(f"HRPOptions: {name} must be {what}; got {getattr(self, name)!r}.")

    def limits(self, n_features: int, n_rows: int) -> tuple[int, int, int]:
        """Steps on the first sample, in all without and in all with an exact atom; never falling."""
        first, without, with_atom = self.patience
        if without is None:
            # with many rows the answer is found within 300 steps up to 60% of nonzeros, and seldom after 800 above
            most = 800 if n_features > 32 and n_rows >= 9 * n_features else 1000
            without = max(first, 300, min(most, 100000 // n_features))
        with_atom = max(without, 3000, min(10000, 100000 // n_features)) if with_atom is None else with_atom
        return first, without, with_atom


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def _counts(values: Any, n: int) -> list[Any] | None:
    """`n` counts or None; None if they are something else."""
    if not isinstance(values, tuple | list) or len(values) != n:
        return None
    return list(values) if all(value is None or _is_count(value) for value in values) else None
