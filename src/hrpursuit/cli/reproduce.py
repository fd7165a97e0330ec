"""hrpursuit reproduce: compute the paper's figures and tables."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import joblib

from hrpursuit.cli.choice import chosen_methods, methods_option
from hrpursuit.cli.report import EXIT_SOME_FAILED, print_table
from hrpursuit.experiments.experiment import Experiment, Scale, Settings
from hrpursuit.experiments.methods import METHODS
from hrpursuit.experiments.output import Outcome, conclude, write
from hrpursuit.experiments.quirks import NOISE, QUIRKS
from hrpursuit.experiments.readings import FILLS, SCALINGS, find_readings, read
from hrpursuit.experiments.registry import NAMES, find
from hrpursuit.experiments.report import write_report
from hrpursuit.experiments.runner import run_trials
from hrpursuit.experiments.style import figure_style
from hrpursuit.experiments.workers import Workers
from hrpursuit.progress import Bars


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--list", "is_list", is_flag=True, help="List the experiments and the options that some of them have.")
@click.option("--scale", type=click.Choice(["quick", "paper"]), default="quick", show_default=True,
              help="quick: fewer trials, minutes; paper: as many as in the paper, hours.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of data and fits.")
@click.option("--jobs", type=click.IntRange(min=1), help="Number of processes for trials; by default one per core.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("hrpursuit-results"), show_default=True,
              help="Folder for the results and the cache of trials.")  # fmt: skip
@click.option("--data", type=click.Path(path_type=Path),
              help="File of sensor readings (or its folder); HRPURSUIT_DATA by default.")  # fmt: skip
@click.option("--from", "earlier", type=click.Path(path_type=Path, exists=True),
              help="CSV file of an earlier run, or its folder: trials in it are not run again.")  # fmt: skip
@methods_option(METHODS)
@click.option("--fill", "fills", type=click.Choice(list(FILLS)), multiple=True,
              help="How sensor-table prepares the readings; all ways by default.")  # fmt: skip
@click.option("--scaling", type=click.Choice(list(SCALINGS)), default="largest", show_default=True,
              help="What sensor-table divides the readings by.")  # fmt: skip
@click.option("--snr-db", type=float, help="Add noise to synthetic data; none by default, as in the paper.")
@click.option("--quirk", "quirks", type=click.Choice(list(QUIRKS)), multiple=True,
              help="Imitate a quirk of the published code; --list describes them.")  # fmt: skip
def reproduce(
    names: Sequence[str],
    is_list: bool,
    scale: Scale,
    seed: int,
    jobs: int | None,
    out: Path,
    data: Path | None,
    earlier: Path | None,
    methods: str,
    fills: Sequence[str],
    scaling: str,
    snr_db: float | None,
    quirks: Sequence[str],
) -> int:
    """Compute figures and tables of the paper, with our results for comparison: NAME, several names, or all.

    Each trial is kept in the cache, so that a run that was interrupted continues where it stopped. `all` also writes
    report.html.

    Exit code 3: some trials failed; the results of the others are written.
    """
    if is_list or not names:
        _print_list()
        return 0
    asked = [find(name) for name in dict.fromkeys(names) if name != "all"]
    experiments = [find(name) for name in NAMES] if "all" in names else asked
    readings, why_not = find_readings(data)
    if readings is not None and any(experiment.needs_readings for experiment in experiments):
        read(readings)  # what is wrong with it shows before the work
    for experiment in asked:
        if experiment.needs_readings and readings is None:
            raise ValueError(f"{experiment.name} {why_not}")
    settings = Settings(
        scale=scale,
        seed=seed,
        quirks=frozenset(quirks),
        readings=readings,
        fills=tuple(fills) or tuple(FILLS),
        scaling=scaling,
        snr_db=snr_db,
        methods=tuple(chosen_methods(methods, METHODS)),
    )
    _check_options(experiments, settings)
    if earlier is not None and earlier.is_file() and len(experiments) != 1:
        raise ValueError("--from with a file has the trials of one experiment: give one NAME, or a folder.")
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file; give a folder for the results.")
    out.mkdir(parents=True, exist_ok=True)
    n_jobs = jobs or joblib.cpu_count()
    start = time.perf_counter()
    outcomes = []
    with _telling_what_is_kept(out), Bars() as bars, Workers(n_jobs) as workers:
        for experiment in experiments:
            if experiment.needs_readings and readings is None:
                outcomes.append(Outcome(experiment, skipped=f"it {why_not}"))
                click.echo(f"{experiment.name}: skipped, it {why_not}", err=True)
                continue
            results = run_trials(experiment, settings, out / "cache", workers, bars, _say, earlier)
            with figure_style():
                findings = conclude(experiment, results, settings)
                outcomes.append(write(experiment, results, findings, out))
            _tell(outcomes[-1], is_short="all" in names)
    if "all" in names:
        write_report(outcomes, settings, out / "report.html", n_jobs, time.perf_counter() - start)
        click.echo(f"report: {out / 'report.html'}")
    return EXIT_SOME_FAILED if any(outcome.results and outcome.results.failures for outcome in outcomes) else 0


@contextmanager
def _telling_what_is_kept(out: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        _say(f"the trials that have ended are kept in {out / 'cache'}; the same command goes on from there")
        raise


def _say(text: str) -> None:
    click.echo(f"note: {text}", err=True)


def _check_options(experiments: Sequence[Experiment], settings: Settings) -> None:
    known = {quirk for experiment in experiments for quirk in experiment.quirks}
    for quirk in settings.quirks - known:
        raise ValueError(f"--quirk {quirk} means nothing to {', '.join(e.name for e in experiments)}.")
    if settings.methods and not any(experiment.compares for experiment in experiments):
        raise ValueError(f"--methods means nothing to {', '.join(e.name for e in experiments)}.")
    is_sensors = any(experiment.name == "sensor-table" for experiment in experiments)
    if not is_sensors and (settings.fills != tuple(FILLS) or settings.scaling != "largest"):
        raise ValueError(f"--fill and --scaling mean nothing to {', '.join(e.name for e in experiments)}.")
    if settings.snr_db is not None and NOISE not in known:
        raise ValueError(f"--snr-db means nothing to {', '.join(e.name for e in experiments)}, which adds no noise.")
    if settings.snr_db is None and NOISE in settings.quirks:
        raise ValueError(f"--quirk {NOISE} needs noise: give --snr-db as well.")


def _print_list() -> None:
    rows = []
    for name in NAMES:
        experiment = find(name)
        rows.append([name, experiment.title, experiment.in_paper])
    print_table("hrpursuit reproduce NAME", ["name", "what it shows", "in the paper"], rows, text_columns=(0, 1, 2))
    users: dict[str, Any] = {quirk: [name for name in NAMES if quirk in find(name).quirks] for quirk in QUIRKS}
    rows = [[quirk, text, ", ".join(users[quirk])] for quirk, text in QUIRKS.items()]
    print_table("--quirk", ["name", "habit of the published code", "experiments"], rows, text_columns=(0, 1, 2))
    rows = [[name, fill.text] for name, fill in FILLS.items()]
    print_table("--fill (sensor-table)", ["name", "how gaps are filled"], rows, text_columns=(0, 1))
    rows = [[name, text] for name, text in SCALINGS.items()]
    print_table("--scaling (sensor-table)", ["name", "how readings are divided"], rows, text_columns=(0, 1))


def _tell(outcome: Outcome, is_short: bool) -> None:
    results, findings = outcome.results, outcome.findings
    assert results is not None
    assert findings is not None
    cached = f", {results.n_earlier} from an earlier run" if results.n_earlier else ""
    cached += f", {results.n_cached} from the cache" if results.n_cached else ""
    click.echo(f"{outcome.experiment.name}: {results.n_trials} trials{cached}, {results.seconds:.1f} s")
    if not is_short:
        for table in findings.tables:
            print_table(table.title, table.header, table.rows)
            if table.note:
                click.echo(table.note)
    for verdict in findings.verdicts:
        click.echo(f"  {verdict.word:<7}  {verdict.text}")
    for done in results.failures[:5]:
        click.echo(f"  failed   {done.config}: {done.error}", err=True)
    if results.failures:
        click.echo(f"  {len(results.failures)} trials failed; all of them in {outcome.experiment.name}-failures.csv",
                   err=True)  # fmt: skip
    if not is_short:
        for path in (outcome.records, *outcome.pictures.values()):
            click.echo(f"  {path}")
