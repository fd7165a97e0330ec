"""Writing files so that they appear whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

_ZARR_MARKS = ("zarr.json", ".zarray", ".zgroup")


def check_writable(path: str | PathLike[str], *inputs: str | PathLike[str]) -> None:
    """Raise OSError or ValueError if nothing can be written there, or it is an input: before the work, not after.

    A folder is in the way, unless it is a Zarr array that another one may replace.
    """
    target = Path(path)
    for source in inputs:
        if target.exists() and Path(source).exists() and target.samefile(source):
            raise ValueError(f"{target} is also read; give another name for the output.")
        if Path(source).is_dir() and Path(source).resolve() in target.resolve().parents:
            raise ValueError(f"{target} is inside {source}, which is read; give another place for the output.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {target}: the folder {target.parent} does not exist.")
    is_zarr = target.suffix.lower() == ".zarr" and any((target / mark).exists() for mark in _ZARR_MARKS)
    if target.is_dir() and not is_zarr:
        raise IsADirectoryError(f"cannot write {target}: it is a folder.")
    if target.suffix.lower() == ".zarr" and target.is_file():
        raise FileExistsError(f"cannot write {target}: it is a file, and a Zarr array is a folder.")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"cannot write {target}: no permission to write in the folder {target.parent}.")


@contextmanager
def replaced_when_done(path: str | PathLike[str], *, folder: bool = False) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` at the end, or remove it if anything fails."""
    check_writable(path)
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}{target.suffix}")
    try:
        if folder:
            temporary.mkdir()
        else:
            temporary.touch(exist_ok=False)
        yield temporary
        _replace(temporary, target)
    except BaseException:
        if folder:
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)
        raise


def _replace(temporary: Path, target: Path) -> None:
    if not target.is_dir():
        temporary.replace(target)
        return
    old = target.with_name(f".{target.name}.{secrets.token_hex(6)}.old")
    target.replace(old)
    try:
        temporary.replace(target)
    except BaseException:
        old.replace(target)
        raise
    shutil.rmtree(old)
