"""Expert settings of the exact scheme, with the values that our measurements led to."""

from dataclasses import dataclass


@dataclass(frozen=True)
class HRPOptions:
    """Settings of the exact scheme that a user seldom needs.

    Parameters
    ----------
    temperature : (float, float), default=(0.10, 0.07)
        Temperature of the heat bath at the start and from `cooling_sweeps` on, in units of rms(X) * m / n_features,
        where m is the number of rows of the working sample.
    cooling_sweeps : int, default=120
        Sweeps over which the temperature falls from the first to the second value, geometrically.
    spacing : float, default=3.5
        Spacing of the grid of angles, in units of temperature * sqrt(m) / n_features.
    look_every : int, default=4
        Sweeps between two looks at the order of the codes, at the start.
    ordered_share : float, default=0.33
        The search is ordered when every code column has more than this share of entries below 0.3 times its rms
        (Gaussian: 0.24).
    rows_per_feature : (int, int), default=(10, 20)
        Size of the working sample, and its size once `patience[0]` sweeps have brought no success.
    patience : (int, int or None, int or None), default=(100, None, None)
        Sweeps on the first working sample; in all if no exact atom is found (None: max(120, 6000 / n_features)); in all
        if one is (None: max(1000, 60000 / n_features)).
    fallback_rows_per_feature : (int, int), default=(30, 300)
        Rows of the samples for data that is not exactly sparse: of Stage One, and of the greedy sweeps.
    threshold : float, default=2.5
        Hard threshold of the finish on noisy data, in estimated standard deviations of the noise.
    refine_steps : int, default=30
        Stage Two steps over all rows on data that is not exactly sparse.
    alternations : int, default=50
        Most Procrustes alternations with `n_nonzero_coefs`; noisy data takes at most 20.
    gap_rounds : int, default=100
        Most rounds of codes and dictionary, in turn, with `n_nonzero_coefs` on data with gaps.
    free_rounds : int, default=60
        Most rounds of codes and atoms, in turn, with `n_nonzero_coefs` and a complete dictionary.
    """

    temperature: tuple[float, float] = (0.10, 0.07)
    cooling_sweeps: int = 120
    spacing: float = 3.5
    look_every: int = 4
    ordered_share: float = 0.33
    rows_per_feature: tuple[int, int] = (10, 20)
    patience: tuple[int, int | None, int | None] = (100, None, None)
    fallback_rows_per_feature: tuple[int, int] = (30, 300)
    threshold: float = 2.5
    refine_steps: int = 30
    alternations: int = 50
    gap_rounds: int = 100
    free_rounds: int = 60

    def __post_init__(self) -> None:
        hot, cold = self.temperature
        self._require("temperature", hot >= cold > 0, "two positive numbers, the first not below the second")
        positive = (
            "cooling_sweeps",
            "spacing",
            "look_every",
            "threshold",
            "refine_steps",
            "alternations",
            "gap_rounds",
            "free_rounds",
        )
        for name in positive:
            self._require(name, getattr(self, name) > 0, "positive")
        self._require("ordered_share", 0 < self.ordered_share < 1, "between 0 and 1")
        for name in ("rows_per_feature", "fallback_rows_per_feature"):
            few, many = getattr(self, name)
            self._require(name, 1 <= few <= many, "two numbers of at least 1, the second not below the first")
        first, *later = self.patience
        known = [n for n in later if n is not None]
        rising = [first, *known] == sorted([first, *known])
        self._require("patience", first >= 1 and rising, "three numbers of sweeps that do not fall (None: the default)")

    def _require(self, name: str, holds: bool, what: str) -> None:
        if not holds:
            raise ValueError(f"HRPOptions: {name} must be {what}; got {getattr(self, name)}.")

    def limits(self, n_features: int) -> tuple[int, int, int]:
        """Sweeps on the first sample, in all without and in all with an exact atom; never falling."""
        first, without, with_atom = self.patience
        without = max(first, 120, 6000 // n_features) if without is None else without
        with_atom = max(without, 1000, 60000 // n_features) if with_atom is None else with_atom
        return first, without, with_atom
