"""CPU time of all methods against the number of atoms, with 1000 samples."""

from hrpursuit.experiments import timing

CELLS = tuple((n_atoms, 1000) for n_atoms in (10, 20, 40, 50))
#: Seconds in the paper's table, by method.
PAPER = {
    "proposed": (0.010, 0.014, 0.03, 0.04),
    "ksvd": (0.04, 0.04, 0.10, 0.14),
    "spams": (0.54, 1.45, 4.48, 6.82),
    "translearn": (3.64, 5.80, 12.38, 18.92),
    "logcosh-rtr": (22.60, 51.70, 128.13, 127.61),
    "l1-rgd": (0.051, 0.26, 2.32, 5.15),
    "l4-msp": (0.02, 0.04, 0.09, 0.11),
    "l3-s1": (0.006, 0.010, 0.02, 0.03),
}

EXPERIMENT = timing.experiment(
    "time-by-atoms", "CPU time against the number of atoms", "Table: CPU time with L = 1000 and different N",
    CELLS, PAPER, by="n_features", caption="CPU time with 1000 samples, θ = .2",
)  # fmt: skip
