"""compress, decompress, inspect and verify as a user calls them, on real files and through real pipes."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal

from hrpursuit.cli.main import run
from hrpursuit.compression import Decoder, compress, decompress
from hrpursuit.datasets import make_sensor_network
from hrpursuit.metrics import masked_rmse
from hrpursuit.tables.files import read_table, write_table

COMMAND = [sys.executable, "-c", "from hrpursuit.cli import main; main()"]
READINGS = make_sensor_network(300, 8, random_state=0, as_frame=True).tz_localize("UTC").rename_axis("time")
VALUES = READINGS.to_numpy()
OBSERVED = tuple(np.argwhere(~np.isnan(VALUES))[50])


def text_of(table):
    return table.to_csv(float_format="%d", date_format="%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """With a tidy readings.csv; commands run in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "readings.csv").write_text(text_of(READINGS))
    return tmp_path


def command(*arguments):
    return run([str(argument) for argument in arguments])


def told(capsys, *arguments, code=0):
    capsys.readouterr()
    assert command(*arguments) == code
    return capsys.readouterr().out


class TestCompress:
    @pytest.mark.parametrize("stream", [[], ["--stream"]])
    def test_jobs_change_no_byte(self, folder, capsys, stream):
        for jobs in (1, 2):
            asked = ["--max-error", 1, "--chunk-rows", 64, "--jobs", jobs, *stream]
            assert command("compress", "readings.csv", "-o", f"{jobs}.hrp", *asked) == 0
            assert command("decompress", f"{jobs}.hrp", "-o", f"{jobs}.csv", "--jobs", jobs) == 0
        assert (folder / "1.hrp").read_bytes() == (folder / "2.hrp").read_bytes()
        assert (folder / "1.csv").read_bytes() == (folder / "2.csv").read_bytes()
        with Decoder(folder / "2.hrp") as decoder:
            assert len(decoder.chunks) == 5
        for sub in (["compress", "readings.csv", "-o", "0.hrp", "--lossless"], ["decompress", "1.hrp", "-o", "0.csv"]):
            assert command(*sub, "--jobs", 0) == 2
            assert "0 threads do nothing" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "target", [["--rmse", "5%"], ["--rmse", "0.05"], ["--max-error", "1"], ["--lossless"]], ids=" ".join
    )
    @pytest.mark.parametrize("stream", [False, True])
    def test_targets_are_kept_and_figures_are_those_of_the_file(self, folder, capsys, target, stream):
        more = ["--stream", "--chunk-rows", 64] if stream else ["--effort", "fast"]
        report = json.loads(told(capsys, "compress", "readings.csv", "-o", "r.hrp", *target, *more, "--json"))
        assert command("decompress", "r.hrp", "-o", "again.csv") == 0
        again = read_table("again.csv").to_numpy()
        assert_array_equal(np.isnan(again), np.isnan(VALUES))
        assert report["rmse"] == pytest.approx(masked_rmse(VALUES, again), rel=1e-9, abs=1e-12)
        assert report["max_error"] == pytest.approx(np.nanmax(np.abs(VALUES - again)))
        kept = {"--rmse": report["rmse"] <= 0.05, "--max-error": report["max_error"] <= 1}
        assert kept.get(target[0], report["max_error"] == 0)
        assert report["n_gaps"] == np.isnan(VALUES).sum()
        assert report["bytes_in"] == (folder / "readings.csv").stat().st_size
        assert report["bytes_out"] == (folder / "r.hrp").stat().st_size
        assert report["ratio"] == report["bytes_in"] / report["bytes_out"] > 1
        assert command("verify", "r.hrp", "--against", "readings.csv") == 0

    @pytest.mark.long
    def test_t0_coefficients(self, folder, capsys):
        report = json.loads(told(capsys, "compress", "readings.csv", "-o", "r.hrp", "--n-nonzero", 3, "--json"))
        assert report["rmse"] < 0.3
        assert command("verify", "r.hrp", "--against", "readings.csv") == 0

    def test_table_for_people(self, folder, capsys):
        out = told(capsys, "compress", "readings.csv", "-o", "r.hrp", "--rmse", "5%")
        for word in ("300, 8", "gaps", "bytes in", "bytes out", "ratio", "relative RMSE", "largest error", "seconds"):
            assert word in out

    @pytest.mark.parametrize("stream", [[], ["--stream", "--chunk-rows", "50"]])
    def test_lossless_text_comes_back_byte_for_byte(self, folder, stream):
        assert command("compress", "readings.csv", "-o", "r.hrp", "--lossless", *stream) == 0
        assert command("decompress", "r.hrp", "-o", "again.csv") == 0
        assert (folder / "again.csv").read_bytes() == (folder / "readings.csv").read_bytes()

    def test_the_october_readings_come_back_byte_for_byte(self, folder, october):
        assert command("compress", october, "-o", "r.hrp", "--lossless") == 0
        assert command("decompress", "r.hrp", "-o", "again.csv") == 0
        assert (folder / "again.csv").read_bytes() == october.read_bytes()

    @pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "uint8", ">i4", ">f8"])
    def test_numpy_keeps_its_type(self, folder, dtype, rng):
        array = rng.integers(0, 200, (70, 3)).astype(dtype)
        np.save("x.npy", array)
        assert command("compress", "x.npy", "-o", "x.hrp", "--lossless") == 0
        assert command("decompress", "x.hrp", "-o", "y.npy") == 0
        again = np.load("y.npy")
        assert again.dtype == array.dtype.newbyteorder("=")
        assert_array_equal(again, array)
        assert command("verify", "x.hrp", "--against", "x.npy") == 0

    def test_parquet_keeps_index_and_types(self, folder):
        table = READINGS.assign(n=np.arange(300, dtype=np.int16))
        table.to_parquet("x.parquet")
        assert command("compress", "x.parquet", "-o", "x.hrp", "--lossless", "--stream") == 0
        assert command("decompress", "x.hrp", "-o", "y.parquet") == 0
        assert_frame_equal(pd.read_parquet("y.parquet"), table, check_freq=False, check_column_type=False)

    def test_one_quantity_of_the_airly_layout(self, folder, capsys):
        airly = READINGS.rename_axis("UTC time").add_suffix("_pm25").rename(columns=lambda name: name[1:])
        airly["01_pm1"] = 7
        write_table("airly.csv", airly)
        assert command("compress", "airly.csv", "-o", "r.hrp", "--lossless", "--json") == 0
        done = capsys.readouterr()
        assert "pm25 is taken; --quantity chooses another: pm1" in done.err
        assert json.loads(done.out)["n_columns"] == 8
        assert command("compress", "airly.csv", "-o", "r.hrp", "--lossless", "--quantity", "pm1", "--json") == 0
        assert json.loads(capsys.readouterr().out)["n_columns"] == 1
        assert command("verify", "r.hrp", "--against", "airly.csv", "--quantity", "pm1") == 0

    def test_bases(self, folder, capsys):
        for basis in ("dct", "pca"):
            report = json.loads(
                told(capsys, "compress", "readings.csv", "-o", "r.hrp", "--rmse", "5%", "--basis", basis, "--json")
            )
            assert report["rmse"] <= 0.05


class TestByColumn:
    """Bounds by column, from the option to the file, and in all that is shown of it."""

    @pytest.fixture(autouse=True)
    def _names(self, folder, capsys):
        self.folder, self.capsys = folder, capsys

    def compressed(self, *options):
        told(self.capsys, "compress", "readings.csv", "-o", "r.hrp", *options)
        return Decoder(Path("r.hrp").read_bytes()).target.bounds(8).tolist()

    @pytest.mark.parametrize("more", [[], ["--stream", "--chunk-rows", "64"]])
    def test_bounds_are_kept(self, more):
        bounds = self.compressed("--max-error", "s01=3,s08=lossless,s0?=1.5", *more)
        assert bounds == [3, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 0]
        errors = (decompress(Path("r.hrp").read_bytes()) - READINGS).abs().max()
        assert (errors.fillna(0) <= bounds).all()
        assert errors["s01"] > 1.5
        assert command("verify", "r.hrp", "--against", "readings.csv") == 0

    @pytest.mark.parametrize(
        ("options", "bounds"),
        [
            (["--max-error", "s01=0,*=2"], [0, 2, 2, 2, 2, 2, 2, 2]),
            (["--max-error", "2", "--lossless-column", "s01", "--lossless-column", "s0[78]"], [0, 2, 2, 2, 2, 2, 0, 0]),
            (["--rmse", "5%", "--lossless-column", "s03"], [np.inf] * 2 + [0] + [np.inf] * 5),
            (["--n-nonzero", "3", "--lossless-column", "s03"], [np.inf] * 2 + [0] + [np.inf] * 5),
        ],
    )
    def test_lossless_columns(self, options, bounds):
        assert self.compressed(*options) == bounds
        back = decompress(Path("r.hrp").read_bytes())
        for name in READINGS.columns[np.array(bounds) == 0]:
            assert_array_equal(back[name], READINGS[name])
        assert command("verify", "r.hrp", "--against", "readings.csv") == 0

    def test_shares_of_the_range(self):
        bounds = self.compressed("--relative-error", "s01=10%,*=0.05")
        ranges = (READINGS.max() - READINGS.min()).fillna(0).to_numpy()
        expected = ranges * np.array([0.1] + [0.05] * 7)
        assert (np.array(bounds) <= expected * (1 + 1e-12)).all()
        assert (np.array(bounds) >= 0.999 * expected).all()

    def test_inspect_shows_them(self):
        self.compressed("--max-error", "s01=3,s08=lossless,*=1.5")
        facts = json.loads(told(self.capsys, "inspect", "r.hrp", "--json"))
        assert facts["columns"] == list(READINGS.columns)
        assert facts["target"] == {"kind": "max_error", "amount": 3, "by_column": [3, *[1.5] * 6, 0]}
        out = told(self.capsys, "inspect", "r.hrp")
        assert "±1.5 to ±3 by column, 1 column lossless" in out
        rows = [line.replace("│", "").split() for line in out.splitlines() if "s01" in line or "s08" in line]
        assert rows == [["±3", "s01"], ["lossless", "s08"]]
        out = told(self.capsys, "inspect", "r.hrp", "--against", "readings.csv")
        rows = {row[0]: row[1] for row in (line.replace("│", "").split() for line in out.splitlines()) if len(row) > 4}
        assert (rows["s01"], rows["s02"], rows["s08"]) == ("±3", "±1.5", "lossless")

    def test_verify_shows_them_and_names_what_is_wrong(self):
        self.compressed("--max-error", "s01=3,s08=lossless,*=1.5")
        out = told(self.capsys, "verify", "r.hrp", "--against", "readings.csv")
        assert "It keeps its target (±1.5 to ±3 by column, 1 column lossless)" in out
        rows = [line.replace("│", "").split() for line in out.splitlines() if "s01" in line]
        assert rows[0][:2] == ["s01", "±3"]
        report = json.loads(told(self.capsys, "verify", "r.hrp", "--against", "readings.csv", "--json"))
        assert [one["target"] for one in report["columns"]] == ["±3", *["±1.5"] * 6, "lossless"]
        other = READINGS.copy()
        row = int(np.flatnonzero(other[["s01", "s03", "s08"]].notna().all(axis=1))[0])
        other.iloc[row, [0, 2, 7]] += np.array([20, 20, 1])
        write_table("other.csv", other)
        out = told(self.capsys, "verify", "r.hrp", "--against", "other.csv", code=1)
        assert "column 's01': an error of " in out
        assert "exceeds its bound of 3" in out
        assert "column 's03': an error of " in out
        assert "column 's08': 1 readings differ, and it is to be lossless" in out
        assert "column 's04'" not in out

    def test_an_rmse_beside_lossless_columns_is_checked_over_the_others(self):
        self.compressed("--rmse", "5%", "--lossless-column", "s01")
        other = READINGS.copy()
        other.iloc[:, 1:] *= 1.2
        write_table("other.csv", other)
        assert "exceeds the target of 5.0000%" in told(self.capsys, "verify", "r.hrp", "--against", "other.csv", code=1)

    def test_arrays_by_number(self, rng):
        np.save("x.npy", np.round(rng.normal(0, 10, (50, 3)), 2))
        told(self.capsys, "compress", "x.npy", "-o", "x.hrp", "--max-error", "1=lossless,*=.5")
        assert Decoder(Path("x.hrp").read_bytes()).target.bounds(3).tolist() == [0.5, 0, 0.5]

    def test_a_glitch_is_noted(self):
        table = READINGS.copy()
        table.iloc[OBSERVED] = 65535
        write_table("glitch.csv", table)
        assert command("compress", "glitch.csv", "-o", "r.hrp", "--rmse", "5%") == 0
        err = self.capsys.readouterr().err
        assert "note: " in err
        assert "large relative error of their own" in err

    @pytest.mark.parametrize(
        ("options", "code", "words"),
        [
            (["--max-error", "s01=1"], 1, "max_error says nothing about the columns 's02', 's03'"),
            (["--max-error", "x=1,*=2"], 1, "there is no column 'x'"),
            (["--max-error", "x*=1,*=2"], 1, "the pattern 'x*' fits no column"),
            (["--max-error", "s01=-1,*=2"], 2, "finite number above 0; got -1"),
            (["--max-error", "s01=nan,*=2"], 2, "finite number above 0; got nan"),
            (["--max-error", "s01=one,*=2"], 2, "'one' is not a number"),
            (["--max-error", "s01=1,2"], 2, "'2' is not a column and its bound"),
            (["--max-error", "0"], 2, "give --lossless"),
            (["--relative-error", "s01=5,*=1%"], 2, "5 would be 500%"),
            (["--relative-error", "1%", "--max-error", "1"], 2, "exactly one of --rmse, --max-error, --relative-error"),
            (["--lossless-column", "s01"], 2, "got none"),
            (["--lossless", "--lossless-column", "s01"], 2, "--lossless keeps every column"),
            (["--max-error", "1", "--lossless-column", "x"], 1, "lossless: there is no column 'x'"),
        ],
    )
    def test_what_is_wrong_is_said(self, options, code, words):
        assert command("compress", "readings.csv", "-o", "r.hrp", *options) == code
        assert words in " ".join(self.capsys.readouterr().err.replace("│", " ").split())
        assert not (self.folder / "r.hrp").exists()


class TestDecompress:
    @pytest.fixture(autouse=True)
    def _compressed(self, folder):
        assert command("compress", "readings.csv", "-o", "r.hrp", "--lossless", "--chunk-rows", 48) == 0

    def test_a_range_of_time(self):
        assert command("decompress", "r.hrp", "-o", "x.csv", "--from", "2024-10-03T05:00", "--to", "2024-10-04") == 0
        table = read_table("x.csv")
        assert_array_equal(table, READINGS.loc["2024-10-03T05:00":"2024-10-04"])  # all of the last day
        assert len(table) == 43

    @pytest.mark.parametrize("more", [[], ["--from", "2024-10-03", "--to", "2024-10-04"]])
    @pytest.mark.parametrize("names", [["s05,s03"], ["s05, s03"], ["s05", "s03"]])
    def test_some_columns(self, more, names, capsys):
        options = [option for name in names for option in ("--columns", name)]
        report = json.loads(told(capsys, "decompress", "r.hrp", "-o", "x.csv", *options, *more, "--json"))
        expected = READINGS.loc["2024-10-03":"2024-10-04"] if more else READINGS
        table = read_table("x.csv")
        assert_array_equal(table, expected[["s05", "s03"]])
        assert list(table.columns) == ["s05", "s03"]
        assert (table.index == expected.index).all()
        assert (report["n_rows"], report["n_columns"]) == (len(expected), 2)

    def test_columns_keep_the_form_of_their_numbers(self, folder):
        (folder / "x.csv").write_text('time,a,b,"c,d"\n2024-01-01,1.50,2,3.0\n2024-01-02,1.25,3,4.0\n')
        assert command("compress", "x.csv", "-o", "x.hrp", "--lossless") == 0
        assert command("decompress", "x.hrp", "-o", "y.csv", "--columns", "c,d", "--columns", "a") == 0
        assert (folder / "y.csv").read_text() == 'time,"c,d",a\n2024-01-01,3.0,1.50\n2024-01-02,4.0,1.25\n'

    def test_some_columns_of_an_array(self):
        np.save("x.npy", np.arange(200.0).reshape(50, 4))
        assert command("compress", "x.npy", "-o", "x.hrp", "--lossless", "--chunk-rows", 10) == 0
        assert command("decompress", "x.hrp", "-o", "y.npy", "--columns", "3,0") == 0
        assert_array_equal(np.load("y.npy"), np.arange(200.0).reshape(50, 4)[:, [3, 0]])

    def test_columns_that_are_not_there(self, folder, capsys):
        assert command("decompress", "r.hrp", "-o", "x.csv", "--columns", "s05,s99") == 1
        assert "there is no column 's99'; the table has the columns 's01'" in capsys.readouterr().err
        assert not (folder / "x.csv").exists()

    def test_a_range_of_rows(self):
        np.save("x.npy", np.arange(200.0).reshape(100, 2))
        assert command("compress", "x.npy", "-o", "x.hrp", "--lossless", "--chunk-rows", 10) == 0
        assert command("decompress", "x.hrp", "-o", "y.npy", "--from", 15, "--to", 35) == 0
        assert_array_equal(np.load("y.npy"), np.arange(30.0, 72).reshape(-1, 2))

    def test_a_label_that_is_none(self, capsys):
        np.save("x.npy", np.ones((10, 2)))
        assert command("compress", "x.npy", "-o", "x.hrp", "--lossless") == 0
        assert command("decompress", "x.hrp", "-o", "y.npy", "--from", "monday") == 1
        assert "holds numbers, from 0 on; got 'monday'" in capsys.readouterr().err
        assert command("decompress", "r.hrp", "-o", "y.npy", "--from", "someday") == 1
        assert "someday" in capsys.readouterr().err

    def test_other_kinds_of_files(self):
        assert command("decompress", "r.hrp", "-o", "x.npy") == 0
        assert_array_equal(np.load("x.npy"), VALUES)
        assert command("decompress", "r.hrp", "-o", "x.parquet") == 0
        assert_array_equal(pd.read_parquet("x.parquet"), VALUES)

    def test_what_is_whole_of_a_damaged_file(self, folder, capsys):
        data = (folder / "r.hrp").read_bytes()
        (folder / "cut.hrp").write_bytes(data[: len(data) // 2])
        assert command("decompress", "cut.hrp", "-o", "x.csv") == 1
        assert "cut.hrp: " in (error := capsys.readouterr().err)
        assert "decompress --damaged skip" in error
        assert not (folder / "x.csv").exists()
        assert command("decompress", "cut.hrp", "-o", "x.csv", "--damaged", "skip") == 0
        assert "note: " in capsys.readouterr().err
        table = read_table("x.csv")
        assert 0 < len(table) < 300
        assert len(table) % 48 == 0
        assert_array_equal(table, VALUES[: len(table)])

    def test_a_table_without_rows(self, folder):
        np.save("x.npy", np.empty((0, 3)))
        assert command("compress", "x.npy", "-o", "x.hrp", "--lossless") == 0
        assert command("decompress", "x.hrp", "-o", "y.npy") == 0
        assert np.load("y.npy").shape == (0, 3)


class TestInspect:
    def test_what_is_inside(self, folder, capsys):
        assert command("compress", "readings.csv", "-o", "r.hrp", "--rmse", "5%", "--chunk-rows", 100) == 0
        facts = json.loads(told(capsys, "inspect", "r.hrp", "--json"))
        assert (facts["n_rows"], facts["n_columns"], facts["n_chunks"]) == (300, 8, 3)
        assert facts["target"] == {"kind": "relative_rmse", "amount": 0.05, "by_column": None}
        assert facts["dtypes"] == {"float64": 8}
        assert facts["first"].startswith("2024-10-01 00:00:00")
        assert facts["last"].startswith("2024-10-13 11:00:00")
        assert sum(facts["parts"].values()) == facts["n_bytes"] == (folder / "r.hrp").stat().st_size
        out = told(capsys, "inspect", "r.hrp")
        for word in ("300, 8", "float64", "relative RMSE 5%", "bytes by part", "█"):
            assert word in out

    def test_error_by_sensor(self, folder, capsys):
        assert command("compress", "readings.csv", "-o", "r.hrp", "--max-error", "2") == 0
        facts = json.loads(told(capsys, "inspect", "r.hrp", "--against", "readings.csv", "--json"))
        assert command("decompress", "r.hrp", "-o", "again.csv") == 0
        again = read_table("again.csv")
        for sensor in facts["sensors"]:
            x, y = READINGS[sensor["name"]], again[sensor["name"]].to_numpy()
            assert sensor["n_gaps"] == x.isna().sum()
            assert sensor["n_other_gaps"] == 0
            if x.notna().any():
                assert sensor["rmse"] == pytest.approx(masked_rmse(x.to_numpy()[None], y[None]), abs=1e-12)
                assert sensor["max_error"] == pytest.approx(np.nanmax(np.abs(x - y)))
        assert "gaps kept" in told(capsys, "inspect", "r.hrp", "--against", "readings.csv")


class TestVerify:
    @pytest.fixture(autouse=True)
    def _compressed(self, folder):
        assert command("compress", "readings.csv", "-o", "r.hrp", "--max-error", "1", "--chunk-rows", 100) == 0

    def test_all_is_well(self, capsys):
        assert "r.hrp is whole: 300 rows in 3 chunks, all checksums right." in told(capsys, "verify", "r.hrp")
        assert "It keeps its target (±1)" in told(capsys, "verify", "r.hrp", "--against", "readings.csv")

    def test_a_changed_byte_loses_its_chunk(self, folder, capsys):
        data = bytearray((folder / "r.hrp").read_bytes())
        data[len(data) // 2] ^= 1
        (folder / "bad.hrp").write_bytes(data)
        out = told(capsys, "verify", "bad.hrp", code=1)
        assert "bad.hrp is damaged; 200 rows can be read" in out
        assert "rows 100 to 199 are lost" in out
        report = json.loads(told(capsys, "verify", "bad.hrp", "--json", code=1))
        assert not report["is_whole"]
        assert report["faults"]

    @pytest.mark.parametrize("target", ["0.1", "a=0.1,*=0.3"])
    def test_a_bound_is_judged_on_decimals(self, folder, capsys, target):
        """1000.1 - 1000.0 is a little more than 0.1 in doubles; verify took it for an error above the bound."""
        table = pd.DataFrame({"a": [1000.0, 1000.1, 1000.2] * 40, "b": np.arange(120) / 10})
        table.to_csv("decimals.csv", index=False)
        assert command("compress", "decimals.csv", "-o", "d.hrp", "--max-error", target) == 0
        again = decompress((folder / "d.hrp").read_bytes())
        assert (again["a"] - table["a"]).abs().max() > 0.1
        assert command("verify", "d.hrp", "--against", "decimals.csv") == 0
        table["a"] += 0.001
        table.to_csv("decimals.csv", index=False)
        assert "exceeds" in told(capsys, "verify", "d.hrp", "--against", "decimals.csv", code=1)

    def test_an_error_above_the_bound(self, capsys):
        other = READINGS.copy()
        other.iloc[OBSERVED] += 3.5
        write_table("other.csv", other)
        out = told(capsys, "verify", "r.hrp", "--against", "other.csv", code=1)
        assert "exceeds the bound of 1" in out

    def test_another_gap(self, capsys):
        other = READINGS.copy()
        other.iloc[OBSERVED] = np.nan
        write_table("other.csv", other)
        assert "1 gaps are not where they were" in told(capsys, "verify", "r.hrp", "--against", "other.csv", code=1)

    def test_lossless_and_rmse_are_checked(self, capsys):
        other = READINGS.copy()
        other.iloc[OBSERVED] += 1e-9
        write_table("other.csv", other)
        assert command("compress", "readings.csv", "-o", "l.hrp", "--lossless") == 0
        assert "1 readings differ" in told(capsys, "verify", "l.hrp", "--against", "other.csv", code=1)
        write_table("other.csv", READINGS * 2)
        assert command("compress", "readings.csv", "-o", "e.hrp", "--rmse", "5%") == 0
        assert "exceeds the target of 5.0000%" in told(capsys, "verify", "e.hrp", "--against", "other.csv", code=1)

    def test_another_table(self, capsys):
        write_table("other.csv", READINGS.iloc[:100])
        assert command("verify", "r.hrp", "--against", "other.csv") == 1
        assert "other.csv has fewer rows" in capsys.readouterr().err
        write_table("other.csv", READINGS.iloc[:, ::-1])
        assert command("verify", "r.hrp", "--against", "other.csv") == 1
        assert "made of another table" in capsys.readouterr().err
        write_table("other.csv", READINGS.set_axis(READINGS.index + pd.Timedelta(hours=1)).rename_axis("time"))
        assert "300 rows have another index label" in told(capsys, "verify", "r.hrp", "--against", "other.csv", code=1)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
class TestPipes:
    def shell(self, line):
        line = line.replace("hrpursuit ", f"'{sys.executable}' -c 'from hrpursuit.cli import main; main()' ")
        return subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, check=False)

    @pytest.mark.long
    def test_there_and_back(self, folder):
        done = self.shell("cat readings.csv | hrpursuit compress - -o - --lossless | hrpursuit decompress - -o -")
        assert done.returncode == 0, done.stderr
        assert done.stdout == (folder / "readings.csv").read_bytes()
        assert b"bytes out" in done.stderr  # standard output is the file

    def test_a_reader_that_has_enough(self, folder):
        write_table("long.csv", pd.concat([READINGS] * 20))
        assert command("compress", "long.csv", "-o", "r.hrp", "--lossless") == 0
        done = self.shell("hrpursuit decompress r.hrp -o - | head -n 1")
        assert done.stdout == (folder / "readings.csv").read_bytes().splitlines(keepends=True)[0]
        assert b"Traceback" not in done.stderr
        assert b"Broken pipe" not in done.stderr

    def test_bad_text_gives_nothing(self, folder):
        done = self.shell("printf 'a\\n1\\nword\\n' | hrpursuit compress - -o - --lossless")
        assert done.returncode == 1
        assert done.stdout == b""
        assert b"standard input: column 'a' holds 'word' in row 2" in done.stderr


class TestErrors:
    """One line on standard error, exit code 1 (2 for wrong usage), and nothing half-written."""

    @pytest.fixture(autouse=True)
    def _folder(self, folder, capsys):
        self.folder, self.capsys = folder, capsys

    def fails(self, *arguments, words, code=1):
        before = sorted(path.name for path in self.folder.iterdir())
        assert command(*arguments) == code
        error = self.capsys.readouterr().err
        if code == 1:
            assert error.count("\n") == 1
            assert error.startswith("hrpursuit: error: ")
        assert words in error.replace("\n", " ")
        assert sorted(path.name for path in self.folder.iterdir()) == before

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "x.csv is empty"),
            ("a,b\n", "x.csv is empty: it has no rows"),
            ("a,b", "x.csv is empty: it has no rows"),
            ("a,b\n1,2\n3\n", "x.csv: line 3 has 1 cells"),
            ("a,b\n1,2\n1,word\n", "column 'b' holds 'word' in row 2, not a number"),
            ("time\n2017-10-01\n", "no column of readings"),
            ("a\n1\nword\n", "not a number"),
        ],
    )
    def test_bad_tables(self, text, words):
        (self.folder / "x.csv").write_text(text)
        for more in ([], ["--stream"]):
            self.fails("compress", "x.csv", "-o", "r.hrp", "--lossless", *more, words=words)

    def test_absent_and_of_another_kind(self):
        self.fails("compress", "absent.csv", "-o", "r.hrp", "--lossless", words="absent.csv does not exist")
        self.fails("decompress", "absent.hrp", "-o", "r.csv", words="absent.hrp")
        self.fails(
            "compress",
            "readings.txt",
            "-o",
            "r.hrp",
            "--lossless",
            words="ends in .csv, .csv.gz, .csv.zst, .parquet, .arrow, .feather, .ipc or .npy",
        )
        self.fails("compress", "readings.csv", "-o", "r.zip", "--lossless", words="ends in .hrp; got '.zip'")
        self.fails("decompress", "readings.csv", "-o", "r.hrp", words="or .npy; got '.hrp'")
        self.fails("decompress", "readings.csv", "-o", "r.csv", words="readings.csv: not a compressed table")
        self.fails("inspect", "readings.csv", words="not a compressed table")
        self.fails("verify", "readings.csv", words="not a compressed table")

    def test_an_input_is_not_overwritten(self):
        assert command("compress", "readings.csv", "-o", "r.hrp", "--lossless") == 0
        self.capsys.readouterr()
        before = (self.folder / "r.hrp").read_bytes()
        (self.folder / "link.csv").symlink_to("r.hrp")
        self.fails("decompress", "r.hrp", "-o", "link.csv", words="also read")
        assert (self.folder / "r.hrp").read_bytes() == before

    def test_targets(self):
        start = ("compress", "readings.csv", "-o", "r.hrp")
        self.fails(
            *start,
            words="--max-error, --relative-error, --n-nonzero, --lossless; got none",
            code=2,
        )
        self.fails(*start, "--rmse", "5%", "--lossless", words="got --rmse, --lossless", code=2)
        self.fails(*start, "--rmse", "5", words="5 would be 500%; write 5% or 0.05", code=2)
        self.fails(*start, "--rmse", "0%", words="--lossless", code=2)
        self.fails(*start, "--rmse", "much", words="'much' is not a share; write it as 5% or 0.05", code=2)
        self.fails(*start, "--max-error", "-1", words="finite number above 0; got -1", code=2)
        self.fails(*start, "--n-nonzero", "0", words="--n-nonzero", code=2)
        self.fails(*start, "--lossless", "--index-column", "a", "--no-index", words="not both", code=2)

    def test_a_header_alone_is_not_enough(self):
        assert command("compress", "readings.csv", "-o", "r.hrp", "--lossless") == 0
        self.capsys.readouterr()
        data = (self.folder / "r.hrp").read_bytes()
        (self.folder / "cut.hrp").write_bytes(data[:10])
        self.fails("decompress", "cut.hrp", "-o", "x.csv", "--damaged", "skip", words="cut.hrp: ")
        (self.folder / "cut.hrp").write_bytes(data[:200])
        self.fails("decompress", "cut.hrp", "-o", "x.csv", "--damaged", "skip", words="no whole chunk is left")


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_an_interrupt_leaves_nothing(folder, rng):
    np.save("x.npy", rng.standard_normal((60_000, 40)))
    arguments = ["compress", "x.npy", "-o", "r.hrp", "--lossless", "--stream"]
    with subprocess.Popen([*COMMAND, *arguments], cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not [path for path in folder.iterdir() if path.name.startswith(".r.hrp")]:
            time.sleep(0.01)  # until it writes
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=60)[1]
    assert process.returncode == 130, error
    assert "interrupted" in error
    assert sorted(path.name for path in folder.iterdir()) == ["readings.csv", "x.npy"]


def test_progress_on_a_terminal_only(folder, capsys, on_terminal):
    write_table("long.csv", pd.concat([READINGS] * 20))
    arguments = ["compress", "long.csv", "-o", "r.hrp", "--lossless", "--stream"]
    assert run(arguments) == 0
    assert capsys.readouterr().err == ""
    code, shown = on_terminal(*arguments)
    assert code == 0
    assert "rows" in shown
    assert "compress" in shown


def test_a_range_without_rows_is_an_empty_table(tmp_path):
    table = make_sensor_network(30, 4, as_frame=True, random_state=0)
    (tmp_path / "r.hrp").write_bytes(compress(table, lossless=True))
    for suffix in ("csv", "parquet"):
        out = tmp_path / f"none.{suffix}"
        assert run(["decompress", str(tmp_path / "r.hrp"), "-o", str(out), "--from", "2030-01-01"]) == 0
        assert out.exists()
    assert len(pd.read_csv(tmp_path / "none.csv")) == 0


class TestWherePeopleKeepTables:
    """Options that say how a table is read, and what of it comes back."""

    @pytest.fixture(autouse=True)
    def _set(self, folder, capsys):
        self.folder, self.capsys = folder, capsys

    def round_trip(self, text, *options, decode=(), name="x.csv"):
        (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        report = json.loads(told(self.capsys, "compress", name, "-o", "x.hrp", *options, "--json"))
        assert command("decompress", "x.hrp", "-o", "y.csv", *decode) == 0
        return (self.folder / "y.csv").read_bytes().decode(), report

    @pytest.mark.parametrize("stream", [[], ["--stream"]])
    def test_texts_and_truth_values(self, stream):
        text = "time,level,state,on\n2020-01-01,1.5,run,true\n2020-01-02,,stop,\n2020-01-03,2.5,,false\n"
        again, report = self.round_trip(text, "--lossless", *stream)
        assert (again, report["is_same_text"]) == (text, True)
        assert command("verify", "x.hrp", "--against", "x.csv") == 0
        assert command("inspect", "x.hrp", "--against", "x.csv") == 0
        (self.folder / "z.csv").write_text(text.replace("stop", "gone"))
        out = told(self.capsys, "verify", "x.hrp", "--against", "z.csv", code=1)
        assert "1 readings differ, and the file is to be lossless" in out
        again, report = self.round_trip(text, "--max-error", "1", *stream)
        assert report["is_same_text"] is None
        assert [line.split(",")[2:] for line in again.splitlines()] == [
            line.split(",")[2:] for line in text.splitlines()
        ]

    def test_the_text_is_kept(self):
        text = "\ufefftime,a;b,c\r\n2020-01-01,1.50,1e400\r\n2020-01-02,1.25,NA\r\n2020-01-03,1.5,007"
        again, report = self.round_trip(text, "--lossless")
        assert (again, report["is_same_text"]) == (text, True)
        again, _ = self.round_trip(text, "--lossless", decode=["--columns", "c"])
        assert again == "\ufefftime,c\r\n2020-01-01,1e400\r\n2020-01-02,NA\r\n2020-01-03,007"

    def test_text_that_is_not_kept_is_told(self):
        (self.folder / "x.csv").write_text('a,b\n"1",2\n3,4\n')
        assert command("compress", "x.csv", "-o", "x.hrp", "--lossless") == 0
        error = self.capsys.readouterr().err
        assert "note: every number is kept, but not the text of x.csv: line 2: '\"1\",2' becomes '1,2'" in error

    def test_a_boolean_column_with_gaps(self):
        """It broke CSV output and --against."""
        table = pd.DataFrame({"a": [1.5, 2.5, 3.5], "on": pd.array([True, None, False], dtype="boolean")})
        table.to_parquet("x.parquet")
        assert command("compress", "x.parquet", "-o", "x.hrp", "--lossless") == 0
        assert command("verify", "x.hrp", "--against", "x.parquet") == 0
        assert command("decompress", "x.hrp", "-o", "x.csv") == 0
        assert (self.folder / "x.csv").read_text() == "a,on\n1.5,True\n2.5,\n3.5,False\n"
        assert command("decompress", "x.hrp", "-o", "y.parquet") == 0
        assert_frame_equal(pd.read_parquet("y.parquet"), table)
        assert command("decompress", "x.hrp", "-o", "x.npy") == 1
        assert "a .npy file holds numbers of one type; column 'on' is boolean" in self.capsys.readouterr().err
        assert not (self.folder / "x.npy").exists()

    def test_options(self):
        text = '# logger 7\nt;"x;y";note;b\n1;1.234,5;hello;2\n2;2.000,5;bye;3\n'
        options = ["--comment", "#", "--thousands", ".", "--drop-column", "note", "--lossless"]
        again, _ = self.round_trip(text, *options)
        assert again == 't;"x;y";b\n1;1.234,5;2\n2;2.000,5;3\n'
        again, _ = self.round_trip("id,a\n007,1\n008,2\n", "--text-column", "id", "--lossless")
        assert again == "id,a\n007,1\n008,2\n"
        long = "time,sensor,value\n2020-01-01,s1,1.5\n2020-01-01,s2,2.0\n2020-01-02,s1,3.5\n"
        again, _ = self.round_trip(long, "--long", "time,sensor,value", "--lossless")
        assert again == "time,s1,s2\n2020-01-01,1.5,2.0\n2020-01-02,3.5,\n"
        assert command("verify", "x.hrp", "--against", "x.csv", "--long", "time,sensor,value") == 0
        assert command("compress", "x.csv", "-o", "x.hrp", "--lossless", "--long", "time,value") == 2

    @pytest.mark.parametrize("suffix", [".csv.gz", ".csv.zst", ".feather", ".arrow"])
    def test_other_files(self, suffix):
        table = READINGS.copy()
        table["state"] = pd.Categorical(["on", "off", None] * 100)
        write_table(f"x{suffix}", table)
        assert command("compress", f"x{suffix}", "-o", "x.hrp", "--lossless", "--stream") == 0
        assert command("verify", "x.hrp", "--against", f"x{suffix}") == 0
        assert command("decompress", "x.hrp", "-o", f"y{suffix}") == 0
        assert_frame_equal(read_table(f"y{suffix}"), read_table(f"x{suffix}"))

    def test_what_polars_compressed(self):
        frame = polars.DataFrame({"a": [1.5, None], "s": ["x", "y"]})
        (self.folder / "x.hrp").write_bytes(compress(frame, lossless=True))
        assert command("decompress", "x.hrp", "-o", "y.csv") == 0
        assert (self.folder / "y.csv").read_text() == "a,s\n1.5,x\n,y\n"
        assert command("decompress", "x.hrp", "-o", "y.parquet", "--columns", "s") == 0
        assert polars.read_parquet("y.parquet").to_dict(as_series=False) == {"s": ["x", "y"]}


def test_options_of_a_fit(folder, capsys):
    numbers = np.random.default_rng(0).normal(0, 9, (120, 3)).round(2)
    rows = [f"{i};{';'.join(f'{x:.2f}'.replace('.', ',') for x in row)};word" for i, row in enumerate(numbers)]
    (folder / "x.csv").write_text("% comment\nt;a;b;c;note\n" + "\n".join(rows) + "\n")
    options = ["--comment", "%", "--drop-column", "note"]
    told(capsys, "fit", "x.csv", "-o", "m.npz", "--seed", 0, *options)
    told(capsys, "encode", "x.csv", "-m", "m.npz", "-o", "c.npy", *options)
    assert np.load("c.npy").shape == (120, 3)
    long = "".join(f"{i},{name},{x}\n" for i, row in enumerate(numbers) for name, x in zip("abc", row, strict=True))
    (folder / "long.csv").write_text("t,sensor,value\n" + long)
    told(capsys, "encode", "long.csv", "-m", "m.npz", "-o", "d.npy", "--long", "t,sensor,value")
    assert_array_equal(np.load("c.npy"), np.load("d.npy"))
