"""The codecs of benchmarks/compression_sizes.py give back what they were given, and its judge would notice if not."""

import importlib
import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
NAMES = ["xz", "zstd", "brotli", "zpaq", "blosc2", "pco", "JPEG XL", "SZ3", "zfp", "SPERR"]


@pytest.fixture(scope="module")
def modules():
    names = ("peers", "peers.tables", "peers.preparations", "peers.packers", "size_tables", "compression_sizes")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield {name: importlib.import_module(name) for name in names}


@pytest.fixture(scope="module")
def tables(modules):
    """Of all kinds that a preparation treats in its own way."""
    rng = np.random.default_rng(5)
    n = 300
    walk = np.cumsum(rng.normal(0, 0.3, (n, 3)), axis=0)
    gaps = np.where(rng.random((n, 3)) < 0.1, np.nan, np.round(walk, 1))
    stamps = pd.to_datetime("2024-03-01") + pd.to_timedelta(np.cumsum(rng.integers(0, 4000, n)), unit="ms")
    mixed = {
        "tenths": np.round(walk[:, 0], 1),
        "counter": 10**10 + np.cumsum(rng.integers(0, 50, n)),
        "down": (-np.cumsum(rng.integers(0, 9, n))).astype(np.int16),
        "open": walk[:, 1] > 0,
        "mode": rng.integers(-3, 4, n).astype(np.int8),
    }
    printed = np.round(walk, 1).astype(np.float32).astype(np.float64) + np.where(rng.random((n, 3)) < 0.2, 2.0**-50, 0)
    frames = {
        "gaps": pd.DataFrame(gaps, index=stamps).assign(silent=np.nan),
        "mixed": pd.DataFrame(mixed, index=pd.date_range("2024-01-01", periods=n, freq="s")),
        "noise": pd.DataFrame(rng.normal(size=(n, 3)).astype(np.float32)),
        "printed": pd.DataFrame(printed),
        "one": pd.DataFrame(np.round(walk[:, :1], 1)),
        "extremes": pd.DataFrame({"a": rng.choice([-(2**63), 2**63 - 1, 0], n), "b": rng.normal(size=n) * 1e300}),
    }
    return {name: partial(modules["peers.tables"].Table.of, frame) for name, frame in frames.items()}


CASES = [("gaps", 0), ("gaps", 0.1), ("mixed", 0), ("mixed", 2), ("noise", 0), ("noise", 0.01), ("printed", 0)]
CASES += [("printed", 0.02), ("one", 0), ("one", 0.1), ("extremes", 0)]


@pytest.mark.parametrize(("name", "bound"), CASES)
def test_every_preparation_gives_the_readings_back(name, bound, tables, modules):
    table, tools = tables[name](bound), modules["peers.preparations"]
    preparations = list(tools.preparations(table))
    assert len(set(preparations)) == len(preparations) >= 14
    for preparation in preparations:
        data, undo = tools.prepare(table, preparation)
        table.judge(undo(data))
        spoiled = (np.frombuffer(data, np.uint8) ^ 1).tobytes()
        with pytest.raises((modules["peers.tables"].NotGivenBack, IndexError)):
            table.judge(undo(spoiled))


@pytest.mark.parametrize(("name", "bound"), [case for case in CASES if case != ("extremes", 0)])
def test_every_codec_gives_the_readings_back_and_is_smaller(name, bound, tables, modules):
    peers, table = modules["peers"], tables[name](bound)
    found = peers.sizes(table, n_each=1)  # judges each of them
    here = [codec for codec in NAMES if peers.missing(codec) is None]
    assert set(found) <= set(here)
    assert {codec for codec in here if codec in peers.PACKERS or codec in peers.NUMERIC} <= set(found)
    if bound and name != "one":
        assert {codec for codec in here if codec in peers.FIELDS} <= set(found)
    raw = sum(column.values.nbytes for column in table.columns)
    assert all(20 < one.n_bytes < 1.1 * raw for codec, one in found.items() if codec != "zpaq")


def test_codecs_are_those_of_the_extra():
    text = (BENCHMARKS.parent / "pyproject.toml").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("rivals = ")]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        peers = importlib.import_module("peers")
    assert list(peers.NAMES) == NAMES
    assert all(f'"{module}>=' in line for module in peers.MODULES.values())
    assert all(re.search(r"\d\.\d", peers.version_of(name)) for name in NAMES if peers.missing(name) is None)


def test_a_codec_that_is_absent_is_left_out_and_named(modules, tables, monkeypatch):
    monkeypatch.setattr(modules["peers"], "PROGRAMS", {"zpaq": "no-such-program", "JPEG XL": "no-such-program"})
    assert modules["peers"].missing("zpaq") == "no-such-program"
    assert modules["peers"].missing("xz") is None
    found = modules["peers"].sizes(tables["gaps"](0), n_each=1)
    assert "xz" in found
    assert not {"zpaq", "JPEG XL"} & set(found)


@pytest.mark.parametrize(
    ("values", "decimals", "exact"),
    [
        ([1.5, -2.25, 1e6], 2, True),
        ([0.1 + 0.2, 1.0], None, False),
        ([1.0, -0.0], 0, False),
        (np.array([0.1, 20.3], np.float32), 1, True),
        ([float(np.float32(20.3)), float(np.float32(0.7))], 1, True),
        ([float(np.float32(20.3)) + 2.0**-48, float(np.float32(0.7))], 1, False),  # printed with too few digits
        (np.random.default_rng(0).normal(size=50).astype(np.float32), None, False),
        ([1, 2**40], 0, True),
        ([True, False], 0, True),
        ([np.inf, 1.0], None, False),
    ],
)
def test_decimals(values, decimals, exact, modules):
    column = modules["peers.tables"].Column(np.asarray(values))
    assert column.decimals == decimals
    assert column.whole_is_exact == exact


@pytest.mark.parametrize("bound", [0, 0.1, 0.29, 0.3, 5])
def test_bounds_are_judged_on_decimals(bound, modules):
    readings = np.array([20.3, 20.2, 0.1, -7.4, np.nan])
    column = modules["peers.tables"].Column(readings, bound)
    steps = int(np.floor(bound * 10 + 1e-9))
    column.judge(readings)
    assert column.largest_step == steps
    for sign in (-1, 1):
        at_most = (np.round(readings * 10) + sign * steps) / 10
        column.judge(at_most)
        with pytest.raises(modules["peers.tables"].NotGivenBack):
            column.judge((np.round(readings * 10) + sign * (steps + 1)) / 10)
    numbers, back = modules["peers.preparations"].quantised(column)
    decoded = np.where(np.isnan(readings), np.nan, back(numbers))
    column.judge(decoded)
    if steps > 0:  # the widest step: numbers that are 2 steps + 1 apart
        fine = modules["peers.tables"].Column(np.arange(1000) / 10, bound)
        assert len(np.unique(modules["peers.preparations"].quantised(fine)[0])) == -(-(1000 + steps) // (2 * steps + 1))


@pytest.mark.parametrize(
    ("bound", "decoded"),
    [
        (0, [1.0, 2.5, 0.0]),  # a gap is lost
        (1, [1.0, 2.5, 0.0]),
        (1, [np.nan, 2.5, np.nan]),  # a reading is lost
        (0, [1.0, 2.5, np.copysign(np.nan, -1)]),  # another gap, bit for bit
        (0, [1.0, np.nextafter(2.5, 3), np.nan]),
        (1, [1.0, 3.6, np.nan]),
        (1, [1.0, 2.5]),
        (1, np.array([1.0, 2.5, np.nan], np.float32)),
    ],
)
def test_the_judge_notices(bound, decoded, modules):
    column = modules["peers.tables"].Column(np.array([1.0, 2.5, np.nan]), bound)
    with pytest.raises(modules["peers.tables"].NotGivenBack):
        column.judge(np.asarray(decoded))


def test_only_the_data_of_an_archive_counts(modules):
    peers, packers = modules["peers"], modules["peers.packers"]
    if peers.missing("zpaq") is not None:
        pytest.skip("needs zpaq")
    data = np.random.default_rng(0).integers(0, 256, 20_000, dtype=np.uint8).tobytes()
    archive = packers.PACKERS["zpaq"].pack(data)
    assert packers.PACKERS["zpaq"].unpack(archive) == data
    assert 20_000 < packers.counted("zpaq", archive) < len(archive) - 300


def test_an_index_costs_what_it_has(modules):
    of = modules["peers.tables"].Table.of
    frame = pd.DataFrame({"a": np.arange(4.0)})
    assert (len(of(frame).columns), of(frame).index_bytes) == (1, 0)
    frame.index = pd.date_range("2024-01-01", periods=4, freq="h", tz="Europe/Warsaw")
    assert (len(of(frame).columns), of(frame).index_bytes) == (1, 16)
    frame.index = pd.to_datetime("2024-01-01") + pd.to_timedelta([0, 5, 5, 11], unit="ms")
    assert_array_equal(of(frame).columns[0].values, [0, 5, 5, 11])
    frame.index = list("abcd")
    with pytest.raises(TypeError, match="time stamps"):
        of(frame)


def test_odd_values_are_where_they_should_be(modules):
    odd = list(modules["size_tables"].odd_tables())
    changed = [(one.frame.to_numpy().view(np.int64) != one.clean.to_numpy().view(np.int64)).sum() for one in odd]
    assert changed == [odd[0].clean.isna().to_numpy().sum(), 1, 1, 1, 1000]
    assert [one.limit for one in odd[:4]] == [12, 20, 20, 20]
    assert 700 < odd[4].limit < 1000


@pytest.mark.parametrize(("changes", "most"), [("small changes", 1023), ("large changes", 4095)])
def test_grids_hold_the_same_whole_numbers(modules, changes, most):
    frame = modules["size_tables"].counts()[changes]
    q, grids = frame.to_numpy(), modules["size_tables"].grids(frame)
    assert q.min() >= 0
    assert q.max() <= most
    assert len(np.unique(q)) > most // 2
    for on_grid in grids.values():
        ranks = [np.unique(column, return_inverse=True)[1] for column in on_grid.to_numpy().T]
        assert_array_equal(ranks, [np.unique(column, return_inverse=True)[1] for column in q.T])
    assert {str(on_grid.dtypes[0]) for on_grid in grids.values()} == {"float32", "float64"}


def test_all_tables_and_bounds_are_measured(modules):
    cases = list(modules["size_tables"].cases())
    assert len({(case.name, case.target) for case in cases}) == len(cases) == 49
    assert {case.seed for case in cases} == {None, 7, 11}


def test_sizes_of_others_are_kept(modules, tables, tmp_path, monkeypatch):
    main, path, table = modules["compression_sizes"], tmp_path / "sizes.json", tables["one"](0)
    first = main.PeerSizes(path, 1).of(table, "one")
    monkeypatch.setattr(main.peers, "sizes", lambda *_: pytest.fail("measured again"))
    assert main.PeerSizes(path, 1).of(table, "one") == first
    assert len(json.loads(path.read_text())) == 1
    for changed in (tables["one"](0.1), tables["gaps"](0)):
        with pytest.raises(pytest.fail.Exception):
            main.PeerSizes(path, 1).of(changed, "one")


def test_the_benchmark_asks_for_the_smallest(modules, monkeypatch, capsys):
    """With a codec that needs 1 byte the bars are missed, with one that needs a million they are reached."""
    main = modules["compression_sizes"]
    monkeypatch.setattr(main, "cases", lambda *_: [main.Case("temp_0.1", 3, 0.1)])
    tenths = pd.DataFrame({"t": np.round(np.sin(np.arange(200) / 20), 1)})
    monkeypatch.setattr(main.Case, "frame", lambda *_: tenths)
    monkeypatch.setattr(main, "data_folder", lambda: BENCHMARKS)
    for size, ends_with in ((1, 1), (10**6, 0)):
        monkeypatch.setattr(main.peers, "sizes", lambda *_, size=size: {"xz": main.peers.Found(size, "")})
        monkeypatch.setattr("sys.argv", ["compression_sizes.py", "temp_0.1"])
        monkeypatch.setattr(Path, "exists", lambda _: True)
        ended = 0
        try:
            main.main()
        except SystemExit as end:
            ended = end.code
        assert ended == ends_with
    assert "ours over the best other" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["compression_sizes.py", "gps"])
    with pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == 2
    assert "there is no table gps; the tables are krakow" in capsys.readouterr().err
