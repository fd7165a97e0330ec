"""The page on the paper's scale: figures, tables and sentences of the trials in benchmarks/results/paper_scale."""

from collections import Counter
from pathlib import Path

import pandas as pd
from api_pages import write_if_new
from benchmark_pages import RESULTS, cell, table
from sphinx.application import Sphinx

from hrpursuit.experiments.earlier import read_trials
from hrpursuit.experiments.experiment import Config, Experiment, Settings
from hrpursuit.experiments.registry import NAMES, find
from hrpursuit.experiments.style import figure_style

KEPT = RESULTS / "paper_scale"
PAPER_SCALE = Settings(scale="paper")
_HEAD = """# At the paper's scale

The figures, tables and sentences of this page are computed from single trials, which are kept as CSV files in
`benchmarks/results/paper_scale`, one per experiment, with four digits of each error. A run at this scale takes hours.
Where not all of its trials have ended yet, the section says so, and nothing in it is final. The first command runs
those that are missing, the second keeps them with the others:

```sh
hrpursuit reproduce recovery-heatmaps --scale paper \\
  --from benchmarks/results/paper_scale
python benchmarks/paper_scale.py recovery-heatmaps hrpursuit-results
```"""


def trials_of(name: str, path: Path) -> tuple[Experiment, list[Config], pd.DataFrame]:
    """The experiment, configurations of the trials that have ended, and their rows."""
    experiment = find(name)
    configs = list(experiment.plan(PAPER_SCALE))
    found = read_trials(path, experiment, configs)
    ended = [config for config, rows in zip(configs, found, strict=True) if rows is not None]
    records = [config | row for config, rows in zip(configs, found, strict=True) for row in rows or ()]
    return experiment, ended, pd.DataFrame(records)


def how_many(experiment: Experiment, ended: list[Config]) -> str:
    """Trials in all, and of each configuration but for its number."""
    planned = list(experiment.plan(PAPER_SCALE))
    if len(ended) == len(planned):
        return f"All {len(planned):,} trials have ended."
    all_cells, counts = (Counter(str(config | {"trial": None}) for config in some) for some in (planned, ended))
    least, most = min(counts[cell] for cell in all_cells), max(counts.values())
    few = f"{least} to {most}" if least < most else f"{most}"
    return (
        f"**{len(ended):,} of {len(planned):,} trials have ended**, {few} of {max(all_cells.values())} in each cell of "
        "each curve or panel."
    )


def section(name: str, folder: Path) -> list[str]:
    experiment, ended, records = trials_of(name, KEPT / f"{name}.csv")
    command = f"`hrpursuit reproduce {name} --scale paper`"
    lines = ["", f"## {experiment.title}", "", f"{command}. {how_many(experiment, ended)}"]
    if "machine" in records:
        lines[-1] += f" Times are of {' and '.join(sorted(set(records.machine)))}."
    with figure_style():
        findings = experiment.conclude(records, PAPER_SCALE)
        for part, figure in findings.figures.items():
            picture = f"{name}{'-' if part else ''}{part}.png"
            figure.savefig(folder / picture, dpi=100)
            what = part.replace("-", " ") or ("as it should be" if len(findings.figures) > 1 else "")
            lines += ["", f"![{experiment.title}{', ' if what else ''}{what}]({picture})"]
            lines += ["", f"*{what.capitalize()}.*"] if what else []
    lines += ["", *(f"- **{verdict.word}**: {cell(verdict.text)}" for verdict in findings.verdicts)]
    for found in findings.tables:
        lines += ["", f"### {found.title}", "", *table(list(found.header), [list(row) for row in found.rows])]
        lines += ["", found.note] if found.note else []
    return lines


def write_page(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference" / "results"
    folder.mkdir(exist_ok=True)
    names = [name for name in NAMES if (KEPT / f"{name}.csv").exists()]
    lines = [_HEAD, *(line for name in names for line in section(name, folder))]
    write_if_new(folder / "paper_scale.md", "\n".join(lines) + "\n")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
