"""Runs the trials of an experiment: those in the cache or in a file of an earlier run come from there, the others run
in processes and are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hrpursuit.experiments.cache import TrialCache, code_version
from hrpursuit.experiments.earlier import earlier_trials
from hrpursuit.experiments.experiment import Experiment, Settings
from hrpursuit.experiments.machine import machine
from hrpursuit.experiments.workers import Done, Workers
from hrpursuit.progress import Bars
from hrpursuit.rows.optional import needed

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Results:
    """Rows of all trials that ended well, and those that did not.

    Attributes
    ----------
    records : DataFrame
        A row for each row of a trial, with the items of its configuration.
    failures : list of Done
    n_trials, n_cached, n_earlier : int
        How many there are, and of them those from the cache and those from the file of an earlier run.
    seconds : float
        That this run took.
    """

    records: pd.DataFrame
    failures: list[Done]
    n_trials: int
    n_cached: int
    seconds: float
    n_earlier: int = 0


def run_trials(
    experiment: Experiment,
    settings: Settings,
    folder: Path,
    workers: Workers,
    bars: Bars,
    say: Callable[[str], None],
    earlier: Path | None = None,
) -> Results:
    """All trials of the experiment; `folder` holds the cache, `earlier` the CSV file of another run or its folder."""
    start = time.perf_counter()
    pandas = needed("pandas", "Experiments", "experiments")
    code = code_version(experiment.run.__module__) + (f" {machine()}" if experiment.is_timed else "")
    cache = TrialCache(folder, experiment.name, code)
    configs = list(experiment.plan(settings))
    held = earlier_trials(earlier, experiment, configs)
    n_earlier = sum(rows is not None for rows in held)
    held = [cache.get(config) if rows is None else rows for config, rows in zip(configs, held, strict=True)]
    missing = [config for config, rows in zip(configs, held, strict=True) if rows is None]
    n_stale = sum(cache.is_stale(config) for config in missing)
    if n_stale:
        say(f"{experiment.name}: {n_stale} trials in the cache are damaged or of another version; they run anew")
    found: dict[str, list[dict[str, Any]]] = {}
    failures = []
    at_once = 1 if experiment.is_timed else workers.n_jobs
    run = partial(experiment.run, **experiment.given(settings))
    n_held = len(configs) - len(missing)
    for done in bars.count(experiment.name, workers.perform(run, missing, at_once), len(configs), n_held):
        if done.error is None:
            cache.put(done.config, done.rows, done.seconds)
            found[cache.path(done.config).name] = done.rows
        else:
            failures.append(done)

    def rows() -> Iterator[dict[str, Any]]:
        for config, known in zip(configs, held, strict=True):
            for row in found.get(cache.path(config).name, []) if known is None else known:
                yield config | row

    records = pandas.DataFrame(list(rows()))
    seconds = time.perf_counter() - start
    return Results(records, failures, len(configs), n_held - n_earlier, seconds, n_earlier)
