"""The code in docs/compression.md runs as it stands, on the table that it makes."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

TEXT = (Path(__file__).parents[1] / "docs" / "compression.md").read_text()


def code(language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def test_the_code_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in code("python"):
        exec(compile(block, "compression.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    assert float(printed[0].split()[1]) <= 2
    assert printed[1] == "744 max_error 2 4"
    assert len(printed) == 6
    assert len(names["days"]) == 72
    assert np.nanmax(np.abs((names["days"] - names["table"].loc[names["days"].index]).to_numpy())) <= 2

    names["table"].to_csv("readings.csv")
    (block,) = code("sh")
    commands = "\n".join(line for line in block.splitlines() if "|" not in line)  # tests/cli has pipes
    scripts = Path(sys.executable).parent
    subprocess.run(
        ["sh", "-ec", f'PATH="{scripts}:$PATH"\n{commands}'], check=True, stdout=subprocess.DEVNULL, timeout=200
    )
    assert len(Path("days.csv").read_text().splitlines()) == 73
