"""The files of an experiment: rows as CSV, tables as CSV and figures as PNG and SVG, each whole or not at all."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hrpursuit.experiments.experiment import Experiment, Findings, Settings, Verdict
from hrpursuit.experiments.runner import Results
from hrpursuit.experiments.workers import Done
from hrpursuit.files import replaced_when_done
from hrpursuit.plots import save_figure
from hrpursuit.rows.optional import needed


@dataclass(frozen=True)
class Outcome:
    """An experiment that has been run and written; one that was skipped has a reason and nothing else.

    Attributes
    ----------
    pictures : dict of str to path
        PNG, by the name of the figure; an SVG stands beside each.
    records : path or None
        CSV of all rows.
    """

    experiment: Experiment
    results: Results | None = None
    findings: Findings | None = None
    pictures: dict[str, Path] = field(default_factory=dict)
    records: Path | None = None
    skipped: str | None = None


def conclude(experiment: Experiment, results: Results, settings: Settings) -> Findings:
    """Findings from the rows that there are. Where trials failed, what is left may not be enough for a figure: the rows
    are kept and the reason is told, so that other experiments go on.
    """
    if results.records.empty:
        return Findings(verdicts=[Verdict(None, "Every trial failed; there is nothing to show.")])
    try:
        return experiment.conclude(results.records, settings)
    except Exception as error:
        if results.n_earlier and isinstance(error, KeyError | AttributeError):  # how pandas tells of a missing column
            raise ValueError(f"the file of the earlier run lacks a column of {experiment.name}: {error}.") from error
        if not results.failures:
            raise
        text = (
            f"Too many trials failed for a figure ({type(error).__name__}: {error}); the rows of the others are kept."
        )
        return Findings(verdicts=[Verdict(None, text)])


def write(experiment: Experiment, results: Results, findings: Findings, folder: Path) -> Outcome:
    """Write what was found into `folder`, under the name of the experiment."""
    folder.mkdir(parents=True, exist_ok=True)
    records = folder / f"{experiment.name}.csv"
    with replaced_when_done(records) as temporary:
        results.records.to_csv(temporary, index=False)
    _write_failures(results.failures, folder / f"{experiment.name}-failures.csv")
    pictures = {}
    for name, figure in findings.figures.items():
        picture = folder / f"{experiment.name}{'-' if name else ''}{name}.png"
        save_figure(figure, picture)
        save_figure(figure, picture.with_suffix(".svg"))
        pictures[name] = picture
    return Outcome(experiment, results, findings, pictures, records)


def _write_failures(failures: Sequence[Done], path: Path) -> None:
    if not failures:
        path.unlink(missing_ok=True)  # of an earlier run
        return
    pandas = needed("pandas", "Experiments", "experiments")
    rows: list[dict[str, Any]] = [done.config | {"error": done.error} for done in failures]
    with replaced_when_done(path) as temporary:
        pandas.DataFrame(rows).to_csv(temporary, index=False)
