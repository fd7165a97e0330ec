"""What a benchmark measured and what it was asked to reach: printed as it comes, and kept as JSON.

    with Results(__file__) as results:
        rows = results.figures("recovery", ["cell", "largest error", "reached"], rows_of(results))

where `rows_of` yields cells as numbers, and `results.bar(name, measured, at_most=1e-11)` returns whether a bar is
reached. At the end `benchmarks/results/NAME.json` is written, the bars that were missed are listed, and the process
exits with 1 if there are any.

`partial=True` is for quick runs, for runs of chosen cases and where data or a peer is missing. Their bars are judged
and the process exits in the same way, but nothing is written: a file in `results` always holds the whole benchmark, so
that two of them can be compared. A run that an exception ends writes nothing either.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from common import describe_machine, table, threads

import hrpursuit
from hrpursuit.experiments.machine import PACKAGES, machine

ROOT = Path(__file__).parents[1]


class Results:
    """Figures and bars of one benchmark run."""

    def __init__(
        self,
        path: str,
        *,
        suffix: str = "",
        partial: bool = False,
        folder: Path = ROOT / "benchmarks" / "results",
    ) -> None:
        self.name = Path(path).stem
        self.file = None if partial else folder / f"{self.name}{suffix}.json"
        self.command = " ".join([f"python benchmarks/{self.name}.py", *sys.argv[1:]])
        self._figures: dict[str, dict[str, list]] = {}
        self._bars: list[dict[str, Any]] = []

    def figures(self, name: str, header: Iterable[str], rows: Iterable[Iterable[object]]) -> list[list[object]]:
        """Print the rows of a table as they come, under its name, and keep them.

        Numbers are printed with three digits, booleans as yes and NO, None as -. Blanks make a column wider.
        """
        header, kept = list(header), []
        if name in self._figures:
            raise ValueError(f"there is already a table {name!r}.")
        self._figures[name] = {"header": [column.strip() for column in header], "rows": kept}

        def shown() -> Iterator[list[str]]:
            for row in rows:
                kept.append([plain(cell) for cell in row])
                yield [text(cell) for cell in kept[-1]]

        print(f"\n{name}")
        table(header, shown())
        return kept

    def bar(self, name: str, measured: float, *, at_most: float | None = None, at_least: float | None = None) -> bool:
        """Keep what was asked and what was measured; whether it is reached. NaN never is."""
        asked = {
            key: plain(limit) for key, limit in (("at_least", at_least), ("at_most", at_most)) if limit is not None
        }
        if not asked:
            raise ValueError(f"the bar {name!r} needs at_most or at_least.")
        if any(bar["bar"] == name for bar in self._bars):
            raise ValueError(f"there is already a bar {name!r}.")
        passed = bool((at_most is None or measured <= at_most) and (at_least is None or measured >= at_least))
        self._bars.append({"bar": name, "asked": asked, "measured": plain(measured), "passed": passed})
        return passed

    def missed(self) -> list[dict[str, Any]]:
        return [bar for bar in self._bars if not bar["passed"]]

    def record(self) -> dict[str, Any]:
        """All that is written, in this order."""
        commit, changed = self._checkout
        return {
            "benchmark": self.name,
            "command": self.command,
            "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            "seconds": plain(time.perf_counter() - self._start),
            "commit": commit,
            "uncommitted_changes": changed,
            "machine": {"description": machine(), "cores": os.cpu_count(), "blas_threads": threads()},
            "versions": versions_of("hrpursuit", "python-picard", "dictlearn", *PACKAGES),
            "passed": not self.missed(),
            "bars": self._bars,
            "figures": self._figures,
        }

    def __enter__(self) -> "Results":
        describe_machine()
        self._start = time.perf_counter()
        self._checkout = checkout()  # now, not at the end: it may move on while this runs
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        missed = self.missed()
        if self._bars:
            print(f"\n{len(self._bars) - len(missed)} of {len(self._bars)} bars reached")
        for bar in missed:
            limits = " and ".join(f"{key.replace('_', ' ')} {text(limit)}" for key, limit in bar["asked"].items())
            print(f"  FAIL {bar['bar']}: {text(bar['measured'])}, asked {limits}")
        if self.file is not None:
            self.file.parent.mkdir(exist_ok=True)
            self.file.write_text(dump(self.record()) + "\n")
            print(f"written: {self.file}")
        if missed:
            sys.exit(1)


def plain(cell: Any) -> Any:
    """A cell as JSON has it: numbers with six digits, those that are not finite (JSON has none) as text."""
    cell = cell.item() if isinstance(cell, np.generic) else cell
    if isinstance(cell, float):
        return float(f"{cell:.6g}") if np.isfinite(cell) else str(cell)
    return cell if cell is None or isinstance(cell, bool | int) else str(cell)


def text(cell: Any) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "NO"
    if isinstance(cell, float):
        return f"{cell:.3g}"
    return "-" if cell is None else str(cell)


def dump(value: Any, indent: str = "") -> str:
    """JSON with one line for each bar and each row of a table."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    nested = [member for member in members if isinstance(member, dict | list)]
    if not nested or "asked" in value:
        return json.dumps(value, ensure_ascii=False)
    inner = indent + " "
    if isinstance(value, dict):
        lines = [f"{json.dumps(key, ensure_ascii=False)}: {dump(member, inner)}" for key, member in value.items()]
    else:
        lines = [dump(member, inner) for member in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + ",\n".join(inner + line for line in lines) + f"\n{indent}{closing}"


def checkout() -> tuple[str | None, bool | None]:
    """Commit of the code that is measured and whether it was changed since; None if it is not this checkout's."""
    if Path(hrpursuit.__file__).parents[1] != ROOT / "src":
        return None, None

    def git(*args: str) -> str:
        return subprocess.run(["git", "-C", ROOT, *args], check=True, capture_output=True, text=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "src", "benchmarks/*.py"))
    except (OSError, subprocess.CalledProcessError):
        return None, None


def versions_of(*packages: str) -> dict[str, str]:
    """Of those that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
