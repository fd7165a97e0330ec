"""Keep the trials of long runs: one CSV file per experiment in benchmarks/results/paper_scale, one row per result.

hrpursuit reproduce recovery-heatmaps --scale paper --out FOLDER     # hours; may be interrupted
python benchmarks/paper_scale.py recovery-heatmaps FOLDER            # takes the trials that have ended
hrpursuit reproduce recovery-heatmaps --scale paper --from benchmarks/results/paper_scale    # elsewhere: the others

Trials of several folders, and those that are kept already, go together; where one is in two of them, the folder counts.
The page of the site on the paper's scale is made of these files.
"""

import argparse
import csv
import json
from pathlib import Path
from typing import Any

from hrpursuit.experiments.cache import TrialCache
from hrpursuit.experiments.earlier import Rows, read_trials
from hrpursuit.experiments.experiment import Config, Settings
from hrpursuit.experiments.methods import METHODS
from hrpursuit.experiments.registry import find

KEPT = Path(__file__).parent / "results" / "paper_scale"
_DIGITS = 4  # significant ones that are kept: errors below 1e-3 count as recovery, and nothing depends on the fifth
NAMES = ("sample-complexity", "recovery-heatmaps", "time-by-atoms", "time-by-samples")


def plan(name: str) -> list[Config]:
    """All trials at the paper's scale, in an order that does not depend on that in which they run."""
    every_method = Settings(scale="paper", methods=tuple(METHODS))  # also those that are not installed here
    configs = list(find(name).plan(every_method))
    return sorted(configs, key=lambda config: json.dumps([config[key] for key in sorted(config)]))


def from_folder(folder: Path, name: str, configs: list[Config]) -> list[Rows | None]:
    """Trials in the cache of a run, whatever version of the code it was of: what differs by version is for whoever
    chooses the folder to know. Those that measure times say on which machine.
    """
    cache = TrialCache(folder / "cache", name, code="")
    found: list[Rows | None] = []
    for config in configs:
        path = cache.path(config)
        if not path.exists():
            found.append(None)
            continue
        held = json.loads(path.read_text())
        machine = held["code"].partition(" ")[2]  # of those that measure times
        found.append([row | {"machine": machine} if machine else row for row in held["rows"]])
    return found


def kept(name: str, configs: list[Config]) -> list[Rows | None]:
    path = KEPT / f"{name}.csv"
    return read_trials(path, find(name), configs) if path.exists() else [None] * len(configs)


def kept_rows(name: str) -> list[dict[str, Any]]:
    """Results that are kept, each with its configuration."""
    configs = plan(name)
    return [config | row for config, trial in zip(configs, kept(name, configs), strict=True) for row in trial or ()]


def short(value: Any) -> Any:
    return float(f"{value:.{_DIGITS - 1}e}") if isinstance(value, float) else value


def write(name: str, configs: list[Config], found: list[Rows | None]) -> Path:
    rows = [config | {key: short(value) for key, value in row.items()}
            for config, trial in zip(configs, found, strict=True) for row in trial or ()]  # fmt: skip
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("folders", type=Path, nargs="+")
    arguments = parser.parse_args()
    configs = plan(arguments.name)
    found = kept(arguments.name, configs)
    for folder in arguments.folders:
        newer = from_folder(folder, arguments.name, configs)
        found = [rows if new is None else new for rows, new in zip(found, newer, strict=True)]
    n_ended = sum(rows is not None for rows in found)
    if n_ended == 0:
        parser.error(f"none of the {len(configs)} trials of {arguments.name} has ended in these folders.")
    print(f"{write(arguments.name, configs, found)}: {n_ended} of {len(configs)} trials")


if __name__ == "__main__":
    main()
