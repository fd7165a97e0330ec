"""What an experiment is: a plan of trials, what one trial does, and what follows from the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Scale = Literal["quick", "paper"]
Config = dict[str, Any]  # of one trial: plain values, which its name in the cache is made of


@dataclass(frozen=True)
class Settings:
    """What the user chose.

    Attributes
    ----------
    scale : {"quick", "paper"}
        "quick": fewer trials and cells, for a look; "paper": as many as in the paper.
    seed : int
    methods : tuple of str
        Those to compare, by their names in `methods.py`; empty for all that are installed.
    quirks : frozenset of str
        Habits of the published code to follow, by their names in `quirks.py`.
    readings : path or None
        The file of sensor readings.
    fills : tuple of str
        Ways to prepare the readings, by their names in `readings.py`.
    scaling : str
        What the readings are divided by, by its name in `readings.py`.
    snr_db : float or None
        Signal-to-noise ratio of synthetic data in decibels; None adds no noise, as in the paper.
    """

    scale: Scale = "quick"
    seed: int = 0
    quirks: frozenset[str] = frozenset()
    readings: Path | None = None
    fills: tuple[str, ...] = ("published", "written", "refilled", "kept")
    snr_db: float | None = None
    methods: tuple[str, ...] = ()
    scaling: str = "largest"

    @property
    def is_quick(self) -> bool:
        return self.scale == "quick"


@dataclass(frozen=True)
class Table:
    """Cells as text, the first column names the rows; `part` is the name of the figure that it stands with."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    part: str = ""


@dataclass(frozen=True)
class Verdict:
    """One sentence on what was found.

    Attributes
    ----------
    agrees : bool or None
        With what the paper says, or with what is said of hrpursuit; None for a note, which is not counted.
    text : str
    is_paper : bool
        Whether the paper says it.
    part : str
        Name of the figure that it stands with.
    """

    agrees: bool | None
    text: str
    is_paper: bool = True
    part: str = ""

    @property
    def word(self) -> str:
        if self.agrees is None:
            return "note"
        if self.is_paper:
            return "agrees" if self.agrees else "differs"
        return "holds" if self.agrees else "fails"


@dataclass(frozen=True)
class Findings:
    """What follows from the results of an experiment.

    Attributes
    ----------
    figures : mapping of str to Figure
        By name; the file is called after the experiment, and after this name where it is not empty.
    tables : sequence of Table
    verdicts : sequence of Verdict
    """

    figures: Mapping[str, Figure] = field(default_factory=dict)
    tables: Sequence[Table] = ()
    verdicts: Sequence[Verdict] = ()

    @property
    def parts(self) -> list[str]:
        """Names of figures, with those of sentences and tables that have none, in the order of the sentences."""
        named = [verdict.part for verdict in self.verdicts] + [table.part for table in self.tables]
        return list(dict.fromkeys(named + list(self.figures)))


@dataclass(frozen=True)
class Experiment:
    """A figure or table of the paper.

    Attributes
    ----------
    name : str
        On the command line.
    title : str
        What it shows, in a line.
    in_paper : str
        Where it stands in the paper.
    plan : callable of Settings
        Configurations of the trials.
    run : callable of the items of a configuration
        One trial, in a process of its own: one row of results, or several. A function of a module, with plain values.
    conclude : callable of a DataFrame and Settings
        Findings from all rows, each with the items of its configuration. Rows of trials that failed are missing.
    is_timed : bool
        Its trials run one at a time, so that they do not slow each other down.
    needs_readings : bool
        Skipped where there is no file of readings.
    compares : bool
        Whether it runs the methods of `methods.py`.
    given : callable of Settings
        Further arguments of `run` that do not tell one trial from another, such as where a file is.
    quirks : tuple of str
        Those of `quirks.py` that it knows.
    """

    name: str
    title: str
    in_paper: str
    plan: Callable[[Settings], Iterable[Config]]
    run: Callable[..., Mapping[str, Any] | Sequence[Mapping[str, Any]]]
    conclude: Callable[[pd.DataFrame, Settings], Findings]
    is_timed: bool = False
    needs_readings: bool = False
    compares: bool = False
    given: Callable[[Settings], Config] = lambda settings: {}
    quirks: tuple[str, ...] = ()
