"""The code in docs/how_to/compress.md runs as it stands, on the table that it makes."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from hrpursuit.compression import Decoder

TEXT = (Path(__file__).parents[1] / "docs" / "how_to" / "compress.md").read_text()


def code(language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def test_the_code_runs(run_page):
    names, printed = run_page("how_to/compress.md")
    printed = printed.splitlines()
    assert float(printed[0].split()[1]) <= 2
    assert printed[1] == "[1.e-01 1.e-01 1.e+00 1.e-06 0.e+00]"
    shares = {name: float(share) for name, share in (line.split() for line in printed[2:7])}
    assert list(shares) == ["temp_in", "temp_out", "pressure", "flow", "valve"]
    assert all(0.005 < share <= 0.01 for name, share in shares.items() if name != "valve")
    assert shares["valve"] == 0
    assert printed[8] == "744 ±2 4"
    assert printed[13:15] == ["30 rows", "20 rows"]
    assert 0 < float(printed[15]) <= 0.05 + 1e-12  # from Zarr
    assert len(printed) == 16
    assert names["both"].shape == names["table"].shape
    assert np.nanmax(np.abs((names["both"] - names["table"]).to_numpy())) <= 2
    assert list(names["two"].columns) == ["s07", "s03"]
    assert names["two"].shape == (744, 2)
    assert len(names["days"]) == 72
    assert np.nanmax(np.abs((names["days"] - names["table"].loc[names["days"].index]).to_numpy())) <= 2

    names["table"].to_csv("readings.csv")
    (block,) = code("sh")
    commands = "\n".join(line for line in block.splitlines() if "|" not in line)  # tests/cli has pipes
    scripts = Path(sys.executable).parent
    subprocess.run(
        ["sh", "-ec", f'PATH="{scripts}:$PATH"\n{commands}'], check=True, stdout=subprocess.DEVNULL, timeout=200
    )
    days = Path("days.csv").read_text().splitlines()
    assert len(days) == 73
    assert days[0].endswith(",s07,s03")
    bounds = dict(
        zip(names["table"].columns, Decoder(Path("by_column.hrp").read_bytes()).target.bounds(56), strict=True)
    )
    assert (bounds["s07"], bounds["s03"], bounds["s11"], bounds["s12"]) == (0.5, 2, 0, 5)
