"""hrpursuit report as a user calls it."""

import numpy as np
import pandas as pd
import pytest

from hrpursuit.cli.main import run


@pytest.fixture
def readings(tmp_path):
    rng = np.random.default_rng(3)
    values = np.round(50 + np.cumsum(rng.normal(0, 2, (90, 5)), axis=0))
    values[10:30, 1] = np.nan
    frame = pd.DataFrame(values, columns=[f"{i}_pm25" for i in range(5)])
    frame.index = pd.date_range("2024-01-01", periods=90, freq="h", name="UTC time")
    frame.to_csv(tmp_path / "readings.csv")
    return tmp_path / "readings.csv"


def test_report_writes_a_page(readings, tmp_path, capsys):
    out = tmp_path / "page.html"
    options = ["--targets", "5%,2,lossless", "--methods", "dct", "--quantity", "pm25", "--title", "Five sensors"]
    assert run(["report", str(readings), "-o", str(out), *options]) == 0
    text = out.read_text()
    assert "<title>Five sensors</title>" in text
    assert "2024-01-04 17:00" in text  # the last time stamp
    printed = capsys.readouterr().out.splitlines()
    assert sorted(line.split(":")[0] for line in printed[:3]) == [
        "lossless", "relative RMSE 5%", "±2"]  # fmt: skip
    assert printed[3].startswith(f"page: {out}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "readings.csv"]


def test_report_of_an_array(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(60.0).reshape(20, 3))
    out = tmp_path / "page.htm"
    assert run(["report", str(tmp_path / "x.npy"), "-o", str(out), "--targets", "lossless", "--methods", "none"]) == 0
    assert "<title>x.npy</title>" in out.read_text()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--targets", "five"], "target 'five': expected a relative RMSE like 5%"),
        (["--methods", "gif"], "unknown method 'gif'"),
        (["--quantity", "radon"], "radon"),
        (["-o", "page.pdf"], "expected a name that ends in .html"),
        (["-o", "nowhere/page.html"], "the folder nowhere does not exist"),
    ],
)
def test_what_is_wrong_is_said_before_the_work(readings, options, why, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert run(["report", str(readings), *options]) == 1
    assert why in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["readings.csv"]
