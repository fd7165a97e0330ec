"""Trials that have ended elsewhere, from the CSV file that a run wrote."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hrpursuit.experiments.experiment import Config, Experiment

Rows = list[dict[str, Any]]


def earlier_trials(given: Path | None, experiment: Experiment, configs: Sequence[Config]) -> list[Rows | None]:
    """Rows of each of these trials, without its configuration; None where there is none.

    From a file; or from a folder, where the file is called after the experiment and may be missing.
    """
    nothing: list[Rows | None] = [None] * len(configs)
    if given is None:
        return nothing
    why_not = ""
    if experiment.is_timed:
        why_not = "measures times, which differ between machines"
    elif any(config.keys() != configs[0].keys() for config in configs):
        why_not = "has trials of several kinds"
    if given.is_dir():
        path = given / f"{experiment.name}.csv"
        return read_trials(path, experiment, configs) if path.is_file() and not why_not else nothing
    if why_not:
        raise ValueError(f"{experiment.name} {why_not}: it takes none from a file.")
    return read_trials(given, experiment, configs)


def read_trials(path: Path, experiment: Experiment, configs: Sequence[Config]) -> list[Rows | None]:
    """Those of a file. A line that belongs to no trial is an error, as is one without all cells, such as the last line
    of a copy that was cut short.
    """
    names = list(configs[0])
    places = {tuple(_text(config[name]) for name in names): i for i, config in enumerate(configs)}
    found: list[Rows | None] = [None] * len(configs)
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        absent = [name for name in names if name not in (reader.fieldnames or ())]
        if absent:
            raise ValueError(
                f"{path}: expected the CSV file of a run of {experiment.name}; it has no column {', '.join(absent)}."
            )
        for row in reader:
            if None in row or None in row.values():
                raise ValueError(
                    f"{path}, line {reader.line_num}: expected {len(reader.fieldnames or ())} cells, as in the first "
                    "line."
                )
            place = places.get(tuple(_text(row[name]) for name in names))
            if place is None:
                trial = ", ".join(f"{name} {row[name] or 'none'}" for name in names)
                raise ValueError(
                    f"{path}, line {reader.line_num}: {trial} is no trial of {experiment.name} with these options; "
                    "give those of the run that wrote the file (--scale, --seed, --methods, ...)."
                )
            rows = found[place] or []
            rows.append({name: _value(cell) for name, cell in row.items() if name not in names})
            found[place] = rows
    return found


def _text(value: Any) -> str:
    """The same for an item of a configuration and for the cell that it is written as."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    text = str(value)
    try:
        return repr(float(text))
    except ValueError:
        return text


def _value(cell: str) -> Any:
    if cell in ("", "True", "False"):
        return {"": None, "True": True, "False": False}[cell]
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell
