"""The example files: options that exist, units that name the right things."""

import configparser
import re
import tomllib
from pathlib import Path

import pytest

from hrpursuit.cli.live import live

EXAMPLES = Path(__file__).parents[2] / "examples" / "live"


def options(name):
    return {option for parameter in live.commands[name].params for option in parameter.opts}


@pytest.mark.parametrize("name", ["gateway", "controller"])
def test_toml_files_and_units(name):
    given = tomllib.loads((EXAMPLES / f"{name}.toml").read_text())
    assert {f"--{option}" for option in given} <= options(name)
    unit = configparser.ConfigParser(strict=False)
    unit.optionxform = str
    unit.read(EXAMPLES / f"hrpursuit-{name}.service")
    assert f"hrpursuit live {name} --config /etc/hrpursuit/{name}.toml" in unit["Service"]["ExecStart"]


def test_the_containers_are_started_with_options_that_exist():
    text = (EXAMPLES / "docker-compose.yml").read_text()
    commands = re.findall(r"command: \[(.*?)\]", text, flags=re.DOTALL)
    assert len(commands) == 2
    for command in commands:
        words = [word.strip(' "\n') for word in command.split(",")]
        assert {word for word in words if word.startswith("--")} <= options(words[0])


def test_the_how_to_uses_options_that_exist():
    text = (EXAMPLES.parents[1] / "docs" / "how_to" / "live.md").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.startswith("hrpursuit live ")]
    assert len(lines) >= 3
    for line in lines:
        words = line.split("#")[0].split() if " # " in line else line.split()
        assert {word for word in words if word.startswith("--")} <= options(words[2]), line
