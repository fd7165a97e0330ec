"""Tables of readings: what is read is what was written, down to the text of a tidy file."""

from datetime import date

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal

from hrpursuit.rows.source import DataError
from hrpursuit.tables import opened, read_table, write_table

TIDY = {
    "whole numbers": "hour,s1,s2\n0,43,\n1,,-7\n",
    "decimals": "hour,s1,s2\n0,0.1,12.5\n1,0.3,1e+300\n",
    "time stamps": "time,a,b\n2017-10-01 00:00:00,0.1,5.0\n2017-10-01 01:00:00,12.5,\n",
    "zone": "time,a,b\n2017-10-01T00:00:00Z,0.10,5.00\n2017-10-01T01:00:00Z,12.50,NA\n",
    "other zone": "time,a\n2017-10-01T00:00:00.250+02:00,1\n2017-10-01T01:00:00.000+02:00,2\n",
    "days": "date,a\n2017-10-01,1\n2017-10-02,\n",
    "semicolons": "time;a;b\n2017-10-01T00:00;0,1;5\n2017-10-01T01:00;12,5;\n",
    "no index": "a,b\n1,2\n3,\n",
    "no names": "1,2\n3,\n",
    "no names but time": "2017-10-01,1,2\n2017-10-02,3,\n",
    "as pandas writes an index": ",a,b\n0,1.5,2\n1,3.0,\n",
    "one column with a gap": "a\n1\nNaN\n",
    "beyond what floats hold": "a,b\n9007199254740993,1\n5,2\n",
    "names with commas": '"a, in ug",b\n1,2\n',
}


def of_text(folder, text, **options):
    (folder / "x.csv").write_text(text)
    return read_table(folder / "x.csv", **options)


@pytest.mark.parametrize("text", TIDY.values(), ids=TIDY)
def test_tidy_text_comes_back(text, tmp_path):
    write_table(tmp_path / "y.csv", of_text(tmp_path, text))
    assert (tmp_path / "y.csv").read_text() == text


def test_the_october_readings_come_back(tmp_path, october):
    table = read_table(october)
    assert table.shape == (744, 56)
    assert table.index.name == "hour"
    assert_array_equal(table.to_numpy(), np.genfromtxt(october, delimiter=",", skip_header=1)[:, 1:])
    write_table(tmp_path / "y.csv", table)
    assert (tmp_path / "y.csv").read_bytes() == october.read_bytes()


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy"])
def test_pieces_make_up_the_table(tmp_path, rng, suffix):
    values = np.where(rng.random((50_000, 5)) < 0.2, np.nan, rng.standard_normal((50_000, 5)))
    index = pd.date_range("2017-10-01", periods=len(values), freq="min", name="time")
    table = pd.DataFrame(values, index, columns=list("abcde"))
    path = tmp_path / f"x{suffix}"
    assert write_table(path, (table.iloc[i : i + 7_777] for i in range(0, len(table), 7_777))) == 50_000
    with opened(path) as file:
        pieces = list(file.pieces())
        whole = file.read()
    assert len(pieces) > 1 or suffix == ".csv"
    if suffix == ".npy":
        assert_array_equal(np.concatenate(pieces), values)
        assert_array_equal(whole, values)
        return
    assert_frame_equal(whole, table, check_freq=False, check_index_type=False)
    assert_frame_equal(pd.concat(pieces), table, check_freq=False, check_index_type=False)
    assert all(piece.attrs == pieces[0].attrs for piece in pieces)


def test_random_floats_survive_text(tmp_path, rng):
    values = np.frombuffer(rng.bytes(8 * 3000), dtype=np.float64)
    values = values[np.isfinite(values)][:2800].reshape(-1, 4)
    write_table(tmp_path / "x.csv", pd.DataFrame(values, columns=list("abcd")))
    assert_array_equal(read_table(tmp_path / "x.csv"), values)


@pytest.mark.parametrize("gap", ["", "NA", "NaN", "nan", "null", " ", "-"])
def test_gaps(gap, tmp_path):
    assert_array_equal(of_text(tmp_path, f"a,b\n1,{gap}\n{gap},2.5\n"), [[1, np.nan], [np.nan, 2.5]])


class TestIndex:
    def test_a_first_column_of_readings_is_none(self, tmp_path):
        assert of_text(tmp_path, "a,b\n1,2\n2,3\n").shape == (2, 2)
        assert of_text(tmp_path, "hour,b\n2,2\n1,3\n").shape == (2, 2)  # it does not grow
        assert of_text(tmp_path, "hour,b\n0.5,2\n1,3\n").shape == (2, 2)

    def test_by_name_and_none(self, tmp_path):
        text = "a,when,b\n1,5,2\n2,3,3\n"
        assert list(of_text(tmp_path, text, index="when").index) == [5, 3]
        assert of_text(tmp_path, "hour,b\n0,2\n1,3\n", index=False).shape == (2, 2)
        quoted = 'place,b\n"Nowa Huta, east",2\nWawel,3\n'
        write_table(tmp_path / "y.csv", of_text(tmp_path, quoted, index="place"))
        assert (tmp_path / "y.csv").read_text() == quoted
        with pytest.raises(DataError, match="no column 'hour'; it has a, when, b"):
            of_text(tmp_path, text, index="hour")

    def test_summer_and_winter_time_become_universal(self, tmp_path):
        table = of_text(tmp_path, "t,a\n2017-10-29T02:30:00+02:00,1\n2017-10-29T02:30:00+01:00,2\n")
        assert list(table.index) == [pd.Timestamp("2017-10-29T00:30Z"), pd.Timestamp("2017-10-29T01:30Z")]

    def test_days_in_parquet(self, tmp_path):
        days = [date(2017, 10, 1), date(2017, 10, 2)]
        pd.DataFrame({"day": days, "a": [1.5, 2.5]}).to_parquet(tmp_path / "x.parquet", index=False)
        assert list(read_table(tmp_path / "x.parquet").index) == [pd.Timestamp(day) for day in days]

    def test_first_column_of_parquet(self, tmp_path):
        frame = pd.DataFrame({"UTC time": pd.date_range("2017-10-01", periods=3), "a": [1, None, 3], "b": [1, 2, 3]})
        frame["b"] = frame["b"].astype("int16")
        frame.to_parquet(tmp_path / "x.parquet", index=False)
        table = read_table(tmp_path / "x.parquet")
        assert list(table.columns) == ["a", "b"]
        assert table["b"].dtype == np.int16
        assert isinstance(table.index, pd.DatetimeIndex)


class TestAirly:
    TEXT = "UTC time,1_pm25,1_pm1,2_pm1,2_pm25\n2017-10-01T00:00:00,1,2,3,4\n2017-10-01T01:00:00,5,6,7,8\n"

    def test_pm25_is_taken_and_said(self, tmp_path):
        with pytest.warns(UserWarning, match=r"pm25 is taken; --quantity chooses another: pm1\."):
            table = of_text(tmp_path, self.TEXT)
        assert list(table.columns) == ["1_pm25", "2_pm25"]
        assert_array_equal(table, [[1, 4], [5, 8]])
        assert table.index.name == "UTC time"

    def test_parquet_and_time_in_another_place(self, tmp_path):
        table = of_text(tmp_path, self.TEXT, quantity="pm25")
        whole = pd.read_csv(tmp_path / "x.csv", parse_dates=["UTC time"])
        whole[[*whole.columns[1:], "UTC time"]].to_parquet(tmp_path / "x.parquet", index=False)
        with pytest.warns(UserWarning, match="pm25 is taken"):
            again = read_table(tmp_path / "x.parquet")
        assert_frame_equal(again, table, check_dtype=False, check_index_type=False)

    def test_numbered_names_alone_are_not_that_layout(self, tmp_path):
        assert list(of_text(tmp_path, "1_a,2_b\n1,2\n3,4\n").columns) == ["1_a", "2_b"]

    def test_another_quantity(self, tmp_path):
        assert_array_equal(of_text(tmp_path, self.TEXT, quantity="pm1"), [[2, 3], [6, 7]])
        with pytest.raises(DataError, match="ends in _pm10; the quantities are pm1, pm25"):
            of_text(tmp_path, self.TEXT, quantity="pm10")
        with pytest.raises(DataError, match="its columns have no quantities"):
            of_text(tmp_path, "a,b\n1,2\n", quantity="pm25")

    def test_without_pm25_it_asks(self, tmp_path):
        with pytest.raises(DataError, match="choose one with --quantity: pm1, pm9"):
            of_text(tmp_path, self.TEXT.replace("pm25", "pm9"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n", "is empty: it has no rows"),
        ("a,b\n1,2\n3\n", "line 3 has 1 cells where the first has 2; correct it"),
        ("# of 2020\na,b\n1,2\n", "if the first line is a comment, --comment '#' leaves such lines out"),
        ("% by x, y, z\na,b\n1,2\n", "if the first line is a comment, --comment % leaves such lines out"),
        ("a,b\n1,2\n3,word\n", "column 'b' holds 'word' in row 2, not a number.*--text-column keeps it as text"),
        ("time,b\n2017-10-01,2\nlater,3\n", "column 'time' holds 'later' in row 2, not an ISO 8601 time stamp"),
        ("time,b\n2017-10-01,2\n2017-13-41,3\n", "holds '2017-13-41' in row 2, not an ISO 8601"),
        ("time,b\n2017-10-01 01:00,2\n2017-10-01 25:00,3\n", "holds '2017-10-01 25:00' in row 2, not an ISO 8601"),
        ("time,b\n2017-10-01,2\n,3\n", "column 'time' holds '' in row 2, not an ISO 8601 time stamp"),
        ("hour,b\n0,2\n1,3\n2,4\nx,5\n", "column 'hour' holds 'x' in row 4, not a number"),
        ("a,a\n1,2\n", "several columns named 'a'"),
        ("time\n2017-10-01\n", "no column of readings"),
        ("a;b\n1,5;2.5\n", "holds '2.5' in row 1, not a number with a decimal comma"),
    ],
)
def test_bad_text(text, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        of_text(tmp_path, text)


def test_other_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.csv does not exist"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(ValueError, match=r"expected a name that ends in \.csv, .*\.ipc or \.npy; got '\.txt'"):
        read_table(tmp_path / "x.txt")
    (tmp_path / "x.csv").write_bytes("a,größe\n1,2\n".encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8"):
        read_table(tmp_path / "x.csv")
    pd.DataFrame({"a": [b"word"]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"column 'a' holds binary; numbers up to 64 bits"):
        read_table(tmp_path / "x.parquet")
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="cannot be read"):
        read_table(tmp_path / "x.parquet")
