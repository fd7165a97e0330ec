"""Files of every kind, cut and changed in 10,000 ways: a clear error or whole chunks, never anything else.

Run `python benchmarks/damage.py [--files 10000] [--seed 0]`, or with --quick for 500 files. The files are read in
another process, so that a crash or a hang is seen, once strictly and once with damaged="skip". Counted as failures:
anything raised but DamagedFile, UnsupportedVersion and LimitExceeded, a crash, more than 20 seconds, data that differ
from the original without an error, and more than 4 times the memory that reading the unchanged file takes. Of files
whose checksums were made to fit again wrong data cannot be told, all else can; such a file may claim another way of
coding, or larger chunks, and then take the memory of these.
"""

import argparse
import io
import json
import os
import queue
import resource
import subprocess
import sys
import tempfile
import threading
import tracemalloc
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from common import command_line
from results import Results

from hrpursuit.compression import DamagedFile, Decoder, Encoder, LimitExceeded, UnsupportedVersion, compress
from hrpursuit.compression.files.feed import Feed
from hrpursuit.compression.files.frame import MARKER
from hrpursuit.compression.files.header import MAGIC
from hrpursuit.compression.files.index import TRAILER
from hrpursuit.compression.files.members import Headers
from hrpursuit.compression.files.scan import read_header
from hrpursuit.compression.layout import Cursor, varint

#: What may be raised: the file is damaged, claims to be newer, or claims to be larger than anybody asked for.
REFUSALS = (DamagedFile, UnsupportedVersion, LimitExceeded)
LIMIT = 2**24  # bytes of decoded tables: several thousand times those of the honest ones

N_FILES = 10_000
SECONDS, TIMES, START_SECONDS = 20, 4, 300
ROWS, CHUNK_ROWS = 60, 16


@dataclass(frozen=True)
class Honest:
    """A file that nobody changed, the tables of its chunks, and the memory it takes to read it."""

    name: str
    data: bytes
    tables: list
    peak: int


def readings(n_columns: int, seed: int) -> np.ndarray:
    """Smooth, rounded to one decimal, with gaps."""
    rng = np.random.default_rng(seed)
    table = 30 + np.cumsum(rng.normal(0, 1, (ROWS, n_columns)), axis=0) + rng.normal(0, 3, (ROWS, 1))
    table[rng.random(table.shape) < 0.1] = np.nan
    return np.round(table, 1)


def tables() -> Iterator[tuple[str, object]]:
    plain = readings(6, 0)
    rng = np.random.default_rng(1)
    yield "array", plain
    yield "whole numbers", np.nan_to_num(plain).astype(np.int16)
    yield "any floats", rng.normal(size=(ROWS, 4)).astype(np.float32)
    yield "states", np.column_stack([rng.random(ROWS) < 0.3, np.arange(ROWS) // 20 % 2 == 0])
    yield "few values", rng.choice(np.pi ** np.arange(1, 5), (ROWS, 3))
    yield "counts of a converter", np.round(np.cumsum(rng.normal(0, 9, (ROWS, 3)), axis=0)) * 10 / 1024
    odd = np.round(20 + np.cumsum(rng.normal(0, 0.1, (ROWS, 3)), axis=0), 1)
    odd[::7, 0], odd[5, 1], odd[6, 2] = -9999, 1e9, np.inf
    yield "odd values", odd
    hours = pd.date_range("2017-10-01", periods=ROWS, freq="h", tz="Europe/Warsaw", name="UTC time")
    frame = pd.DataFrame(plain, index=hours, columns=[f"s{i:02d}" for i in range(6)])
    frame.attrs = {"unit": "µg/m³", "places": [50.06, 19.94]}
    yield "frame", frame
    mixed = pd.DataFrame({"a": plain[:, 0], "b": np.arange(ROWS) % 7, "c": np.arange(ROWS) % 2 == 0})
    mixed["d"] = pd.array([None if i % 9 == 0 else i for i in range(ROWS)], dtype="Int16")
    mixed["e"] = np.arange(ROWS, dtype=np.uint64) * np.uint64(2**57)
    mixed.index = pd.Index([f"row {i * i}" for i in range(ROWS)])
    yield "mixed", mixed
    yield "uneven times", frame.iloc[np.sort(rng.permutation(ROWS)[: ROWS - 7])]


def honest_files() -> list[Honest]:
    files = []
    for name, content in tables():
        targets = [{"lossless": True}, *({"lossless": True, "effort": effort} for effort in ("fast", "best"))]
        if name in ("array", "frame", "whole numbers"):
            targets += [{"relative_rmse": 0.1}, {"relative_rmse": 0.01}, {"max_error": 5}, {"max_error": 0.3}]
            targets += [{"relative_error": 0.02}]  # a bound for each column
        if name == "array":
            targets += [
                {"n_nonzero_coefs": 2},
                *({"relative_rmse": 0.1, "basis": basis} for basis in ("hrp", "pca", "dct")),
            ]
        for target in targets:
            data = compress(content, chunk_rows=CHUNK_ROWS, **target)
            words = " ".join(f"{key} {value}" for key, value in target.items())
            files.append(Honest(f"{name}, {words}", data, list(Decoder(data)), 0))
        if name == "frame":
            for way, data in (("flushed and appended to", flushed(content)), ("joined", joined(content))):
                files.append(Honest(f"{name}, {way}", data, list(Decoder(data)), 0))
    return [Honest(file.name, file.data, file.tables, honest_peak(file.data)) for file in files]


def flushed(frame: pd.DataFrame) -> bytes:
    """Chunks of different lengths, and more of them behind the first index."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "readings.hrp"
        encoder = Encoder(lossless=True, chunk_rows=CHUNK_ROWS)
        path.write_bytes(
            encoder.append(frame.iloc[:5]) + encoder.flush() + encoder.append(frame.iloc[5:40]) + encoder.finish()
        )
        encoder = Encoder.append_to(path)
        return path.read_bytes() + encoder.append(frame.iloc[40:]) + encoder.finish()


def joined(frame: pd.DataFrame) -> bytes:
    return b"".join(
        compress(part, chunk_rows=rows, **target)
        for part, rows, target in (
            (frame.iloc[:20], 7, {"lossless": True}),
            (frame.iloc[20:21], 5, {"max_error": 0.3}),
            (frame.iloc[21:], CHUNK_ROWS, {"relative_rmse": 0.1}),
        )
    )


def honest_peak(data: bytes) -> int:
    read_both_ways(data)
    tracemalloc.start()
    read_both_ways(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def read_both_ways(data: bytes) -> tuple[list | None, list | None]:
    """The tables that reading strictly gives, and those that skipping gives; None if the file was refused."""
    strict = skipped = None
    with suppress(*REFUSALS):
        strict = list(Decoder(data, limit=LIMIT))
    with suppress(*REFUSALS):
        skipped = list(Decoder(data, damaged="skip", limit=LIMIT))
        Decoder(data, damaged="skip", limit=LIMIT).read()
        list(Decoder.follow(data, interval=0.001, damaged="skip", stop=lambda: True, limit=LIMIT))
    return strict, skipped


def same(a: object, b: object) -> bool:
    if isinstance(b, pd.DataFrame):
        return isinstance(a, pd.DataFrame) and a.equals(b) and a.index.equals(b.index) and a.columns.equals(b.columns)
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def in_order(found: list, tables: list) -> bool:
    """Whether all that was found are tables of the file, none of them twice, and in their order."""
    rest = iter(tables)
    return all(any(same(one, other) for other in rest) for one in found)


def claim(changed: bytes, data: bytes) -> float:
    """How many times larger its chunks are than those of the original, as its header says; 1 if that is damaged."""
    try:
        sizes = [
            len(h.schema.kinds) * h.chunk_rows
            for h in (read_header(Feed(io.BytesIO(d)), Headers()) for d in (changed, data))
        ]
    except REFUSALS:
        return 1
    return max(1, sizes[0] / sizes[1])


def flip_bits(data: bytes, rng: np.random.Generator) -> bytes:
    out = bytearray(data)
    for place in rng.integers(0, len(data), rng.integers(1, 9)):
        out[place] ^= 1 << rng.integers(0, 8)
    return bytes(out)


def overwrite(data: bytes, rng: np.random.Generator) -> bytes:
    a, b = span(data, rng)
    kind = rng.integers(0, 3)
    new = rng.bytes(b - a) if kind == 0 else bytes([0, 255][kind - 1] for _ in range(b - a))
    return data[:a] + new + data[b:]


def cut(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: rng.integers(0, len(data))]


def leave_out(data: bytes, rng: np.random.Generator) -> bytes:
    a, b = span(data, rng)
    return data[:a] + data[b:]


def insert(data: bytes, rng: np.random.Generator) -> bytes:
    place = rng.integers(0, len(data) + 1)
    new = rng.bytes(int(rng.integers(1, 60)))
    if rng.random() < 0.3:
        new = MARKER + new
    return data[:place] + new + data[place:]


def double(data: bytes, rng: np.random.Generator) -> bytes:
    a, b = span(data, rng)
    return data[:b] + data[a:b] + data[b:]


def swap_chunks(data: bytes, rng: np.random.Generator) -> bytes:
    blocks = segments(data)
    frames = [i for i, block in enumerate(blocks) if block.startswith(MARKER)]
    a, b = rng.choice(frames, 2, replace=False)
    blocks[a], blocks[b] = blocks[b], blocks[a] if rng.random() < 0.5 else blocks[b]
    return b"".join(blocks)


def span(data: bytes, rng: np.random.Generator) -> tuple[int, int]:
    a = int(rng.integers(0, len(data)))
    return a, min(len(data), a + int(rng.geometric(0.05)))


def segments(data: bytes) -> list[bytes]:
    """The blocks of a whole file: headers, chunks, indices."""
    out, at = [], 0
    while at < len(data):
        n_before = len(MAGIC) if data[at] == MAGIC[0] else len(MARKER)
        cursor = Cursor(data[at + n_before :])
        stop = (
            at + n_before + cursor.varint() + cursor.at + (4 if data[at : at + 2] in (MAGIC[:2], MARKER) else TRAILER)
        )
        out.append(data[at:stop])
        at = stop
    return out


def bodies(data: bytes) -> list[bytes]:
    """The blocks of a file as their first bytes and their bodies, without what `rebuilt` adds to them, which is also
    the size of a header in an index.
    """
    out = []
    for block in segments(data):
        n_before = len(MAGIC) if block.startswith(MAGIC) else len(MARKER)
        is_index = block[:2] != MARKER and not block.startswith(MAGIC)
        cursor = Cursor(block[n_before : -TRAILER if is_index else -4])
        cursor.varint()
        if is_index:
            cursor.varint()
        out.append(block[:n_before] + cursor.rest())
    return out


def rebuilt(blocks: list[bytes]) -> bytes:
    """A file of these blocks, with lengths and checksums that fit."""
    out, checksum, n_header = b"", 0, 0
    for block in blocks:
        is_header, is_chunk = block.startswith(MAGIC), block.startswith(MARKER)
        n_before = len(MAGIC) if is_header else len(MARKER)
        body = block[n_before:] if is_header or is_chunk else varint(n_header) + block[n_before:]
        data = block[:n_before] + varint(len(body)) + body
        if is_header:
            checksum = 0
        elif not is_chunk:
            data, n_header = data + len(data).to_bytes(4, "little"), 0
        ending = zlib.crc32(data, checksum)
        out += data + ending.to_bytes(4, "little")
        if is_header:
            checksum, n_header = ending, len(data) + 4
    return out


def forge(data: bytes, rng: np.random.Generator) -> bytes:
    """One block changed, all checksums made to fit."""
    blocks = bodies(data)
    change = (flip_bits, flip_bits, overwrite, leave_out, insert, double)[rng.integers(0, 6)]
    kinds = {True: [i for i, b in enumerate(blocks) if b.startswith(MARKER)]}
    kinds[False] = [i for i in range(len(blocks)) if i not in kinds[True]]
    chosen = int(rng.choice(kinds[bool(rng.random() < 0.7)]))
    n_before = len(MAGIC) if blocks[chosen].startswith(MAGIC) else len(MARKER)
    blocks[chosen] = blocks[chosen][:n_before] + change(blocks[chosen][n_before:], rng)
    return rebuilt(blocks)


MUTATIONS: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "bits flipped": flip_bits,
    "bytes overwritten": overwrite,
    "cut": cut,
    "bytes left out": leave_out,
    "bytes put in": insert,
    "bytes doubled": double,
    "chunks swapped": swap_chunks,
    "checksums forged": forge,
}
#: Those that decoders behind the checksums see come as often as all others.
SHARES = np.array([1, 1, 1, 1, 1, 1, 1, 7]) / 14


def outcome(file: Honest, kind: str, changed: bytes, largest: int) -> tuple[str, float]:
    """What became of one file, in a word, and the share of the honest memory that it took; `largest` is the most that
    an honest file of any way of coding takes.
    """
    honest = largest * claim(changed, file.data) if kind == "checksums forged" else file.peak
    tracemalloc.start()
    try:
        strict, skipped = read_both_ways(changed)
    except Exception as error:
        return f"raised {type(error).__name__}: {error}", 0.0
    finally:
        ratio = tracemalloc.get_traced_memory()[1] / honest
        tracemalloc.stop()
    if kind != "checksums forged":
        if strict is not None and not (len(strict) == len(file.tables) and all(map(same, strict, file.tables))):
            return "wrong data", ratio
        if skipped is not None and not in_order(skipped, file.tables):
            return "wrong data", ratio
    if ratio > TIMES:
        return "too much memory", ratio
    if strict is not None:
        return "read", ratio
    return "error" if not skipped else "chunks", ratio


def work(seed: int, first: int, stop: int) -> None:
    """Read files and say what became of each; in a process that may die."""
    warnings.simplefilter("ignore")
    files = honest_files()
    print("ready", flush=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for case in range(first, stop):
        print(case, flush=True)
        rng = np.random.default_rng([seed, case])
        file = files[rng.integers(0, len(files))]
        kind = list(MUTATIONS)[rng.choice(len(MUTATIONS), p=SHARES)]
        what, ratio = outcome(file, kind, MUTATIONS[kind](file.data, rng), max(one.peak for one in files))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / memory
        if grown > TIMES:
            what, ratio = "too much memory", grown
        print(json.dumps([kind, what, round(ratio, 3), file.name]), flush=True)


def results(n_files: int, seed: int) -> Iterator[tuple[int, str, str, float, str]]:
    """Case, kind of change, what became of it, memory, name of the file; a process that dies is started again."""
    first = 0
    while first < n_files:
        command = [sys.executable, __file__, "--work", str(seed), str(first), str(n_files)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
        )
        lines: queue.Queue[str] = queue.Queue()
        reading = threading.Thread(target=_pass_on, args=(process, lines), daemon=True)
        reading.start()
        case, limit = first - 1, START_SECONDS
        try:
            while case < n_files:
                line = lines.get(timeout=limit)
                limit = SECONDS
                if line.startswith("["):
                    yield case, *json.loads(line)
                elif line.isdigit():
                    case = int(line)
                elif line != "ready":
                    break
        except queue.Empty:
            yield case, "unknown", "hang", 0.0, ""
        else:
            if process.wait() != 0:
                yield case, "unknown", f"crash ({process.returncode})", 0.0, ""
        finally:
            process.kill()
            process.wait()
            reading.join()
            process.stdout.close()
        if case < first:
            raise RuntimeError("the process that reads the files does not start")
        first = case + 1


def _pass_on(process: subprocess.Popen, lines: queue.Queue) -> None:
    for line in process.stdout:
        lines.put(line.strip())
    lines.put("end")


GOOD = ("read", "chunks", "error")


def run(judged: Results, n_files: int, seed: int) -> list[str]:
    """Fill the table; give the failures in words."""
    counts: dict[str, Counter] = {kind: Counter() for kind in MUTATIONS}
    memory: Counter = Counter()
    failures = []
    for case, kind, what, ratio, name in results(n_files, seed):
        counts.setdefault(kind, Counter())[what if what in GOOD else "failed"] += 1
        memory[kind] = max(memory[kind], ratio)
        if what not in GOOD:
            failures.append(f"file {case} ({name}; {kind}): {what}")
    judged.figures(
        "damaged files: how reading ended, and memory as a multiple of the largest honest file's",
        ["change           ", "files", "error", "some chunks", "all chunks", "failed", "memory, times"],
        [
            (kind, seen.total(), seen["error"], seen["chunks"], seen["read"], seen["failed"], float(memory[kind]))
            for kind, seen in counts.items()
        ],
    )
    n_seen = sum(seen.total() for seen in counts.values())
    if n_seen != n_files:
        failures.append(f"{n_seen} files were read instead of {n_files}")
    return failures


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--files", type=int, default=N_FILES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=int, nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work(*args.work)
        return
    n_files = 500 if args.quick else args.files
    with Results(__file__, partial=n_files != N_FILES or args.seed != 0) as judged:
        failures = run(judged, n_files, args.seed)
        judged.bar(f"files without an error or whole chunks in {TIMES} times the memory", len(failures), at_most=0)
        print("\n".join(failures[:20]))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
