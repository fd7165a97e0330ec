"""Writing files so that they appear whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path


def check_writable(path: str | PathLike[str], *inputs: str | PathLike[str]) -> None:
    """Raise OSError or ValueError if no file can be written there, or it is an input: before the work, not after."""
    target = Path(path)
    for source in inputs:
        if target.exists() and Path(source).exists() and target.samefile(source):
            raise ValueError(f"{target} is also read; give another name for the output.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {target}: the folder {target.parent} does not exist.")
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {target}: it is a folder.")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"cannot write {target}: no permission to write in the folder {target.parent}.")


@contextmanager
def replaced_when_done(path: str | PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` at the end, or remove it if anything fails."""
    check_writable(path)
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}{target.suffix}")
    try:
        temporary.touch(exist_ok=False)
        yield temporary
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
