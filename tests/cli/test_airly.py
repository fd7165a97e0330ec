"""hrpursuit airly: one quantity of a monthly file, as the sensor table takes it."""

import numpy as np
import pytest

from hrpursuit.cli.main import run
from hrpursuit.experiments.readings import read

MONTH = """UTC time,3_temperature,3_pm25,140_temperature,140_pm25,171_pm10
2017-10-01T00:00:00,10.0,43.0,11.0,,7.0
2017-10-01T01:00:00,9.0,44.5,,31.0,8.0
2017-10-01T02:00:00,9.0,,10.5,32.0,
"""


def test_table_of_one_quantity_is_what_the_sensor_table_reads(tmp_path, capsys):
    (tmp_path / "october-2017.csv").write_text("\ufeff" + MONTH, encoding="utf-8")
    assert run(["airly", str(tmp_path / "october-2017.csv"), "-o", str(tmp_path / "pm25.csv")]) == 0
    assert "3 hours of 2 sensors" in capsys.readouterr().out
    assert (tmp_path / "pm25.csv").read_text().startswith("UTC time,3,140\n2017-10-01T00:00:00,43.0,\n")
    readings = read(tmp_path / "pm25.csv")
    np.testing.assert_array_equal(readings.values, [[43, np.nan], [44.5, 31], [np.nan, 32]])
    assert readings.when == "from 2017-10-01T00:00:00 to 2017-10-01T02:00:00"


def test_another_quantity(tmp_path):
    (tmp_path / "m.csv").write_text(MONTH)
    assert run(["airly", str(tmp_path / "m.csv"), "-o", str(tmp_path / "t.csv"), "--quantity", "temperature"]) == 0
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == "2017-10-01T00:00:00,10.0,11.0"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hour,s1\n0,1\n", "expected a column 'UTC time' and columns such as 171_pm25"),
        ("", "an empty file"),
        ("UTC time,3_pm10\n2017-10-01T00:00:00,1\n", "its quantities are pm10"),
        (MONTH + "2017-10-01T03:00:00,1\n", "line 5: 2 cells, where the first line has 6"),
    ],
)
def test_a_file_of_another_kind_is_refused_and_nothing_is_written(text, said, tmp_path, capsys):
    (tmp_path / "m.csv").write_text(text)
    assert run(["airly", str(tmp_path / "m.csv"), "-o", str(tmp_path / "out.csv")]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()
