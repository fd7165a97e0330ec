"""docs/reference/format.md holds: a second reader, written from it alone, reads what ours reads, to the same bytes."""

import ast
import hashlib
import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hrpursuit.compression import compress, decompress
from hrpursuit.compression.chunks.chunk_decoder import ChunkDecoder
from hrpursuit.compression.chunks.grids import DECIMALS, FLOAT, MANTISSA, SHORT, VALUES, Grid
from hrpursuit.compression.chunks.tabular import ColumnSettings, TableSettings, decode_table
from hrpursuit.compression.kernels.constants import FILE as CONSTANTS

from .second_reader import constants, read_file
from .second_reader.payload import read_payload
from .second_reader.table_part import read_table
from .second_reader.words import Bits, Bytes, Type

DOCUMENT = (Path(__file__).parents[2] / "docs" / "reference" / "format.md").read_text()


def columns_of(table):
    """The bytes of each column as chunks have it."""
    if isinstance(table, np.ndarray):
        return [np.ascontiguousarray(column).tobytes() for column in table.T]
    columns = [column for _, column in table.items()]
    return [
        (c.to_numpy("f4" if c.dtype == "Float32" else "f8", na_value=np.nan)
         if pd.api.types.is_extension_array_dtype(c.dtype) else np.ascontiguousarray(c.to_numpy())).tobytes()
        for c in columns
    ]  # fmt: skip


def read_twice(data):
    """What the second reader met, after both readers gave the same columns."""
    found = read_file(data)
    assert found.columns == columns_of(decompress(data))
    return found.met


def test_the_second_reader_has_no_code_of_ours():
    standard = {"dataclasses", "itertools", "json", "lzma", "math", "struct", "typing", "zlib"}
    for path in (Path(__file__).parent / "second_reader").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            assert set(names) <= standard, path.name


def test_tables_of_constants_are_as_the_document_says():
    (digest,) = re.findall(r"`([0-9a-f]{64})`", DOCUMENT)
    assert hashlib.sha256(constants()).hexdigest() == digest
    assert CONSTANTS.read_bytes() == constants()


def test_the_example_of_the_document(monkeypatch):
    """Its bytes give the values, and ask for the chances, that it says."""
    example = DOCUMENT.split("### Example\n")[1].split("\n## ")[0]
    payload = bytes.fromhex("".join(re.findall(r"^((?:[0-9a-f]{2} )+) ", example, re.MULTILINE)))
    numbers = example.split("float64: ")[1].split(".\n")[0].replace("gap", "nan").replace(" and", ",").split(",")
    values = np.array(numbers, dtype=float).reshape(2, 8)
    decoded = ChunkDecoder(b"", [np.dtype("f8")] * 2).decode(payload, 8)
    assert np.array_equal(decoded, values, equal_nan=True)
    asked, bit = [], Bits.bit

    def noted(self, chance):
        asked.append((chance, bit(self, chance)))
        return asked[-1][1]

    monkeypatch.setattr(Bits, "bit", noted)
    columns, _ = read_payload(Bytes(payload), 8, [Type("f", 8)] * 2, [([0, 1], ("adaptive", None))])
    assert columns == np.array(decoded).view("u8").tolist()
    rows = [line.split("|")[2:4] for line in example.splitlines() if re.match(r"\|.*\| [0-9]", line)]
    chances, bits = ([int(number) for row in rows for number in row[i].split(",")] for i in range(2))
    assert asked[: len(bits)] == list(zip(chances, bits, strict=True))
    assert f"There are {len(asked)} bits in all." in example


def walk(rng, sd=1.0, decimals=1, n=70):
    return np.round(np.cumsum(rng.normal(0, sd, (n, 3)), axis=0), decimals)


def with_gaps(rng):
    table = walk(rng)
    table[rng.random(table.shape) < 0.2] = np.nan
    return table


def with_odd_values(rng):
    """Sentinels, an infinity, a negative zero, a value with more decimals."""
    table = walk(rng)
    table[rng.random(table.shape) < 0.2] = -9999
    table[5, 0], table[7, 1], table[9, 2] = np.inf, -0.0, 0.12345
    return table


def with_odd_gaps(rng):
    """NaN with the sign bit, and one with a payload of its own."""
    table = walk(rng)
    table.view("u8")[rng.random(table.shape) < 0.2] = 0xFFF8000000000000
    table.view("u8")[3, 1] = 0x7FF8000000000123
    return table


def few(rng, values, n=70):
    return values[rng.integers(0, len(values), (n, 3))]


def by_turns(rng, values):
    """Each value for ten rows or so, then another one."""
    return values[np.cumsum(rng.random((150, 3)) < 0.1, axis=0) % len(values)]


def correlated(rng):
    """Seasonal columns, each of which says most of the next one."""
    season = np.resize(rng.normal(0, 20, 7), (90, 1)) * [1, 2, 3]
    return np.round(season + np.cumsum(rng.normal(0, 2, (90, 1)), axis=0) * [1, 2, -1] + rng.normal(0, 0.1, (90, 3)), 1)


def repeated(rng):
    """The second column nearly has what the third one had in the row before, the first what that had five rows ago."""
    column = np.cumsum(rng.integers(-300, 301, 605))
    return np.column_stack([column[:600], column[4:604], column[5:]]) + rng.integers(-2, 3, (600, 3))


def counters(rng):
    return 10**12 + np.cumsum(rng.integers(0, 10**6, (60, 3)), axis=0)


#: Name: how the table is made, and the bound within which it is coded.
TABLES = {
    "decimals": (walk, 0),
    "multiples": (lambda rng: walk(rng, 9, 0) * 0.1, 0),
    "multiples from the first": (lambda rng: 1 / 7 + few(rng, np.arange(40)) * 0.1, 0),
    "float32 as doubles": (lambda rng: walk(rng).astype("f4").astype("f8"), 0),
    "list of decimals": (lambda rng: few(rng, np.array([0.01, 0.5, 7.25, 300.0, 301.5, 9000.0])), 0),
    "list with rest": (lambda rng: few(rng, np.nextafter(np.round(rng.normal(0, 9, 9), 2), 1e9)), 0),
    "list with rest in float32": (
        lambda rng: few(rng, (np.round(rng.normal(0, 1, 12), 3).astype("f4") * np.float32(1.1)).astype("f8")), 0
    ),
    "list of doubles": (lambda rng: few(rng, rng.normal(0, 1, 6), 200), 0),
    "list of float32": (lambda rng: few(rng, rng.normal(0, 1, 6).astype("f4"), 200), 0),
    "gaps": (with_gaps, 0),
    "odd values": (with_odd_values, 0),
    "odd gaps": (with_odd_gaps, 0),
    "bool": (lambda rng: by_turns(rng, np.array([False, True])), 0),
    "doubles": (lambda rng: rng.normal(0, 1, (60, 3)), 0),
    "float32": (lambda rng: rng.normal(0, 1, (60, 3)).astype("f4"), 0),
    "float16": (lambda rng: rng.normal(0, 1, (60, 3)).astype("f2"), 0),
    "low bits": (lambda rng: rng.integers(0, 10**7, (60, 3)), 0),
    "far from zero": (counters, 0),
    "changes that recur": (lambda rng: few(rng, np.array([1000, 1700, 90_000]), 150).cumsum(axis=0), 0),
    "short floats": (lambda rng: (np.cumsum(rng.normal(0, 1, (200, 3)), axis=0) + 40).astype("f2").astype("f4"), 0),
    "correlated": (correlated, 0),
    "columns that others repeat": (repeated, 0),
    "bound on decimals": (walk, 0.25),
    "bound on floats": (lambda rng: rng.normal(0, 1, (60, 3)), 0.05),
    "bound on a list": (lambda rng: few(rng, np.array([0, 0.01, 0.02, 5, 5.01, 5.02, 9.4])), 0.011),
    "bound on counters": (counters, 5),
    "bits of any kind": (lambda rng: rng.integers(0, 2**64, (60, 3), dtype="u8"), 0),
    "rows that repeat": (lambda rng: np.tile(rng.integers(0, 2**64, (9, 3), dtype="u8"), (8, 1)), 0),
    "columns that repeat": (lambda rng: np.repeat(rng.integers(0, 2**64, (60, 1), dtype="u8"), 3, axis=1), 0),
    "bytes that repeat": (lambda rng: few(rng, np.arange(8) << 40), 0),
}  # fmt: skip
EFFORTS = ("best", "default", "fast")


@cache
def met_in(name, effort):
    make, bound = TABLES[name]
    table = make(np.random.default_rng(0))
    return read_twice(compress(table, effort=effort, **({"max_error": bound} if bound else {"lossless": True})))


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("name", TABLES)
def test_tables(name, effort):
    assert met_in(name, effort) <= KNOWN


KNOWN = {
    "table", "verbatim", *(("packed", how) for how in range(4)),
    *((what, is_so) for what in ("single", "step", "offset", "width", "recurs") for is_so in (False, True)),
    *(("pace", pace) for pace in range(3)), *(("grid", kind) for kind in range(6)),
    *(("centre", centre) for centre in range(4)),
    *(("list", how) for how in ("bits", "decimals", "decimals and rest of 4 bytes", "decimals and rest of 8 bytes")),
    ("list", "as before"),
    *(("apart", what) for what in ("gaps", "NaN bits", "exceptions", "sentinels")),
    *(("has season", is_so) for is_so in (False, True)), *(("has neighbours", is_so) for is_so in (False, True)),
    *(("has filter", is_so) for is_so in (False, True)), *(("lag", lag) for lag in range(3)),
}  # fmt: skip


def test_tables_are_of_all_kinds():
    """The tables above do not miss what an encoder can write."""
    assert set().union(*(met_in(name, effort) for name in TABLES for effort in EFFORTS)) == KNOWN


def frame(rng, n=60):
    """A column of each type, all in one chunk: by the coder of tables, empty, and verbatim."""
    steps = np.cumsum(rng.integers(-3, 4, (n, 12)), axis=0)
    kinds = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32"]
    columns = {kind: (np.abs(steps[:, j]) % 100).astype(kind) for j, kind in enumerate(kinds)}
    columns["empty"] = np.full(n, np.nan)
    columns["any"] = rng.integers(0, 2**64, n, dtype="u8")
    columns["Int64"] = pd.array([None if x % 5 == 0 else int(x) for x in steps[:, 0]], dtype="Int64")
    columns["Float32"] = pd.array([None if x % 5 == 0 else x / 4 for x in steps[:, 1]], dtype="Float32")
    return pd.DataFrame(columns)


@pytest.mark.parametrize("effort", EFFORTS)
def test_columns_of_all_types(effort):
    met = read_twice(compress(frame(np.random.default_rng(0)), lossless=True, effort=effort))
    assert met >= {"table", "verbatim"}


def test_chunks_of_any_length():
    table = with_gaps(np.random.default_rng(0))
    table[30:40, 1] = np.nan  # empty in one chunk
    assert read_twice(compress(table, lossless=True, chunk_rows=10)) >= {"table"}


INDEXES = {
    "irregular": lambda rng: pd.DatetimeIndex(np.cumsum(rng.integers(1, 10**9, 200)), name="t"),
    "with repeats": lambda rng: pd.DatetimeIndex(np.cumsum(rng.integers(0, 3, 200)) * 10**9).as_unit("s"),
    "late": lambda rng: (
        pd.date_range("2024-01-01", periods=200, freq="min").delete(77).insert(100, pd.Timestamp("2024"))
    ),
    "far apart": lambda rng: pd.Index(rng.integers(-(2**63), 2**63 - 1, 200)),
    "unsigned": lambda rng: pd.Index(rng.integers(0, 2**64, 200, dtype="u8")),
    "floats": lambda rng: pd.Index(rng.normal(0, 1, 200).astype("f4")),
    "texts": lambda rng: pd.Index([f"row {i}é" for i in rng.integers(0, 99, 200)]),
    "differences": lambda rng: pd.TimedeltaIndex(np.cumsum(rng.integers(0, 9, 200)), name=7),
    "even": lambda rng: pd.date_range("2024-01-01", periods=200, freq="h", tz="Europe/Warsaw"),
    "range": lambda rng: pd.RangeIndex(7, 607, 3),
}


@pytest.mark.parametrize("name", INDEXES)
def test_labels(name):
    index = INDEXES[name](np.random.default_rng(0))
    table = pd.DataFrame({"s1": np.arange(200) % 7, "s2": np.zeros(200, int), "s10": 5}, index=index)
    data = compress(table, lossless=True, chunk_rows=150, effort="fast")
    read_twice(data)
    labels = decompress(data).index
    assert labels.equals(index)
    expected = labels.asi8 if hasattr(labels, "asi8") else labels.to_numpy()
    expected = (expected if labels.dtype.kind in ("f", "O") else expected.view("i8")).tolist()
    assert read_file(data).labels == expected


def test_labels_by_the_coder_of_tables():
    rng = np.random.default_rng(0)
    index = pd.DatetimeIndex(np.cumsum(rng.choice([60, 61, 90], 300)) * 10**9)
    data = compress(pd.DataFrame({"a": np.zeros(300)}, index=index), lossless=True)
    found = read_file(data)
    assert found.labels == index.asi8.tolist()
    assert "labels by the coder of tables" in found.met


def any_settings(rng):
    """Settings as no encoder may choose them, with their types."""
    n, n_neighbours = int(rng.integers(1, 4)), int(rng.integers(0, 3))
    columns, dtypes = [], []
    for k in range(n):
        dtype = np.dtype(str(rng.choice(["i8", "f8", "f4", "f2", "i2", "u1", "?", "u8"])))
        is_float = dtype.kind == "f"
        kind = int(rng.choice([kind for kind in range(SHORT + 1) if kind != VALUES])) if is_float else DECIMALS
        decimals = int(rng.integers(-150, 20)) if kind == FLOAT else int(rng.integers(0, 16)) if is_float else 0
        factor, first = rng.normal(0, 1, 2).tolist()
        offset, step, width = (
            int(rng.integers(*ends)) if rng.random() < 0.3 else none
            for ends, none in (((-(2**40), 2**40), 0), ((1, 2**20), 1), ((0, 30), 0))
        )
        if kind == SHORT:
            decimals = int(rng.integers(0, MANTISSA[dtype.itemsize] + 1))
        grid = Grid(
            kind, decimals if kind in (DECIMALS, FLOAT, SHORT) else 0, factor, first, np.zeros(0),
            is_float and rng.random() < 0.3, offset, step,
        )  # fmt: skip
        centre, scale = int(rng.integers(0, 4)), int(rng.integers(0, 121))
        far = 2 ** int(rng.choice([3, 34]))
        near = [*range(k), *range(n, 4 * n)]  # in this row, and in the three before
        near = tuple(rng.choice(near, n_neighbours, replace=False).tolist())
        constant = int(rng.integers(-far, far)) if centre > 1 else 0
        columns.append(ColumnSettings(grid, width, scale, centre, constant, near, bool(rng.random() < 0.3)))
        dtypes.append(dtype)
    order, season = int(rng.choice([0, 1, 2, 8])), int(rng.choice([0, 0, 1, 2, 5]))
    return TableSettings(tuple(columns), order, season, n_neighbours, pace=int(rng.integers(0, 3))), dtypes


@pytest.mark.parametrize("seed", range(24))
def test_any_bits(seed):
    """Whatever the bits are, both readers decode them alike: also where numbers are as large as they can be, so nothing
    wraps around in 64 bits.
    """
    rng = np.random.default_rng(seed)
    settings, dtypes = any_settings(rng)
    n_rows, n_bytes = int(rng.integers(1, 45)), 4000
    bits = rng.integers(0, 256, n_bytes) * (rng.random(n_bytes) < (1 if seed % 3 == 0 else 0.1))
    bits = (255 - bits if seed % 3 == 1 else bits).astype("u1").tobytes()
    has_gaps = rng.random() < 0.4 and all(dtype.kind == "f" for dtype in dtypes)
    data = settings.to_bytes() + bytes([has_gaps]) + bits
    decoded = decode_table(data, n_rows, dtypes)
    found, _ = read_table(data, n_rows, [Type(dtype.kind, dtype.itemsize) for dtype in dtypes])
    for column, bits, dtype in zip(decoded, found, dtypes, strict=True):
        assert column.view(f"u{dtype.itemsize}").tolist() == bits


def network(n_rows, n, decimals, seed=0):
    """Readings of sensors that are alike, with gaps."""
    rng = np.random.default_rng(seed)
    hours = np.arange(n_rows)[:, None]
    table = 40 + 15 * np.sin(hours / 24 * 2 * np.pi) + np.cumsum(rng.normal(0, 1.5, (n_rows, n)), axis=0)
    table += rng.normal(0, 4, (n_rows, 1))
    table = np.round(np.maximum(table, 0), decimals)
    table[rng.random(table.shape) < 0.1] = np.nan
    table[5:9] = np.nan
    return table


@pytest.mark.parametrize(
    ("target", "mode"),
    [
        ({"lossless": True}, "samples"),
        ({"relative_rmse": 0.01}, "samples"),
        ({"relative_rmse": 0.01, "effort": "fast"}, "samples"),
        ({"relative_rmse": 0.15}, "transform"),
        ({"relative_rmse": 0.15, "basis": "pca"}, "transform"),
        ({"relative_rmse": 0.15, "basis": "dct"}, "transform"),
        ({"max_error": 0.3}, "samples"),
        ({"max_error": 12}, "correction"),
        ({"n_nonzero_coefs": 2}, "sparse codes"),
    ],
)
def test_networks(target, mode):
    table = network(100, 6, 0)
    table[70:, 4] = np.nan  # a column that is empty in the last chunk
    assert read_twice(compress(table, chunk_rows=70, **target)) == {mode}


@pytest.mark.parametrize("target", [{"lossless": True}, {"max_error": 2}])
@pytest.mark.parametrize("part", ["NaN bits", "exceptions", "sentinels"])
def test_cells_apart_in_networks(part, target):
    table = network(200, 8, 1)
    if part == "NaN bits":
        table[np.isnan(table)] = np.copysign(np.nan, -1)
    elif part == "exceptions":
        table[3, 1], table[120, 4], table[21, 0] = np.inf, 1e9, -np.inf
    else:
        table[::19, 3], table[5::17, 6] = -9999, np.inf
    apart = set() if part == "NaN bits" and "max_error" in target else {("apart from groups", part)}
    assert read_twice(compress(table, **target)) == {"samples"} | apart


@pytest.mark.parametrize("name", ["exceptions", "wide", "many", "mixed"])
def test_odd_networks(name):
    table = network(40, 5, 1)
    if name == "exceptions":
        table[3, 1], table[20, 4], table[21, 0] = np.inf, -0.0, -np.inf
    elif name == "wide":
        table[:, 2] = 1e6 + np.round(np.random.default_rng(1).normal(0, 1e5, 40))
    elif name == "many":
        table = np.hstack([network(4, 150, 0, 1), network(4, 150, 0, 2)])
    else:
        table[:, 1] = np.round(table[:, 1] * 100)
        table[:, 3] = np.round(7 - table[:, 3], 1)
    targets = [{"lossless": True}, {"relative_rmse": 1e-6}, {"max_error": 3}]
    for target in targets[: 1 if name == "many" else 3]:
        read_twice(compress(table, **target))


@pytest.mark.parametrize("target", ["relative_rmse", "max_error"])
@pytest.mark.parametrize("kind", ["i2", "u1", "f4", "f2", "?"])
def test_networks_of_any_type(target, kind):
    table = np.nan_to_num(network(40, 5, 0))
    table = (table > 40 if kind == "?" else table).astype(kind)
    for amount in (0.01, 0.2):
        read_twice(compress(table, **{target: amount * (1 if target == "relative_rmse" else 40)}))


@pytest.mark.parametrize(
    ("target", "amount"), [("relative_rmse", 0.2), ("relative_rmse", 0.001), ("max_error", 0.3), ("max_error", 9)]
)
@pytest.mark.parametrize("size", [1e12, np.pi * 1e-9])
def test_networks_of_any_size(size, target, amount):
    """Fractions below zero, and multiples of a factor."""
    table = network(40, 5, 1) * size
    read_twice(compress(table, **{target: amount * size if target == "max_error" else amount}))
