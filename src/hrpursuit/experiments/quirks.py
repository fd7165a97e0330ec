"""Habits of the published code that its text does not speak of. Off unless they are asked for by name."""

MATCHING = "many-to-one-matching"
TRUTH = "truth-stops-baselines"
NOISE = "noise-times-variance"

QUIRKS = {
    MATCHING: "each true atom takes its nearest estimate, even if another one has taken it already",
    TRUTH: "L1RGD and LogCoshRTR are stopped by the true dictionary",
    NOISE: "noise (--snr-db) is multiplied by its variance in place of its standard deviation",
}
