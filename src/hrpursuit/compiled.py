"""How kernels are compiled, and where their compiled code is kept.

numba keeps compiled code beside the source and looks at the file of a kernel alone to tell whether it is up to date: a
change in a kernel that it calls, or in a constant, would go unnoticed, also after an upgrade of the package. Here the
folder is named after a digest of all kernel sources and what they import, so that changed code is compiled anew.
"""

import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
from numba.core.event import Event, Listener, register

_ROOT = Path(__file__).parent
_ROOMS = ("core", "baselines", "compression/kernels", "images")  # that have kernels
#: What the kernels of a package are for, and how long it takes to compile all that one task needs.
_KINDS = {
    "hrpursuit.core": ("the kernels of a fit", "up to ten seconds"),
    "hrpursuit.baselines": ("the kernels of other methods", "up to ten seconds"),
    "hrpursuit.images": ("the kernels for images", "up to ten seconds"),
    "hrpursuit.compression": ("the codec", "about half a minute"),
}
_PREFIX = "hrpursuit-kernels-"
_IMPORT = re.compile(rb"^\s*(?:from|import) (hrpursuit[\w.]*)(?: import (\([^)]*\)|.*))?", re.MULTILINE)
_A_WEEK = 7 * 24 * 3600  # seconds


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """`numba.njit` with `cache=True`, in a folder of our own; without a cache where no folder can be written to."""
    if function is None:
        return lambda function: kernel(function, **options)
    options = {"no_cfunc_wrapper": True} | options  # nothing calls kernels as functions of C
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


class _Notice(Listener):
    """Say on standard error that kernels are compiled, when the first one of a kind is: not where their code is read
    from the cache, which is no such event.
    """

    def __init__(self) -> None:
        self._said: set[str] = set()

    def on_start(self, event: Event) -> None:
        module = event.data["dispatcher"].py_func.__module__
        kind = next((kind for kind in _KINDS if module.startswith(kind)), None)
        if kind is not None and kind not in self._said:
            self._said.add(kind)
            what, how_long = _KINDS[kind]
            often = "once" if cache_folder() else "in every process, since NUMBA_CACHE_DIR names no folder to write to"
            sys.stderr.write(f"hrpursuit: compiling {what} for this machine, {often}; this takes {how_long} ...\n")
            sys.stderr.flush()

    def on_end(self, event: Event) -> None:
        """Nothing to say."""


register("numba:compile", _Notice())


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
    """Of the sources of all kernels below this folder, of the modules of ours that they import, which may have
    constants of theirs, and of the version of numba.
    """
    paths = [path for room in _ROOMS for path in (root / room).rglob("*") if path.suffix in (".py", ".bin")]
    contents: dict[Path, bytes] = {}
    for path in paths:
        content = path.read_bytes()
        if path.suffix == ".bin" or path.parent.name == "kernels" or b"hrpursuit.compiled" in content:
            contents[path] = content
    to_follow = list(contents.values())
    while to_follow:
        for path in _imported(to_follow.pop(), root) - contents.keys():
            contents[path] = path.read_bytes()
            to_follow.append(contents[path])
    found = hashlib.sha256(numba.__version__.encode())
    for path in sorted(contents):
        found.update(path.relative_to(root).as_posix().encode() + b"\0" + contents[path])
    return found.hexdigest()[:16]


def _imported(content: bytes, root: Path) -> set[Path]:
    """Files of our modules that a source imports."""
    files = set()
    for package, names in _IMPORT.findall(content):
        place = root.joinpath(*package.decode().split(".")[1:])
        files |= {place.with_suffix(".py"), place / "__init__.py"}
        files |= {place / f"{name}.py" for name in re.findall(r"\w+", names.decode())}
    return {path for path in files if path.is_file()}


def _user_cache() -> Path:
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home raises where there is none
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME", home / ".cache"))
