"""How kernels are compiled, and where their compiled code is kept.

numba keeps compiled code beside the source and looks at the file of a kernel alone to tell whether it is up to date: a
change in a kernel that it calls, or in a constant, would go unnoticed, also after an upgrade of the package. Here the
folder is named after a digest of all kernel sources, so that changed code is compiled anew.
"""

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
from numba.core.event import Event, Listener, install_listener

_ROOT = Path(__file__).parent
_ROOMS = ("core", "baselines", "compression/kernels", "denoising")  # that have kernels
_PREFIX = "hrpursuit-kernels-"
_A_WEEK = 7 * 24 * 3600  # seconds


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """`numba.njit` with `cache=True`, in a folder of our own; without a cache where no folder can be written to."""
    if function is None:
        return lambda function: kernel(function, **options)
    folder = cache_folder()
    if folder is None:
        return numba.njit(**options)(function)
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, folder  # numba looks at it when it decorates
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba finds no place after all
        return numba.njit(**options)(function)
    finally:
        config.CACHE_DIR = before


@contextmanager
def announced(what: str, how_long: str) -> Iterator[None]:
    """Say on standard error what is compiled and how long that takes, once something is: not where all of it is read
    from the cache.
    """
    with install_listener("numba:compile", _Notice(f"{what} for this machine, once; this takes {how_long}")):
        yield


class _Notice(Listener):
    def __init__(self, text: str) -> None:
        self._text, self._is_said = text, False

    def on_start(self, event: Event) -> None:
        if not self._is_said:
            self._is_said = True
            sys.stderr.write(f"hrpursuit: compiling {self._text} ...\n")
            sys.stderr.flush()

    def on_end(self, event: Event) -> None:
        """Nothing to say."""


@lru_cache(maxsize=1)
def cache_folder() -> str | None:
    """The first folder that can be written to of NUMBA_CACHE_DIR, the package's own __pycache__ and the user's cache;
    None where there is none.
    """
    name = f"{_PREFIX}{digest(_ROOT)}"
    given, own = os.environ.get("NUMBA_CACHE_DIR"), _ROOT / "__pycache__"
    for place in [Path(given)] if given else [own, _user_cache()]:
        folder = place / name
        try:
            if place == own and not folder.exists():
                _remove_old(own)
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return str(folder)
        except OSError:
            continue
    return None


def _remove_old(place: Path) -> None:
    """Remove folders of other versions that nobody has written to for a week: newer ones may still be in use."""
    for folder in place.glob(f"{_PREFIX}*"):
        if time.time() - folder.stat().st_mtime > _A_WEEK:
            shutil.rmtree(folder, ignore_errors=True)


def digest(root: Path) -> str:
    """Of the sources and constants of all kernels below this folder, and of the version of numba."""
    found = hashlib.sha256(numba.__version__.encode())
    for path in sorted(path for room in _ROOMS for path in (root / room).rglob("*") if path.suffix in (".py", ".bin")):
        content = path.read_bytes()
        if path.suffix == ".bin" or path.parent.name == "kernels" or b"hrpursuit.compiled" in content:
            found.update(path.relative_to(root).as_posix().encode() + b"\0" + content)
    return found.hexdigest()[:16]


def _user_cache() -> Path:
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home raises where there is none
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME", home / ".cache"))
