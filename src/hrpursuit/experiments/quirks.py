"""Habits of the published code that the paper's text does not speak of, by name."""

from collections.abc import Collection

MATCHING = "many-to-one-matching"
TRUTH = "truth-judges-baselines"
NOISE = "noise-times-variance"
SQUARES = "squared-errors"
SHRINK = "step-always-shrinks"
STALE = "codes-before-cleaning"
INVERSE = "codes-by-inverse"
GRADIENT = "plain-gradient"
TRANSPOSE = "transpose-decodes"
ONE_START = "one-start"
ROUNDING = "rounding-in-whole-space"
FIFTY = "fifty-iterations"

QUIRKS = {
    MATCHING: "each true atom takes its nearest estimate, even if another one has taken it already",
    TRUTH: "l1-RGD stops at an atom of the true dictionary: runs for synthetic data at 1 - |cos| <= 0.01, for the "
    "readings, where the result of the paper's scheme stands for the truth, at 0.001; what no run has found is zero",
    NOISE: "noise (--snr-db) is multiplied by its variance in place of its standard deviation",
    SQUARES: "the heat maps average squared errors",
    SHRINK: "on the sphere the step of Stage Two shrinks at every iteration, and again when the objective "
    "does not fall",
    STALE: "K-SVD starts from a random orthogonal dictionary and makes 10 iterations; the readings are decoded with "
    "the codes of the last sweep, by a dictionary whose idle and doubled atoms have been replaced since",
    INVERSE: "SPAMS starts from a random orthogonal dictionary, and codes by the inverse of the one that it learns",
    GRADIENT: "TransLearn starts from the identity, keeps codes that tie with the T0-th largest of their sample, and "
    "takes gradient steps of fixed size in place of conjugate gradients",
    TRANSPOSE: "TransLearn decodes with the transpose of its transform, rows scaled to unit norm, in place of its "
    "inverse; on synthetic data these rows are its dictionary",
    ONE_START: "l1-RGD by deflation makes one start for each atom, 4000 steps of 1 / sqrt(t)",
    ROUNDING: "logcosh-RTR rounds by subgradients, outside of the complement of the atoms before; the dictionary is "
    "not orthogonal, and codes by its transpose",
    FIFTY: "l4-MSP stops after 50 iterations",
}
#: Those that the published code has for each method; the paper's own scheme and l3-s1 have none.
OF_METHOD = {
    "ksvd": (STALE,),
    "spams": (INVERSE,),
    "translearn": (GRADIENT, TRANSPOSE),
    "logcosh-rtr": (ROUNDING,),
    "l1-rgd": (ONE_START, TRUTH),
    "l4-msp": (FIFTY,),
}


def of_method(name: str, asked: Collection[str] | None = None) -> list[str]:
    """The quirks of the published code for a method: all, or those that are asked for."""
    return sorted(quirk for quirk in OF_METHOD.get(name, ()) if asked is None or quirk in asked)
