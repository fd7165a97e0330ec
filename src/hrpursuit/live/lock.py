"""One writer at a time for a file: a lock of the operating system, which ends with its process, whatever ends that."""

import errno
import os
import sys
import weakref
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)  # what locking says of a file that is locked already
_BEYOND = 1 << 30  # the byte that is locked on Windows, where locked bytes cannot be read: behind the process number


class LockedFile(OSError):
    """Something else writes to the file."""


class WriterLock:
    """Held until `release` or the end of the program, on a file `NAME.lock` beside the one that is written.

    The file itself is not locked, since it may not exist yet, or be replaced by another one. The lock file is removed
    at the end; one that a killed process has left is not locked any more, and in nobody's way. Where the file system
    has no locks, nothing is locked.

    Parameters
    ----------
    path : Path
        The file that will be written; links to it share its lock.
    """

    def __init__(self, path: Path) -> None:
        whole = path.resolve()
        place = whole.with_name(f"{whole.name}.lock")
        while True:
            file = place.open("a+b", buffering=0)
            try:
                _lock(file)
            except OSError as error:
                if error.errno not in _HELD:  # as of a network file system without locks
                    break
                owner = _read_owner(file)
                file.close()
                raise LockedFile(f"{path} is written by {owner}: stop that one, or give another file.") from error
            if _is_at(file, place):
                break
            file.close()  # the writer before has removed it after it was opened here
        with suppress(OSError):  # on a full disk the number is missing in the message to others
            file.truncate(0)
            file.write(str(os.getpid()).encode())
        self._finalizer = weakref.finalize(self, _release, file, place)  # at the latest when the program ends

    def release(self) -> None:
        """Let others write."""
        self._finalizer()


def _release(file: BinaryIO, place: Path) -> None:
    with suppress(OSError):  # while it is locked, so that nobody else has locked it; Windows removes no open file
        place.unlink()
    file.close()


def _lock(file: BinaryIO) -> None:
    if sys.platform == "win32":
        file.seek(_BEYOND)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        file.seek(0)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_at(file: BinaryIO, path: Path) -> bool:
    """Whether an open file is the one that has this name now."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _read_owner(file: BinaryIO) -> str:
    with suppress(OSError):
        file.seek(0)
        number = file.read(20)
        if number.isdigit():
            return f"process {number.decode()}"
    return "another process"
