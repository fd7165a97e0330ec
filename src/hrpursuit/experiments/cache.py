"""Results of trials on disk, each under a name made of its configuration, with the version of the code that made it."""

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
_MACHINERY = ("cache", "machine", "comparison", "output", "registry", "report", "runner", "style", "workers")
_NOT_COMPUTING = ("cli", "plots.py", "versions.py", "progress.py", "experiments")


@cache
def code_version(module: str) -> str:
    """Digest of what a trial of this module may use: the sources that compute, those that the experiments share, the
    module (or folder) itself, and the versions of other packages.
    """
    own = Path(str(import_module(module).__file__))
    paths = [path for path in _PACKAGE.rglob("*.py") if path.relative_to(_PACKAGE).parts[0] not in _NOT_COMPUTING]
    paths += [path for path in (_PACKAGE / "experiments").glob("*.py") if path.stem not in _MACHINERY]
    paths += own.parent.rglob("*.py") if own.stem == "__init__" else [own]
    digest = hashlib.sha256(versions(*PACKAGES).encode())
    for path in sorted(paths):
        digest.update((path.relative_to(_PACKAGE).as_posix() if _PACKAGE in path.parents else path.name).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


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
