"""The experiments by name."""

import difflib
from importlib import import_module

from hrpursuit.experiments.experiment import Experiment
from hrpursuit.rows.optional import needed

#: In the order of the paper.
NAMES = (
    "flow",
    "lp-balls",
    "two-stage",
    "convergence",
    "landscape",
    "good-subset",
    "sample-complexity",
    "recovery-heatmaps",
    "time-by-atoms",
    "time-by-samples",
    "missing-data",
    "sensor-table",
    "denoising",
    "theory",
)


def find(name: str) -> Experiment:
    """The experiment of this name; each module of the catalogue has one, called EXPERIMENT."""
    if name not in NAMES:
        near = difflib.get_close_matches(name, NAMES, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ValueError(f"there is no experiment {name!r}; {hint}The names are: {', '.join(NAMES)}, or all.")
    for package in ("pandas", "matplotlib", "jinja2", "skimage", "pywt"):  # before the work, not after
        needed(package, "Experiments", "experiments")
    module = import_module(f"hrpursuit.experiments.catalogue.{name.replace('-', '_')}")
    return module.EXPERIMENT
