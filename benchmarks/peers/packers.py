"""Compressors of bytes beside those of `hrpursuit.rivals`: zpaq, a program, and blosc2."""

import re
import subprocess
import tempfile
from itertools import product
from pathlib import Path

from hrpursuit.rivals.packers import PACKERS as BASIC
from hrpursuit.rivals.packers import Packer

_BLOCK = bytes.fromhex("376b5374a03183d38cb228b0d3")  # each block of an archive of zpaq starts with it
_DATA_BLOCK = re.compile(rb"jDC\d{14}d\d{10}")


def run(*command: str, folder: str) -> None:
    """A program in a folder; its last words if it fails."""
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")


def _pack_zpaq(data: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "t").write_bytes(data)
        run("zpaq", "a", "t.zpaq", "t", "-m5", "-t1", "-noattributes", folder=folder)
        return Path(folder, "t.zpaq").read_bytes()


def _unpack_zpaq(data: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "t.zpaq").write_bytes(data)
        run("zpaq", "x", "t.zpaq", "-t1", folder=folder)
        return Path(folder, "t").read_bytes()


def _zpaq_data_bytes(archive: bytes) -> int:
    """Size of the blocks with data: an archive also has names, dates and hashes, which a table does not need."""
    blocks = archive.split(_BLOCK)[1:]
    return sum(len(_BLOCK) + len(block) for block in blocks if _DATA_BLOCK.search(block))


def _pack_blosc2(data: bytes) -> bytes:
    import blosc2  # noqa: PLC0415 - an optional peer

    ways = [(blosc2.Filter.NOFILTER, 1), (blosc2.Filter.BITSHUFFLE, 1)]
    ways += product([blosc2.Filter.SHUFFLE, blosc2.Filter.BITSHUFFLE], (2, 4, 8))
    settings = {"codec": blosc2.Codec.ZSTD, "clevel": 9, "nthreads": 1, "filters_meta": [0]}
    return min((blosc2.compress2(data, filters=[how], typesize=width, **settings) for how, width in ways), key=len)


def _unpack_blosc2(data: bytes) -> bytes:
    import blosc2  # noqa: PLC0415 - an optional peer

    return blosc2.decompress2(data)


PACKERS = {**BASIC, "zpaq": Packer(_pack_zpaq, _unpack_zpaq), "blosc2": Packer(_pack_blosc2, _unpack_blosc2)}


def counted(name: str, packed: bytes) -> int:
    """Bytes that a table costs."""
    return _zpaq_data_bytes(packed) if name == "zpaq" else len(packed)
