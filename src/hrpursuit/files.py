"""Writing files so that they appear whole or not at all."""

import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import BinaryIO

_ZARR_MARKS = ("zarr.json", ".zarray", ".zgroup")
_MOST_LINKS = 40  # one after the other, as Linux follows them
_LONGEST_PART = 100  # bytes of the name that a temporary name repeats; most file systems allow 255 in all
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FOLDER_IN_THE_WAY = (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES)  # the last on Windows
_ACL = "system.posix_acl_access"
_unfinished: set[Path] = set()  # temporary files and folders of writes that have not ended


def check_writable(path: str | PathLike[str], *inputs: str | PathLike[str]) -> None:
    """Raise OSError or ValueError if nothing can be written there, or it is an input: before the work, not after.

    A folder is in the way, unless it is a Zarr array that another one may replace. A file that is read-only stays.
    """
    given = Path(path)
    for source in inputs:
        if given.exists() and Path(source).exists() and given.samefile(source):
            raise ValueError(f"{given} is also read; give another name for the output.")
        if Path(source).is_dir() and Path(source).resolve() in given.resolve().parents:
            raise ValueError(f"{given} is inside {source}, which is read; give another place for the output.")
    target = _end_of_links(given)
    is_zarr = given.suffix.lower() == ".zarr"
    if _is_stream(target):
        if is_zarr or target.is_block_device() or target.is_socket():
            what = "it is a device, and a Zarr array is a folder" if is_zarr else "it is a block device or a socket"
            raise OSError(f"cannot write {given}: {what}; give the name of a file.")
    elif not target.parent.is_dir():
        where = f"the folder {target.parent} does not exist"
        raise FileNotFoundError(
            f"cannot write {given}: {where if target == given else f'it is a link to {target}, and {where}'}."
        )
    elif target.is_dir() and not (is_zarr and any((target / mark).exists() for mark in _ZARR_MARKS)):
        raise IsADirectoryError(f"cannot write {given}: it is a folder.")
    elif is_zarr and target.is_file():
        raise FileExistsError(f"cannot write {given}: it is a file, and a Zarr array is a folder.")
    elif not os.access(target.parent, os.W_OK):
        raise PermissionError(f"cannot write {given}: no permission to write in the folder {target.parent}.")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"cannot write {given}: it is read-only; make it writable, or give another name.")


@contextmanager
def replaced_when_done(
    path: str | PathLike[str], *, folder: bool = False, n_bytes: int | None = None
) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` at the end, or remove it if anything fails.

    Permissions, and where the system allows it the owner, of a file that is replaced stay; other hard links to it keep
    what they had. A symbolic link stays, and what it leads to is replaced. A device, a FIFO, or a file that is open in
    a process (/dev/stdout) is not replaced: what was written elsewhere is copied to it at the end. A full disk is an
    OSError that names `path`, and says how much is needed where `n_bytes` does.
    """
    check_writable(path)
    target = _end_of_links(Path(path))
    is_stream = _is_stream(target)
    temporary = _temporary_name(Path(tempfile.gettempdir()) / target.name if is_stream else target)
    try:
        _unfinished.add(temporary)
        with named_if_full(path, temporary, n_bytes):
            if folder:
                temporary.mkdir()
            else:
                temporary.touch(0o600 if target.exists() else 0o666, exist_ok=False)
            yield temporary
            if is_stream:
                with temporary.open("rb") as written, _opened(target) as stream:
                    shutil.copyfileobj(written, stream, 1 << 20)
                return
            if target.exists():
                _keep_permissions(target, temporary)
            _replace(temporary, target)
    finally:
        _remove(temporary)


def remove_unfinished() -> None:
    """Remove the temporary files of all writes that have not ended: for a program that a signal has told to stop, whose
    own removing may have been stopped by another one.
    """
    for path in list(_unfinished):
        _remove(path)


class FullDisk(OSError):
    """There is no room for a file, or not enough is allowed."""


@contextmanager
def named_if_full(path: str | PathLike[str], written: Path | None = None, n_bytes: int | None = None) -> Iterator[None]:
    """Say of a full disk which file it was that could not be written; `written` is what there is of it so far."""
    try:
        yield
    except FullDisk:
        raise
    except (OSError, RuntimeError) as error:  # those of h5py are of both kinds
        number = getattr(error, "errno", None)
        if number not in _FULL:
            number = next((n for n in _FULL if os.strerror(n) in str(error)), None)
        if number is None:
            raise
        told = FullDisk(f"cannot write {path}: {os.strerror(number).lower()}{_figures(written, n_bytes)}.")
        told.errno = number
        raise told from error


def _figures(written: Path | None, n_bytes: int | None) -> str:
    if written is None:
        return ""
    size = sum(one.stat().st_size for one in (written, *written.rglob("*")) if one.is_file())
    needed = "" if n_bytes is None else f"about {_megabytes(n_bytes)} are needed, "
    free = _megabytes(shutil.disk_usage(written.parent).free)
    return f" ({needed}{_megabytes(size)} were written, {free} are free in {written.parent})"


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.2f} MB"


def _end_of_links(path: Path) -> Path:
    """What symbolic links lead to, whether it exists or not."""
    given = path
    for _ in range(_MOST_LINKS):
        if not path.is_symlink() or _is_open_elsewhere(path):
            return path
        path = path.parent / path.readlink()
    raise OSError(f"cannot write {given}: its symbolic links go round in a circle.")


def _is_open_elsewhere(path: Path) -> bool:
    """Whether it stands for a file that a process has open, as /proc/self/fd/1 does, where /dev/stdout leads."""
    return os.path.realpath(path.parent).startswith("/proc/")


def _is_stream(path: Path) -> bool:
    """Whether it can only be written to, not replaced."""
    return _is_open_elsewhere(path) or (path.exists() and not path.is_file() and not path.is_dir())


def _opened(stream: Path) -> BinaryIO:
    """A device to write to; one of our own open files goes on where it is."""
    if os.path.realpath(stream.parent) == f"/proc/{os.getpid()}/fd":
        return open(os.dup(int(stream.name)), "wb")  # noqa: PTH123 - a number, and closed by the caller
    return stream.open("ab")


def _temporary_name(target: Path, ending: str | None = None) -> Path:
    """A new hidden name beside `target`, with its suffix."""
    ending = target.suffix if ending is None else ending
    start = os.fsencode(target.name)[:_LONGEST_PART].decode(errors="ignore")
    return target.with_name(f".{start}.{secrets.token_hex(6)}{ending if len(ending) <= 16 else ''}")


def _keep_permissions(old: Path, new: Path) -> None:
    before = old.stat()
    mode = stat.S_IMODE(before.st_mode)
    if hasattr(os, "chown") and (before.st_uid, before.st_gid) != (new.stat().st_uid, new.stat().st_gid):
        with suppress(PermissionError):  # nobody but root gives files away; a group of one's own can be kept
            os.chown(new, -1, before.st_gid)
            os.chown(new, before.st_uid, -1)
    if new.stat().st_uid != before.st_uid:
        mode &= ~(stat.S_ISUID | stat.S_ISGID)
    new.chmod(mode)
    if hasattr(os, "getxattr"):
        with suppress(OSError):  # most files have no list of further users
            os.setxattr(new, _ACL, os.getxattr(old, _ACL))


def _replace(temporary: Path, target: Path) -> None:
    """Rename a file or a folder. A folder in its place is moved aside first, as often as another process brings one."""
    aside: list[Path] = []
    try:
        while True:
            try:
                temporary.replace(target)
                return
            except OSError as error:
                if not temporary.is_dir() or error.errno not in _FOLDER_IN_THE_WAY:
                    raise
            aside.append(_temporary_name(target, ".old"))
            with suppress(FileNotFoundError):
                target.replace(aside[-1])
    except BaseException:
        if aside and aside[-1].exists() and not target.exists():
            aside.pop().replace(target)
        raise
    finally:
        _unfinished.update(aside)
        for old in aside:
            _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
    _unfinished.discard(path)
