"""Habits of the published code that its text does not speak of. Off unless they are asked for by name."""

MATCHING = "many-to-one-matching"
TRUTH = "truth-judges-baselines"
NOISE = "noise-times-variance"

QUIRKS = {
    MATCHING: "each true atom takes its nearest estimate, even if another one has taken it already",
    TRUTH: "L1RGD and LogCoshRTR start anew until the true dictionary says that it has been found, and the best by it "
    "is taken; for the readings the result of the paper's scheme stands for the truth",
    NOISE: "noise (--snr-db) is multiplied by its variance in place of its standard deviation",
}
