"""A page for each public module and one for each public name in it, made from the docstrings when the site is built."""

import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

#: Public modules in the order of the reference, and what each is for.
MODULES = {
    "hrpursuit": "Learn a dictionary: the estimators, and what they return",
    "hrpursuit.compression": "Tables of readings as small files",
    "hrpursuit.compression.zarr": "The codec for Zarr 3",
    "hrpursuit.compression.numcodecs": "The codec for numcodecs and Zarr 2",
    "hrpursuit.live": "Readings as messages, one per time slot",
    "hrpursuit.images": "Denoising, missing pixels, the dictionary of an image",
    "hrpursuit.rows": "Data that is not in memory",
    "hrpursuit.datasets": "Simulated data",
    "hrpursuit.metrics": "Errors against a known truth",
    "hrpursuit.baselines": "The methods that the paper compares with",
    "hrpursuit.plots": "Pictures of results",
}

#: Of modules that also have names for use within the package, those that users need.
NAMES = {
    "hrpursuit.compression.numcodecs": ["HRPCodec"],
    "hrpursuit.rows": ["open_rows", "write_blocks", "BlockError", "Rows", "Source", "Opener"],
}
#: Methods for use within the package, or called by another library.
INTERNAL = {
    "Certificate": {"reordered"},
    "Decoder": {"parts_of_headers", "parts_of_chunk", "places_of"},
    "HRPCodec": {"from_dict", "to_dict", "validate", "compute_encoded_size"},
    "HRPOptions": {"limits"},
    "Noise": {"of_planes"},
    "Target": {"of_columns", "of_column", "amounts", "to_bytes", "read"},
}


def public_names(module: ModuleType) -> list[str]:
    """The names of `__all__`, or those listed above; of a module without either the functions and classes in it."""
    if module.__name__ in NAMES:
        return NAMES[module.__name__]
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(thing) or inspect.isclass(thing))
        and thing.__module__ == module.__name__
    ]


def methods_of(cls: type) -> list[str]:
    """Public methods that are defined in this package, in the order in which they are written."""
    return [
        name
        for name in dict.fromkeys(name for base in cls.__mro__ for name in vars(base))
        if not name.startswith("_")
        and inspect.isroutine(getattr(cls, name))
        and (getattr(getattr(cls, name), "__module__", "") or "").startswith("hrpursuit")
        and getattr(cls, name).__doc__
        and name not in INTERNAL.get(cls.__name__, ())
    ]


def page_of(module: str, name: str, thing: Any) -> str:
    title = f"{module}.{name}"
    lines = [title, "=" * len(title), "", f".. currentmodule:: {module}", ""]
    if inspect.isclass(thing):
        lines += [f".. autoclass:: {name}", ""]
        methods = [] if issubclass(thing, Exception) else methods_of(thing)
        if methods:
            lines += [".. rubric:: Methods", ""]
            lines += [f".. automethod:: {name}.{method}" for method in methods]
    elif inspect.isroutine(thing):
        lines += [f".. autofunction:: {name}"]
    else:
        lines += [f".. autodata:: {name}"]
    return "\n".join(lines) + "\n"


def index_of(module: str, purpose: str, names: list[str]) -> str:
    first = (import_module(module).__doc__ or "").strip()
    toctree = ["", ".. toctree::", "   :hidden:", "", *(f"   {module}.{name}" for name in names)]
    table = [f".. currentmodule:: {module}", "", ".. autosummary::", "", *(f"   {name}" for name in names)]
    return "\n".join([module, "=" * len(module), "", f"{purpose}.", "", first, "", *table, *toctree]) + "\n"


def write_if_new(path: Path, text: str) -> None:
    """Pages that have not changed are not read again by the next build."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def write_pages(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference" / "api"
    folder.mkdir(exist_ok=True)
    title = "Python: every public name"
    contents = [title, "=" * len(title), "", ".. toctree::", "   :maxdepth: 2", "", *(f"   {name}" for name in MODULES)]
    write_if_new(folder / "index.rst", "\n".join(contents) + "\n")
    written = {"index.rst"}
    for module, purpose in MODULES.items():
        loaded = import_module(module)
        names = public_names(loaded)
        pages = {f"{module}.{name}": page_of(module, name, getattr(loaded, name)) for name in names}
        for name, text in {module: index_of(module, purpose, names), **pages}.items():
            write_if_new(folder / f"{name}.rst", text)
            written.add(f"{name}.rst")
    for path in folder.glob("*.rst"):
        if path.name not in written:
            path.unlink()


def keep_trailing_underscores(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """`components_` in a docstring is an attribute of a fitted estimator, where reStructuredText would see a link."""
    for i, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...", ".. ")):
            continue
        pieces = line.split("`")  # what is between backticks stays as it is
        pieces[::2] = [re.sub(r"\b(\w*[A-Za-z0-9])_(?![\w`])", r"\1\\_", piece) for piece in pieces[::2]]
        lines[i] = "`".join(pieces)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", keep_trailing_underscores, priority=600)  # after numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
