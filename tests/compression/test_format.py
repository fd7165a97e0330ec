"""The bytes are those of docs/reference/format.md, written out by hand."""

import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from hrpursuit.compression import Decoder, Target, compress, describe

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "format.md"


def test_a_plain_file():
    data = compress(np.arange(10, dtype="i2").reshape(5, 2), max_error=0.5, chunk_rows=3)
    first, second = Decoder(data).chunks
    shared = describe(data).parts.get("dictionary", 0)
    body = bytes([1, 0, 3, 2, 5, 1, 3, 2, 0x82])  # version, array, target: max_error 5 10^-1, rows, columns, int16
    assert data[:5] == b"\x89HRP" + bytes([len(body) + 1 + shared])
    assert data[5 : 6 + len(body)] == body + bytes([shared])
    seed = zlib.crc32(data[: first.offset - 4])
    assert data[first.offset - 4 : first.offset] == seed.to_bytes(4, "little")
    for row, n_rows, chunk in ((0, 3, first), (3, 2, second)):
        part = data[chunk.offset : chunk.offset + chunk.n_bytes]
        assert part[:5] == bytes([0xC5, 0x9E, len(part) - 7, row, 2 * n_rows])
        assert part[-4:] == zlib.crc32(part[:-4], seed).to_bytes(4, "little")
    end = bytes([0xC5, 0xDA, 5, first.offset, 2, first.n_bytes, second.n_bytes, 2]) + bytes([8, 0, 0, 0])
    assert data[second.offset + second.n_bytes :] == end + zlib.crc32(end, seed).to_bytes(4, "little")


def test_the_targets_in_the_document():
    text = DOCUMENT.read_text()
    for amounts, section in (([0.5] * 1000, "03 02 05 01"), ([0.0] + [0.5] * 999, "06 02 00 00 01 05 01")):
        assert f"`{section}`" in text
        assert Target.of_columns("max_error", amounts).to_bytes() == bytes.fromhex(section)


def test_the_description_of_a_frame():
    hours = pd.date_range("2017-10-01", periods=3, freq="h", unit="s")
    names = pd.Index([f"s{i:02d}" for i in range(1, 57)], dtype="str")
    data = compress(pd.DataFrame(np.zeros((3, 56)), index=hours, columns=names), lossless=True)
    group = bytes.fromhex("06 01 73 00 02 38 02 00 02")
    assert "`06 01 73 00 02 38 02 00 02`" in DOCUMENT.read_text()
    kind = 5 | 0 << 3 | 1 << 7  # time stamps, seconds, a frequency follows
    # 2017-10-01 is 1506816 * 10^3 s; an hour 36 * 10^2 s
    mantissa = 2 * 1506816
    labels = bytes(
        [kind, 0, mantissa & 127 | 128, mantissa >> 7 & 127 | 128, mantissa >> 14 & 127 | 128, mantissa >> 21, 3, 72, 2]
    )
    description = bytes([0, 2, 0]) + group + labels + b"\x01h" + b"\x00"
    assert Decoder(data)._header.n_description == len(description)
    assert description in data
