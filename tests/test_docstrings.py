"""Public docstrings name every parameter, in order, and every class its fitted attributes."""

import inspect
import re

import pytest

import hrpursuit
from hrpursuit import (
    HRP,
    MiniBatchHRP,
    baselines,
    compression,
    datasets,
    estimators,
    images,
    metrics,
    plots,
    reports,
)
from hrpursuit.datasets import make_sparse_coded


def is_raised(value):
    """Errors and warnings have a message for a parameter."""
    return isinstance(value, type) and issubclass(value, Exception)


PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module, names in [
        (hrpursuit, [name for name in hrpursuit.__all__ if not is_raised(getattr(hrpursuit, name))]),
        (estimators, [name for name in estimators.__all__ if not is_raised(getattr(estimators, name))]),
        (baselines, baselines.__all__),
        (compression, [name for name in compression.__all__ if not is_raised(getattr(compression, name))]),
        (datasets, datasets.__all__),
        (images, images.__all__),
        (metrics, metrics.__all__),
        (plots, ["plot_against_truth", "plot_atoms", "plot_denoised", "plot_readings"]),
        (reports, ["read_targets", "study_table", "write_page"]),
    ]
    for name in names
}
ESTIMATORS = [HRP, MiniBatchHRP]
BASELINES = [getattr(baselines, name) for name in baselines.__all__]
METHODS = {
    f"{cls.__name__}.{name}": getattr(cls, name)
    for cls in [*ESTIMATORS, compression.Decoder, compression.Encoder]
    for name in dir(cls)
    if not name.startswith("_") and getattr(getattr(cls, name), "__module__", "").startswith("hrpursuit")
}


def section(docstring, title):
    """The names that a numpydoc section lists."""
    lines = inspect.cleandoc(docstring).splitlines()
    starts = [i for i, line in enumerate(lines[:-1]) if line == title and re.fullmatch("-+", lines[i + 1])]
    names = []
    for i, line in enumerate(lines[starts[0] + 2 :] if starts else [], starts[0] + 2 if starts else 0):
        if i + 1 < len(lines) and re.fullmatch("-{3,}", lines[i + 1]):
            break
        if line and not line.startswith(" "):
            names += [name.strip() for name in line.split(" : ")[0].split(",")]
    return names


@pytest.mark.parametrize(
    ("name", "thing"), {**PUBLIC, **METHODS}.items(), ids=lambda x: x if isinstance(x, str) else ""
)
def test_parameters_are_documented_in_order(name, thing):
    assert thing.__doc__
    signature = [p for p in inspect.signature(thing).parameters if p not in ("self", "cls")]
    listed = section(thing.__doc__, "Parameters") or section(thing.__doc__, "Attributes")
    assert [parameter for parameter in listed if parameter in signature] == signature


@pytest.mark.parametrize("cls", [*ESTIMATORS, *BASELINES])
def test_fitted_attributes_are_documented(cls):
    if cls is baselines.SPAMS:
        pytest.importorskip("spams", reason='needs SPAMS: pip install ".[peers]"')
    X = make_sparse_coded(100, 5, sparsity=0.3, random_state=0)[0]
    fitted = {name for name in vars(cls(random_state=0).fit(X)) if name.endswith("_") and not name.startswith("_")}
    assert fitted <= set(section(cls.__doc__, "Attributes"))


@pytest.mark.parametrize("cls", [*ESTIMATORS, *BASELINES])
def test_defaults_in_docstrings_are_those_of_the_signature(cls):
    for name, parameter in inspect.signature(cls).parameters.items():
        line = next(line for line in cls.__doc__.splitlines() if line.strip().startswith(f"{name} :"))
        documented = re.search(r"default=(.+)$", line).group(1).strip('"')
        assert documented == (
            f"{parameter.default:g}" if isinstance(parameter.default, float) else str(parameter.default)
        ) or (name == "tol" and float(documented) == parameter.default)


@pytest.mark.parametrize("name", [*PUBLIC, *METHODS])
def test_titles_of_sections_stand_on_lines_of_their_own(name):
    """One that runs into a paragraph hides the class from the reference."""
    docstring = (PUBLIC | METHODS)[name].__doc__ or ""
    assert not re.search(r"\S[ \t]+-{4,}|-{4,}[ \t]+\S", docstring)
