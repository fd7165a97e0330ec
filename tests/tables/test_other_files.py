"""Parquet, Arrow and NumPy files: types, zones, categories and names are kept, or it is said that they are not."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal

from hrpursuit.compression import Decoder, Encoder, compress, decompress
from hrpursuit.rows import open_rows
from hrpursuit.rows.source import DataError
from hrpursuit.tables import as_frame, as_given, opened, read_table, write_table


def typed(n=60):
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "time": pa.array([1577836800 + 3600 * i for i in range(n)], pa.timestamp("s", "UTC")),
            "day": pa.array([dt.date(2020, 1, 1 + i % 28) for i in range(n)]),
            "clock": pa.array([dt.time(i % 24) for i in range(n)], pa.time64("us")),
            "x": rng.normal(size=n).round(2),
            "gaps": pa.array([None if i % 7 == 0 else i / 2 for i in range(n)]),
            "nan": pa.array([float("nan") if i % 7 == 0 else i / 2 for i in range(n)]),
            "whole": pa.array([None if i % 5 == 0 else i for i in range(n)], pa.int16()),
            "big": pa.array([2**62 + i for i in range(n)], pa.int64()),
            "truth": pa.array([None if i % 5 == 0 else i % 2 == 0 for i in range(n)]),
            "text": pa.array([None if i % 5 == 0 else f"t{i % 3}" for i in range(n)]),
            "view": pa.array([f"v{i % 3}" for i in range(n)], pa.string_view()),
            "category": pa.array([f"c{i % 3}" for i in range(n)]).dictionary_encode(),
            "number": pa.array([i % 3 for i in range(n)]).dictionary_encode(),
            "span": pa.array([dt.timedelta(seconds=i * i) for i in range(n)], pa.duration("ms")),
            "zoned": pa.array([None if i == 2 else i * 10**9 for i in range(n)], pa.timestamp("ns", "Europe/Warsaw")),
            "none": pa.nulls(n),
        }
    )  # fmt: skip


class TestTablesInMemory:
    @pytest.mark.parametrize("target", [{"lossless": True}, {"max_error": 0.05}], ids=str)
    def test_arrow_comes_back_as_arrow(self, target):
        table = typed()
        back = decompress(compress(table, **target, chunk_rows=25))
        assert back.schema.equals(table.schema)
        exact = ["x", "gaps", "nan", "whole", "big"] if "max_error" in target else ["nan"]
        assert back.drop_columns(exact).equals(table.drop_columns(exact))
        assert_array_equal(back["nan"].is_null(nan_is_null=True), table["nan"].is_null(nan_is_null=True))
        assert back["nan"].null_count == 0

    def test_polars_comes_back_as_polars(self):
        frame = pl.from_arrow(typed()).with_columns(
            pl.Series("enum", ["b", "a", None] * 20, dtype=pl.Enum(["c", "b", "a"])),
            pl.Series("unsigned", [1, 2, 3] * 20, dtype=pl.UInt8),
        )
        data = compress(frame, lossless=True, chunk_rows=25)
        back = decompress(data)
        assert back.schema == frame.schema
        assert back.equals(frame)
        assert Decoder(data).read("2020-01-01", "2020-01-01", columns=["enum", "x"]).columns == ["time", "enum", "x"]
        encoder = Encoder(lossless=True)
        streamed = encoder.append(frame) + encoder.append(frame) + encoder.finish()
        assert decompress(streamed).equals(pl.concat([frame, frame]))
        assert decompress(compress(frame.lazy(), lossless=True)).equals(frame)

    def test_without_the_library_it_is_pandas_with_a_word(self, monkeypatch):
        data = compress(pl.DataFrame({"a": [1.5, None]}), lossless=True)
        monkeypatch.setitem(__import__("sys").modules, "polars", None)
        with pytest.warns(UserWarning, match="one of polars, which is not installed"):
            back = decompress(data)
        assert_frame_equal(back, pd.DataFrame({"a": pd.array([1.5, None], dtype="Float64")}), check_names=False)

    def test_what_cannot_be_kept(self):
        with pytest.raises(ValueError, match="column 'a' has both NaN and null"):
            compress(pl.DataFrame({"a": [1.5, None, float("nan")]}), lossless=True)
        with pytest.raises(ValueError, match=r"column 'a' holds large_list.*convert it, or leave it out"):
            compress(pl.DataFrame({"a": [[1], [2]]}), lossless=True)
        with pytest.raises(ValueError, match="column 'd' holds decimal128"):
            compress(pa.table({"d": pa.array([1], pa.decimal128(5, 2))}), lossless=True)
        with pytest.raises(ValueError, match=r"column 'a' .* beyond 2\^53"):
            compress(pa.table({"a": pa.array([2**60, None])}), lossless=True)
        with pytest.raises(DataError, match=r"column 'a' \(timestamp\[us, tz=Nowhere/Land\]\) cannot be kept"):
            compress(pa.table({"a": pa.array([0, 1], pa.timestamp("us", "Nowhere/Land"))}), lossless=True)
        twice = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["x", "x"]))
        with pytest.raises(DataError, match=r"column 'a' .*must be unique; convert it"):
            compress(pa.table({"a": twice}), lossless=True)

    def test_columns_of_the_same_name(self):
        table = pa.table([pa.array([1, 2]), pa.array([3.5, None])], names=["a", "a"])
        assert decompress(compress(table, lossless=True)).equals(table)

    @pytest.mark.parametrize(
        "kept",
        [5, {"library": "other"}, {"library": "polars", "types": 7}, {"library": "pyarrow", "index": -3},
         {"library": "pyarrow", "index": 99, "types": {"a": ["dictionary"]}},
         {"library": "pyarrow", "types": {"a": "no such"}}, {"library": "polars", "types": {"a": "Enum"}}],
    )  # fmt: skip
    def test_forged_attributes(self, kept):
        frame = pd.DataFrame({"a": [1.5, 2.5]})
        frame.attrs = {"arrow": kept}
        assert as_frame(as_given(frame))["a"].tolist() == [1.5, 2.5]

    def test_forged_attributes_that_do_not_fit(self):
        frame = pd.DataFrame({"a": ["x"]})
        frame.attrs = {"arrow": {"library": "pyarrow", "types": {"a": "time64[us]"}}}
        with pytest.raises(ValueError, match="does not fit"):
            as_given(frame)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather"])
class TestFiles:
    def write(self, path, table):
        if path.suffix == ".parquet":
            pa.parquet.write_table(table, path, row_group_size=17)
        else:
            pa.feather.write_feather(table, str(path), chunksize=17)

    def read(self, path):
        return pa.parquet.read_table(path) if path.suffix == ".parquet" else pa.feather.read_table(str(path))

    def test_types_are_kept(self, suffix, tmp_path):
        path, again = tmp_path / f"x{suffix}", tmp_path / f"y{suffix}"
        table = typed()
        if suffix == ".parquet":
            table = table.drop_columns("number")  # Parquet itself makes plain numbers of it
        self.write(path, table)
        frame = read_table(path)
        assert frame.index.name == "time"
        write_table(again, decompress(compress(frame, lossless=True)))
        assert self.read(again).schema.equals(self.read(path).schema)
        assert self.read(again).drop_columns("nan").equals(self.read(path).drop_columns("nan"))

    def test_pieces_make_up_the_table(self, suffix, tmp_path):
        path = tmp_path / f"x{suffix}"
        self.write(path, typed())
        with opened(path) as table:
            pieces = list(table.pieces())
            encoder = Encoder(lossless=True)
            data = b"".join(map(encoder.append, pieces)) + encoder.finish()
        assert_frame_equal(decompress(data), read_table(path))

    def test_rows_for_a_fit(self, suffix, tmp_path):
        path = tmp_path / f"x{suffix}"
        self.write(path, typed().select(["x", "whole"]))
        X = np.concatenate([block.copy() for block in open_rows(path).blocks()])
        assert_array_equal(X[:, 0], typed()["x"].to_numpy())
        assert np.isnan(X[0, 1])

    def test_damage(self, suffix, tmp_path):
        path = tmp_path / f"x{suffix}"
        path.write_bytes(b"not a table")
        with pytest.raises(DataError, match="cannot be read: it is damaged, cut short or not"):
            read_table(path)
        with pytest.raises(ValueError, match="cannot be read"):
            open_rows(path)


class TestNumPy:
    """Numbers of one type; what wrote pointers is refused."""

    @pytest.mark.parametrize(
        ("column", "words"),
        [
            ([True, False], "column 'b' is truth values among others"),
            (["x", "y"], "column 'b' is (str|object)"),
            (pd.array([True, None], dtype="boolean"), "column 'b' is boolean"),
            (pd.array([1, None], dtype="Int8"), "column 'b' is Int8"),
            (pd.Categorical(["x", "y"]), "column 'b' is category"),
            (pd.to_datetime(["2020", "2021"]), "column 'b' is datetime64"),
            (np.array([2**60, 1]), r"column 'b' has whole numbers beyond 2\^53 among floats"),
        ],
    )
    def test_mixed_tables_are_refused(self, column, words, tmp_path):
        with pytest.raises(ValueError, match=f"a .npy file holds numbers of one type; {words}"):
            write_table(tmp_path / "x.npy", pd.DataFrame({"a": [1.5, 2.5], "b": column}))
        assert not (tmp_path / "x.npy").exists()

    def test_numbers_of_several_types(self, tmp_path):
        frame = pd.DataFrame({"a": [1.5, 2.5], "b": np.array([1, 2], "i2"), "c": pd.array([1.5, None], "Float64")})
        write_table(tmp_path / "x.npy", frame)
        assert_array_equal(np.load(tmp_path / "x.npy"), [[1.5, 1, 1.5], [2.5, 2, np.nan]])


def test_a_boolean_column_with_gaps_in_csv(tmp_path):
    """It was written as an error about an ambiguous NA."""
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.5], "on": pd.array([True, None, False], dtype="boolean")})
    frame["n"] = pd.array([1, None, 3], dtype="Int32")
    write_table(tmp_path / "x.csv", frame)
    assert (tmp_path / "x.csv").read_text() == "a,on,n\n1.5,True,1\n2.5,,\n3.5,False,3\n"
