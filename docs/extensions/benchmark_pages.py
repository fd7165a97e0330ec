"""A page for each file in benchmarks/results: command, machine, versions, bars, and all tables."""

import json
from pathlib import Path
from typing import Any

from api_pages import write_if_new
from sphinx.application import Sphinx

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "**no**"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"
    return "" if value is None else str(value).replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


def table(header: list[str], rows: list[list[Any]]) -> list[str]:
    lines = [[cell(value) for value in row] for row in (header, *rows)]
    lines.insert(1, ["---"] * len(header))
    return [f"| {' | '.join(line)} |" for line in lines]


def limits(asked: dict[str, float]) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {cell(limit)}" for key, limit in asked.items())


def page(name: str, record: dict[str, Any]) -> str:
    machine, bars = record["machine"], record["bars"]
    missed = [bar for bar in bars if not bar["passed"]]
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    lines = [f"# {name.replace('_', ' ')}", ""]
    lines += [f"`{record['command']}`, {record['date']}, {record['seconds'] / 60:.1f} minutes, commit"]
    lines += [f"`{(record['commit'] or 'unknown')[:10]}`. {machine['description']}, {machine['cores']} cores,"]
    lines += [f"{machine['blas_threads']} thread for linear algebra. {versions}.", ""]
    if bars:
        lines += [f"{len(bars) - len(missed)} of {len(bars)} bars reached."]
    if missed:
        rows = [[bar["bar"], limits(bar["asked"]), bar["measured"]] for bar in missed]
        lines += ["Missed:", "", *table(["bar", "asked", "measured"], rows)]
    for title, figures in record["figures"].items():
        lines += ["", f"## {title[:1].upper()}{title[1:]}", "", *table(figures["header"], figures["rows"])]
    return "\n".join(lines) + "\n"


def write_pages(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference" / "results"
    folder.mkdir(exist_ok=True)
    names = []
    for path in sorted(RESULTS.glob("*.json")):
        names.append(path.stem)
        write_if_new(folder / f"{path.stem}.md", page(path.stem, json.loads(path.read_text())))
    lines = ["```{toctree}", ":maxdepth: 1", "", *(f"results/{name}" for name in names), "```"]
    write_if_new(folder / "list.inc", "\n".join(lines) + "\n")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
