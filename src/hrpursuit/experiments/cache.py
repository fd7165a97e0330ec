"""Results of trials on disk, each under a name made of its configuration, with the version of the code that made it."""

import ast
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from hrpursuit.experiments.experiment import Config
from hrpursuit.experiments.machine import PACKAGES, versions
from hrpursuit.files import replaced_when_done

_PACKAGE = Path(__file__).parents[1]
#: Modules that a trial's module imports, but that change no number: what they import does not count either.
_NOT_COMPUTING = ("hrpursuit", "hrpursuit.plots", "hrpursuit.progress", "hrpursuit.versions",
                  "hrpursuit.experiments.style", "hrpursuit.experiments.experiment")  # fmt: skip
#: Packages by the name that they are imported by.
_IMPORTED_AS = {"sklearn": "scikit-learn", "skimage": "scikit-image", "pywt": "PyWavelets", "spams": "spams-bin"}


@cache
def code_version(module: str) -> str:
    """Digest of what a trial of this module depends on: its source, those of the modules of hrpursuit that it imports,
    directly or by others, also inside of functions, and the versions of the packages that any of them imports.
    """
    sources, packages = _closure(module)
    digest = hashlib.sha256(versions(*sorted(packages)).encode())
    for name, path in sorted(sources.items()):
        digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def depends_on(module: str) -> set[str]:
    """Names of the modules that the digest of this one is made of."""
    return set(_closure(module)[0])


def _closure(module: str) -> tuple[dict[str, Path], set[str]]:
    sources: dict[str, Path] = {}
    packages: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _source(name)
        if name in sources or name in _NOT_COMPUTING or path is None:
            continue
        sources[name] = path
        waiting += [".".join(name.split(".")[:n]) for n in range(1, name.count(".") + 1)]  # rooms that it is in
        for found in _imports(path, name):
            root = found.partition(".")[0]
            if root == _PACKAGE.name:
                waiting.append(found)
            elif _IMPORTED_AS.get(root, root) in PACKAGES:
                packages.add(_IMPORTED_AS.get(root, root))
    return sources, packages


def _source(name: str) -> Path | None:
    """File of a module; None for what is no module of ours, such as a function that is imported from one."""
    root, _, inner = name.partition(".")
    if root != _PACKAGE.name:
        return Path(str(import_module(name).__file__))  # a trial of a user's own
    place = _PACKAGE.joinpath(*inner.split(".")) if inner else _PACKAGE
    return next((path for path in (place / "__init__.py", place.with_suffix(".py")) if path.is_file()), None)


@cache
def _imports(path: Path, name: str) -> frozenset[str]:
    """What a file imports, by names that may be modules or their contents; optional packages as `needed` has them."""
    found: set[str] = set()
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*package[: len(package) + 1 - node.level], *filter(None, [node.module])])
            base = base if node.level else str(node.module)
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called in ("needed", "import_module") and isinstance(node.args[0].value, str):
                found.add(node.args[0].value)
    return frozenset(found)


def plain(value: Any) -> Any:
    """Numbers of numpy as numbers of Python, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"results of trials are numbers, text and lists of them; got {type(value).__name__}.")


class TrialCache:
    """Trials of one experiment, in a folder.

    A file that cannot be read, or that another version of the code has written, counts as absent; `is_stale` tells
    that there is one.
    """

    def __init__(self, folder: Path, experiment: str, code: str) -> None:
        self.folder = folder / experiment
        self.code = code

    def path(self, config: Config) -> Path:
        text = json.dumps(config, sort_keys=True, default=plain)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"

    def _read(self, config: Config) -> dict[str, Any] | None:
        try:
            held = json.loads(self.path(config).read_text())
        except (OSError, ValueError):
            return None
        return held if isinstance(held, dict) and {"code", "rows"} <= held.keys() else None

    def get(self, config: Config) -> list[dict[str, Any]] | None:
        """Rows of this trial, if this version of the code has made them."""
        held = self._read(config)
        return held["rows"] if held is not None and held["code"] == self.code else None

    def is_stale(self, config: Config) -> bool:
        """Whether there is a file for this trial that is of no use."""
        return self.path(config).exists() and self.get(config) is None

    def put(self, config: Config, rows: Sequence[Mapping[str, Any]], seconds: float) -> None:
        """Keep rows; the file appears whole or not at all."""
        held = {"code": self.code, "config": config, "seconds": seconds, "rows": list(rows)}
        text = json.dumps(held, default=plain)
        self.folder.mkdir(parents=True, exist_ok=True)
        with replaced_when_done(self.path(config)) as temporary:
            temporary.write_text(text)
