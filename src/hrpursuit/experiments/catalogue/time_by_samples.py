"""CPU time of all methods against the number of samples, with 20 atoms."""

from hrpursuit.experiments import timing

CELLS = tuple((20, n_samples) for n_samples in (100, 2300, 4500, 10_000))
#: Seconds in the paper's table, by method.
PAPER = {
    "proposed": (0.005, 0.019, 0.023, 0.09),
    "ksvd": (0.02, 0.08, 0.14, 0.30),
    "spams": (0.35, 1.58, 1.74, 2.02),
    "translearn": (1.95, 13.87, 23.36, 82.73),
    "logcosh-rtr": (49.25, 50.59, 54.87, 287.20),
    "l1-rgd": (0.23, 0.29, 0.34, 2.47),
    "l4-msp": (0.01, 0.09, 0.16, 0.36),
    "l3-s1": (0.005, 0.016, 0.019, 0.07),
}

EXPERIMENT = timing.experiment(
    "time-by-samples", "CPU time against the number of samples", "Table: CPU time with N = 20 and different L",
    CELLS, PAPER, by="n_samples", caption="CPU time with 20 atoms, θ = .2",
)  # fmt: skip
