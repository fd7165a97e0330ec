"""docs/reference/hrp.ksy describes the container: what Kaitai Struct finds by it is what our readers find."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hrpursuit.compression import Encoder, compress
from hrpursuit.compression.checking import Checked

from .second_reader import container as reader

HERE = Path(__file__).parent
DESCRIPTION = HERE.parents[1] / "docs" / "reference" / "hrp.ksy"
PACKAGES = ["kaitai-struct-compiler@0.11.0", "kaitai-struct@0.11.0", "js-yaml@4.1.0"]


@pytest.fixture(scope="module")
def kaitai(tmp_path_factory):
    """Runs the description on files, by the compiler of Kaitai Struct."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("needs npm and node, to run the compiler of Kaitai Struct")
    folder = tmp_path_factory.mktemp("kaitai")
    try:
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *PACKAGES]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    except subprocess.TimeoutExpired:
        pytest.skip("npm did not install the compiler of Kaitai Struct within two minutes")
    if done.returncode:
        pytest.skip(f"npm cannot install the compiler of Kaitai Struct: {done.stderr[-300:]}")
    script = shutil.copy(HERE / "kaitai.js", folder)  # node looks for packages beside it

    def run(files):
        paths = []
        for number, data in enumerate(files):
            paths.append(folder / f"{number}.hrp")
            paths[-1].write_bytes(data)
        done = subprocess.run(["node", script, DESCRIPTION, *paths], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def files():
    table = np.arange(900.0).reshape(-1, 3)
    frame = pd.DataFrame(table, index=pd.date_range("2020", periods=300, freq="h"), columns=["a", "b", "c"])
    frame.attrs = {"unit": "K"}
    uneven = frame.set_axis(frame.index + pd.to_timedelta(np.arange(300) ** 2, "s")).astype({"b": "Int32", "c": "int8"})
    encoder = Encoder(lossless=True, chunk_rows=40)
    flushed = [encoder.append(uneven[a:b]) + encoder.flush() for a, b in ((0, 7), (7, 200), (200, 300))]
    yield compress(table, lossless=True, chunk_rows=128)
    yield compress(table[:0], max_error=0.5)
    yield compress(table[:, :0], lossless=True, chunk_rows=70)
    yield compress(table, n_nonzero_coefs=2)
    yield compress(frame, relative_rmse=0.05)
    yield compress(table, max_error=[0.5, 0, 0.25])
    yield compress(np.zeros((2, 300)), max_error=[0.5, 0.25] * 150)
    yield b"".join(flushed) + encoder.finish()
    yield compress(frame.assign(b=[f"text {i % 3}" for i in range(300)]), lossless=True, chunk_rows=100)
    yield compress(frame[:10], lossless=True) + compress(frame[10:], max_error=3, chunk_rows=9)


def test_kaitai_finds_what_the_readers_find(kaitai, tmp_path, monkeypatch):
    cases = list(files())
    path = tmp_path / "appended.hrp"
    path.write_bytes(cases[0])
    encoder = Encoder.append_to(path)
    cases.append(cases[0] + encoder.append(np.zeros((5, 3))) + encoder.finish())
    monkeypatch.setattr("hrpursuit.compression.codec.checked", lambda *_: [Checked(b"\x00\x08" + b"12345678", True)])
    cases.append(compress(np.zeros((1, 1)), lossless=True))
    for data, blocks in zip(cases, kaitai(cases), strict=True):
        members = reader.members(data)
        headers = [block for block in blocks if block["kind"] == "header"]
        for block, member in zip(headers, members, strict=True):
            header = member.header
            assert (block["version"], block["isFrame"]) == (header.version, header.is_frame)
            assert reader.TARGETS[block["target"]] == header.target[0]
            assert (block["chunkRows"], block["nColumns"]) == (header.chunk_rows, len(header.types))
            assert reader.TYPES[block["types"][0][0]] == header.type_if_empty
            assert (bytes.fromhex(block["shared"]), block["checksum"]) == (header.shared, header.crc)
        chunks = [chunk for member in members for chunk in member.chunks]
        for block, chunk in zip([block for block in blocks if block["kind"] == "chunk"], chunks, strict=True):
            assert (block["firstRow"], block["nRows"]) == (chunk.first_row, chunk.n_rows)
            assert (block["isPlain"], bytes.fromhex(block["payload"])) == (chunk.is_plain, chunk.payload)
        sizes = [size for block in blocks if block["kind"] == "index" for size in block["sizes"]]
        assert sizes == [chunk.n_bytes for chunk in chunks]
        assert blocks[-1]["kind"] == "index"
        if chunks:
            assert blocks[-1]["rows"][-1] == chunks[-1].n_rows
    assert [sum(block["kind"] == "index" for block in blocks) for blocks in kaitai(cases[-2:])] == [2, 1]
