"""CSV text: what is read, what is refused, and what comes back byte for byte."""

import gzip

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal

from hrpursuit.rows import open_rows
from hrpursuit.rows.source import DataError
from hrpursuit.tables import opened, read_table, write_table

#: Texts that come back byte for byte if their text is to be kept.
KEPT = {
    "CRLF": "time,a\r\n2020-01-01,1.5\r\n2020-01-02,\r\n",
    "no line end at the end": "a,b\n1,2\n3,4",
    "CRLF and no line end at the end": "a,b\r\n1,2\r\n3,4",
    "byte order mark": "\ufeffa,b\n1,2\n",
    "trailing zeros in some cells": "a,b\n1.50,2\n1.25,3\n1.5,4.0\n",
    "mostly two decimals": "a\n1.50\n2.20\n3.30\n4\n",
    "beyond all doubles": "a,b\n1e400,2\n-1e400,3\n1.5,4\n",
    "digits that no double holds": "a,b\n0.1000000000000000055,2\n1.5,3\n",
    "other exponents": "a,b\n1E5,2\n1e-7,3\n1.5,4\n",
    "leading zeros and spaces": "a,b\n007, 2\n8,3\n",
    "several words for a gap": "a,b\nNA,2\n,3\nnull,4\n",
    "texts": "a,state\n1,on\n2,off\n3,\n",
    "texts with commas, quotes and line ends": 'a,note\n1,"x, y"\n2,"he said ""no"""\n3,"two\nlines"\n',
    "texts with words for gaps": "a,land\n1,NA\n2,PL\n3,null\n",
    "truth values": "a,on\n1,true\n2,false\n",
    "truth values with gaps": "a,on\n1,True\n2,\n3,False\n",
    "times that are not the index": "a,when\n1,2020-01-01T00:00Z\n2,2020-01-02T00:00Z\n",
    "times of two forms": "time,a\n2020-01-01 00:00:00,1\n2020-01-01T01:00:00,2\n",
    "times of summer and winter": "time,a\n2020-10-25T02:30:00+02:00,1\n2020-10-25T02:30:00+01:00,2\n",
    "repeated and unsorted times": "time,a\n2020-01-02,1\n2020-01-01,2\n2020-01-01,3\n",
    "a semicolon in a name": "time,a;b,c\n2020-01-01,1,2\n2020-01-02,3,4\n",
    "a tab in a name": "a\tb,c\n1,2\n3,4\n",
    "decimal commas and a comma in a name": "a,x;b\n1,5;2\n3,5;4\n",
    "a name of two lines": '"a\nb",c\n1,2\n',
    "no names and zeros": "1.50,2.0\n2.25,3.0\n",
    "a column of nothing": "a,b\n1,\n2,\n",
    "addresses": "a,ip\n1,10.0.0.1\n2,10.0.0.2\n",
}


def of_text(folder, text, **options):
    (folder / "x.csv").write_bytes(text.encode())
    return read_table(folder / "x.csv", **options)


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_text_that_is_kept(text, tmp_path):
    write_table(tmp_path / "y.csv", of_text(tmp_path, text, keep_text=True))
    assert (tmp_path / "y.csv").read_bytes() == text.encode()


def test_too_many_odd_cells_are_not_kept(tmp_path):
    text = "a\n" + "1.50\n1.5\n" * 5000
    table = of_text(tmp_path, text, keep_text=True)
    assert "odd" not in table.attrs.get("csv", {})
    assert_array_equal(table, np.full((10000, 1), 1.5))


def test_what_the_columns_are(tmp_path):
    table = of_text(tmp_path, "n,b,g,s,e,i\n1,true,True,x,,inf\n2,false,,,,1\n".replace("True", "true"))
    assert [str(kind) for kind in table.dtypes[:3]] == ["float64", "bool", "boolean"]
    assert table["g"].tolist() == [True, pd.NA]
    assert table["s"].tolist()[0] == "x"
    assert table["s"].isna().tolist() == [False, True]
    assert table["e"].dtype == table["i"].dtype == np.float64


def test_texts_that_look_like_numbers(tmp_path):
    table = of_text(tmp_path, "id,a\n007,1\n008,2\n", texts=("id",))
    assert table["id"].tolist() == ["007", "008"]
    with pytest.raises(DataError, match="no column 'x'"):
        of_text(tmp_path, "id,a\n007,1\n", texts=("x",))


def test_numbers_and_words_in_one_column_are_an_error(tmp_path):
    with pytest.raises(DataError, match=r"column 'b' holds 'broken' in row 3, not a number.*--drop-column.*--text-col"):
        of_text(tmp_path, "a,b\n1,2\n2,3\n3,broken\n")


def test_words_that_come_after_the_first_piece(tmp_path, monkeypatch):
    monkeypatch.setattr("hrpursuit.rows.csv.TEXT_BYTES", 1000)
    (tmp_path / "x.csv").write_text("a,b\n" + "1,\n" * 1000 + "1,word\n")
    assert read_table(tmp_path / "x.csv")["b"].tolist()[-1] == "word"
    (tmp_path / "x.csv").write_text("a,b\n" + "1,2\n" * 1000 + "1,word\n")
    with opened(tmp_path / "x.csv") as table, pytest.raises(DataError, match="holds 'word' in row 1001"):
        list(table.pieces())


@pytest.mark.parametrize("suffix", [".csv.gz", ".csv.zst", ".csv"])
def test_packed_text(suffix, tmp_path, rng):
    table = pd.DataFrame({"a": rng.normal(size=5000).round(3), "s": rng.choice(["x", "y"], 5000)})
    path = tmp_path / f"x{suffix}"
    write_table(path, table)
    assert_frame_equal(read_table(path), table, check_dtype=False)
    data = path.read_bytes()
    if suffix != ".csv":
        assert len(data) < (path.stat().st_size if suffix == ".csv" else 30_000)
        path.write_bytes(data[: len(data) // 2])
        with pytest.raises(ValueError, match="cannot be read"):
            read_table(path)
    if suffix == ".csv.gz":
        path.write_bytes(gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n"))
        assert_array_equal(read_table(path), [[1, 2], [3, 4]])
        assert_array_equal(np.concatenate(list(open_rows(path).blocks())), [[1, 2], [3, 4]])


class TestOptions:
    def test_columns_that_are_left_out(self, tmp_path):
        text = "time,a,note1,note2,b\n2020-01-01,1,x,y,2\n"
        assert list(of_text(tmp_path, text, drop=("note*", "b")).columns) == ["a"]
        with pytest.raises(DataError, match="no column 'c'; it has a, note1, note2, b"):
            of_text(tmp_path, text, drop=("c",))
        table = pd.DataFrame({"a": [1], "b": [b"bytes"]})
        table.to_parquet(tmp_path / "x.parquet")
        assert list(read_table(tmp_path / "x.parquet", drop=("b",))) == ["a"]

    def test_comments(self, tmp_path):
        text = '# made by x\n#, and, more\na,b\n1,"#2\n#3"\n# end, of it\n3,x\n'
        assert of_text(tmp_path, text, comment="#")["b"].tolist() == ["#2\n#3", "x"]
        assert_array_equal(of_text(tmp_path, "%x\na,b\n1,2\n%y\n", comment="%"), [[1, 2]])
        with pytest.raises(ValueError, match="is empty"):
            of_text(tmp_path, "# only\n", comment="#")

    def test_thousands(self, tmp_path):
        assert_array_equal(of_text(tmp_path, 'a,b\n"1,234.5",2\n"-12,345,678",3\n', thousands=","),
                           [[1234.5, 2], [-12345678, 3]])  # fmt: skip
        assert_array_equal(of_text(tmp_path, "a;b\n1.234;2,5\n1;3\n", thousands="."), [[1234, 2.5], [1, 3]])
        assert_array_equal(of_text(tmp_path, "a;b\n1 234;2,5\n1;3\n", thousands=" "), [[1234, 2.5], [1, 3]])
        with pytest.raises(DataError, match="holds '1,23' in row 2, not a number with ',' between thousands"):
            of_text(tmp_path, 'a,b\n"1,234",2\n"1,23",3\n', thousands=",")
        with pytest.raises(ValueError, match="one mark"):
            of_text(tmp_path, "a\n1\n", thousands="ab")

    def test_long_tables(self, tmp_path):
        text = "time,sensor,value\n2020-01-02,s2,1.50\n2020-01-01,s1,2.25\n2020-01-01,s2,3.00\n"
        table = of_text(tmp_path, text, long=("time", "sensor", "value"))
        assert list(table.columns) == ["s2", "s1"]
        assert_array_equal(table, [[3, 2.25], [1.5, np.nan]])
        write_table(tmp_path / "y.csv", table)
        assert (tmp_path / "y.csv").read_text() == "time,s2,s1\n2020-01-01,3.00,2.25\n2020-01-02,1.50,\n"
        columns = ("t", "id", "v")
        wide = of_text(tmp_path, "v,id,t\n5,17,1\n6,4,0\n", long=columns)
        assert list(wide.columns) == ["17", "4"]
        assert_array_equal(wide, [[np.nan, 6], [5, np.nan]])
        with pytest.raises(DataError, match=r"row 3 has a second value of '17' at 1;"):
            of_text(tmp_path, "v,id,t\n5,17,1\n6,4,0\n7,17,1\n", long=columns)
        with pytest.raises(DataError, match="beside those of the long format: unit; leave them out with --drop-column"):
            of_text(tmp_path, "v,id,t,unit\n5,17,1,K\n", long=columns)
        assert of_text(tmp_path, "v,id,t,unit\n5,17,1,K\n", long=columns, drop=("unit",)).shape == (1, 1)
        with pytest.raises(DataError, match="no column 'id'"):
            of_text(tmp_path, "v,place,t\n5,17,1\n", long=columns)
        with pytest.raises(DataError, match="row 2 has no 'id'"):
            of_text(tmp_path, "v,id,t\n5,17,1\n5,,1\n", long=columns)
        with pytest.raises(DataError, match=r"column 'v' holds (str|object)"):
            of_text(tmp_path, "v,id,t\nx,17,1\n", long=columns)
        with pytest.raises(ValueError, match="three columns"):
            of_text(tmp_path, "v,id,t\n5,17,1\n", long=("t", "t", "v"))


class TestOddTables:
    def test_thousands_of_columns(self, tmp_path):
        names = [f"c{i}" for i in range(10_000)]
        table = of_text(tmp_path, ",".join(names) + "\n" + ",".join(["1.5"] * 10_000) + "\n")
        assert table.shape == (1, 10_000)

    def test_a_very_long_text(self, tmp_path):
        text = "x" * (1 << 20)
        assert of_text(tmp_path, f"a,b\n1,{text}\n")["b"].tolist() == [text]
        with pytest.raises(ValueError, match="cannot be read"):
            of_text(tmp_path, "a,b\n1," + "x" * (9 << 20) + "\n")

    def test_quotes_that_do_not_end(self, tmp_path):
        with pytest.raises(DataError, match="quotes that begin in row 1 do not end"):
            of_text(tmp_path, 'a,b\n1,"2\n3,4\n')

    @pytest.mark.parametrize(
        "data", [b"a,b\n1,\xff\n", b"\xff\xfea\x00,\x00b\x00\n\x00", b"a,b\n" + b"1,2\n" * 200 + b"\xe9,1\n"]
    )
    def test_bytes_that_are_not_utf8(self, data, tmp_path):
        (tmp_path / "x.csv").write_bytes(data)
        with pytest.raises(DataError, match="not UTF-8"):
            read_table(tmp_path / "x.csv")

    def test_times_that_do_not_exist_are_kept(self, tmp_path):
        table = of_text(tmp_path, "time,a\n2020-03-29 02:30:00,1\n2020-03-29 03:30:00,2\n")
        assert str(table.index[0]) == "2020-03-29 02:30:00"

    def test_zones_and_none(self, tmp_path):
        with pytest.raises(DataError, match="in row 2, not a time stamp with a zone, as the first"):
            of_text(tmp_path, "time,a\n2020-01-01T00:00:00Z,1\n2020-01-01T01:00:00,2\n")


def test_writing_texts_in_many_rows_that_need_quotes(tmp_path):
    """Rows before the first that needs quotes were written twice."""
    table = pd.DataFrame({"a": range(5000), "s": ["x"] * 4999 + ["y,z"]})
    write_table(tmp_path / "x.csv", table)
    assert len((tmp_path / "x.csv").read_text().splitlines()) == 5001
    assert_frame_equal(read_table(tmp_path / "x.csv"), table, check_dtype=False)
