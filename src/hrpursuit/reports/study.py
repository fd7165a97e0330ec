"""What a report shows, computed: files at several targets, other ways to store the table, atoms, the worst hours."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hrpursuit.compression import LostColumnsWarning, Target
from hrpursuit.compression.parameters import request_target
from hrpursuit.core.protocols import Array
from hrpursuit.metrics import masked_rmse
from hrpursuit.reports import methods
from hrpursuit.reports.atoms import Atoms, learn_atoms
from hrpursuit.reports.hours import BadHour, worst_hours
from hrpursuit.reports.picture import Cells, choose_cells
from hrpursuit.reports.readings import PlainSizes, Readings, plain_sizes, take_apart
from hrpursuit.reports.targets import suitable

Item = TypeVar("Item")
#: A bound on every error costs more than the same mean error without one: two curves.
OUR_CURVES = {
    "hrpursuit, by RMSE or lossless": {"relative_rmse", "lossless"},
    "hrpursuit, by largest error": {"max_error"},
}
Watch = Callable[[Iterable[Item], int], Iterator[Item]]


@dataclass(frozen=True)
class Setting:
    """Our file at one target."""

    target: Target
    n_bytes: int
    rmse: float
    max_error: float
    picture: Array  # the reconstruction in the cells that are shown
    sensor_rms: Array
    sensor_max: Array
    hours: tuple[BadHour, ...]


@dataclass(frozen=True)
class Point:
    """One file of one method."""

    n_bytes: int
    rmse: float
    max_error: float
    what: str


@dataclass(frozen=True)
class Curve:
    """The files of one method."""

    method: str
    label: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Study:
    """All that a page shows."""

    readings: Readings
    sizes: PlainSizes
    cells: Cells
    settings: tuple[Setting, ...]  # largest file first
    curves: tuple[Curve, ...]
    atoms: Atoms | None
    notes: tuple[str, ...] = field(default=())  # what could not be done and why, and columns that are left in error


def plainly(items: Iterable[Item], total: int) -> Iterator[Item]:
    """No bar."""
    return iter(items)


def study_table(
    table: Any,
    targets: Sequence[Mapping[str, Any]] | None = None,
    chosen: Sequence[str] | None = None,
    watch: Callable[[Iterable[Any], int], Iterator[Any]] = plainly,
) -> Study:
    """Compress a table at each target, and by the other methods at about the same errors.

    Parameters
    ----------
    table : DataFrame or array-like of shape (n_rows, n_columns)
        One time step per row, one sensor per column, NaN in gaps.
    targets : sequence of dict or None, default=None
        Each with the parameters of `compress` that ask for a target, as `{"max_error": 2}`. None: a list that suits the
        readings.
    chosen : sequence of str or None, default=None
        Names of the other methods; None takes all. Those whose packages are not installed become notes.
    watch : callable, default=no bar
        Called with the steps of the work and their number; hands them on, and may show how far they are.

    Returns
    -------
    study : Study
    """
    readings = take_apart(table)
    asked: list[Mapping[str, Any]] = list(targets if targets is not None else suitable(readings))
    for target in asked:  # before the work, not after
        request_target(**target).check(list(getattr(table, "columns", range(readings.n_columns))))
    names = methods.known() if chosen is None else list(chosen)
    cells = choose_cells(readings.n_rows, readings.n_columns, len(asked) + 1)
    work = _Work(readings, asked, names, cells)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LostColumnsWarning)  # of the other methods; ours become notes
        warnings.simplefilter("ignore", ConvergenceWarning)  # fits to a number of codes go on after Stage One
        for _ in watch(work.steps(), work.n_steps):
            pass
    return work.result()


class _Work:
    """Steps of a study, and what they have found so far."""

    def __init__(self, readings: Readings, asked: list[Mapping[str, Any]], names: list[str], cells: Cells) -> None:
        self.readings, self.asked, self.names, self.cells = readings, asked, names, cells
        self.settings: list[Setting] = []
        self.points: dict[str, list[Point]] = {}
        self.labels: dict[str, str] = {}
        self.notes: list[str] = []
        self.absent: set[str] = set()  # methods whose packages are not installed
        self.sizes = PlainSizes(0, 0)
        self.atoms: Atoms | None = None
        n_errors = len(_to_match(asked))
        self.n_steps = 2 + len(asked) + sum(methods.n_trials(name, readings, n_errors) for name in names)

    def steps(self) -> Iterator[None]:
        self.sizes = plain_sizes(self.readings)
        yield
        for target in self.asked:
            self.settings.append(self._setting(target))
            yield
        self._learn()
        yield
        wanted = _to_match(self.asked)
        both = zip(self.asked, self.settings, strict=True)
        errors = [setting.rmse for target, setting in both if target in wanted and setting.rmse > 0]
        for name in self.names:
            for trial in methods.trials(name, self.readings, errors):
                self._try(trial)
                yield

    def _setting(self, asked: Mapping[str, Any]) -> Setting:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LostColumnsWarning)
            target, (n_bytes, restored) = methods.ours(self.readings, asked)
        self.notes += [f"{target}: {warning.message}" for warning in caught]
        rmse, largest = errors_of(self.readings, restored)
        differences = np.where(self.readings.observed, self.readings.values - restored, 0.0)
        counts = np.maximum(self.readings.observed.sum(axis=0), 1)
        return Setting(
            target,
            n_bytes,
            rmse,
            largest,
            self.cells.of(restored),
            np.sqrt(np.sum(differences**2, axis=0) / counts),
            np.max(np.abs(differences), axis=0),
            worst_hours(self.readings, restored),
        )

    def _learn(self) -> None:
        if not self.readings.rms:
            self.notes.append("No atoms: there is no reading that is not zero to learn from.")
            return
        try:
            self.atoms = learn_atoms(self.readings)
        except ValueError as error:
            self.notes.append(f"No atoms: {error}")

    def _try(self, trial: methods.Trial) -> None:
        if not self.readings.rms or trial.method in self.absent:
            return
        try:
            n_bytes, restored = trial.run()
        except ImportError as error:
            self.absent.add(trial.method)
            self.notes.append(f"{trial.label} is not compared: {error}")
            return
        except (ValueError, ArithmeticError) as error:
            self.notes.append(f"{trial.label}, {trial.what}: {error}")
            return
        self.labels[trial.method] = trial.label
        point = Point(n_bytes, *errors_of(self.readings, restored), trial.what)
        self.points.setdefault(trial.method, []).append(point)

    def result(self) -> Study:
        settings = sorted(self.settings, key=lambda one: (-one.n_bytes, one.rmse))
        curves = []
        for label, kinds in OUR_CURVES.items():
            ours = [one for one in settings if one.target.kind in kinds]
            points = [Point(one.n_bytes, one.rmse, one.max_error, str(one.target)) for one in ours]
            curves.append(Curve(methods.OURS, label, tuple(points)))
        for name, points in self.points.items():
            points = sorted(points, key=lambda point: (point.n_bytes, -point.rmse))
            curves.append(Curve(name, self.labels[name], tuple(points)))
        notes = tuple(dict.fromkeys(self.notes))
        return Study(self.readings, self.sizes, self.cells, tuple(settings), tuple(curves), self.atoms, notes)


def errors_of(readings: Readings, restored: Array) -> tuple[float, float]:
    """Relative RMSE and largest error over the observed readings; zeros where there are none."""
    if not readings.n_observed:
        return 0.0, 0.0
    differences = np.abs(readings.values - restored)[readings.observed]
    return masked_rmse(readings.values, restored), float(differences.max())


def _to_match(asked: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Targets whose errors the other methods try to reach: those by RMSE, or all that lose something."""
    by_rmse = [target for target in asked if "relative_rmse" in target]
    return by_rmse if len(by_rmse) > 1 else [target for target in asked if target.get("lossless") is not True]
