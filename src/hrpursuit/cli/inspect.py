"""hrpursuit inspect: show what is in a compressed file."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from hrpursuit.cli.agreement import Agreement, agreement
from hrpursuit.cli.interrupt import stop_if_interrupted
from hrpursuit.cli.options import limit_option, table_options, text_option, told_of
from hrpursuit.cli.report import json_option, print_json, print_table
from hrpursuit.compression import Decoder, Description, Target, describe
from hrpursuit.tables.files import as_file, opened

_BAR = 24  # characters of the longest


@click.command()
@click.argument("compressed", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--against", type=click.Path(path_type=Path), help="File of the original readings: show the error of each sensor."
)
@text_option
@table_options
@limit_option
@json_option
def inspect(
    compressed: Path,
    against: Path | None,
    texts: tuple[str, ...],
    reading: dict[str, Any],
    limit: int | None,
    as_json: bool,
) -> None:
    """Show what COMPRESSED holds and how many bytes each part takes; with --against also the error of each sensor."""
    found: Agreement | None = None
    with as_file(compressed) as file, told_of(compressed):
        description = describe(file, damaged="skip")
        names, target = [str(name) for name in description.columns], description.target
        facts = _facts(description)
        if against is not None:
            with opened(against, **reading, texts=texts) as table, Decoder(file, limit=limit) as decoder:
                found = agreement(table.pieces(), _stoppable(decoder), table.name, decoder.n_columns)
    parts = {name: n_bytes for name, n_bytes in description.parts.items() if n_bytes}
    if as_json:
        report = {"compressed": str(compressed)} | facts | {"parts": parts}
        print_json(
            report
            | ({} if found is None else {"against": str(against), "sensors": _by_sensor(found, description.target)})
        )
        return
    n_cells = facts["n_rows"] * facts["n_columns"]
    texts = {
        "rows, columns": f"{facts['n_rows']:,}, {facts['n_columns']:,}",
        "numbers": ", ".join(f"{kind} ({n:,})" for kind, n in facts["dtypes"].items()) or "none",
        "rows from": f"{facts['first']} to {facts['last']}" if facts["n_rows"] else "none",
        "target": str(target),
        "bytes": f"{facts['n_bytes']:,} ({8 * facts['n_bytes'] / max(1, n_cells):.3g} bits a cell)",
        "chunks": f"{facts['n_chunks']:,} ({', '.join(f'{n:,} by {mode}' for mode, n in facts['modes'].items())})",
        "format": f"version {description.version}",
    }
    if description.damage:
        texts["damaged"] = "; ".join(description.damage)
    print_table(str(compressed), ["", "what"], [list(pair) for pair in texts.items()], text_columns=(0, 1))
    if target.by_column is not None:
        print_table(
            "target by column", ["target", "columns"], _by_amount(description.target, names), text_columns=(0, 1)
        )
    longest = max(parts.values(), default=1)
    rows = [
        [name, f"{n:,}", f"{n / description.n_bytes:.1%}", "█" * round(_BAR * n / longest)] for name, n in parts.items()
    ]
    print_table("bytes by part", ["part", "bytes", "share", ""], rows, text_columns=(0, 3))
    if found is not None:
        rows = [
            [one["name"], one["target"], f"{one['rmse']:.3%}", f"{one['max_error']:.6g}", f"{one['n_gaps']:,}",
             _agree(one)]
            for one in _by_sensor(found, target)
        ]  # fmt: skip
        kept = _agree({"n_other_gaps": int(found.n_other_gaps.sum())})
        rows.append(["all", "", f"{found.rmse:.3%}", f"{found.largest_error:.6g}", f"{found.n_gaps:,}", kept])
        print_table(
            f"error against {against}",
            ["sensor", "target", "relative RMSE", "largest error", "gaps", "gaps kept"],
            rows,
            text_columns=(0, 1),
        )


def _facts(description: Description) -> dict[str, Any]:
    chunks = description.chunks
    modes = [chunk.mode for chunk in chunks]
    return {
        "version": description.version,
        "n_rows": description.n_rows,
        "n_columns": description.n_columns,
        "dtypes": description.types,
        "index": description.index,
        "first": str(chunks[0].first) if chunks else None,
        "last": str(chunks[-1].last) if chunks else None,
        "columns": description.columns,
        "target": asdict(description.target),
        "n_bytes": description.n_bytes,
        "n_chunks": len(chunks),
        "modes": {mode: modes.count(mode) for mode in dict.fromkeys(modes)},
        "damage": description.damage,
    }


def _stoppable(chunks: Any) -> Any:
    for chunk in chunks:
        stop_if_interrupted()
        yield chunk


def _by_amount(target: Target, names: list[str]) -> list[list[str]]:
    """Each amount with its columns, in the order of the table."""
    columns: dict[str, list[str]] = {}
    for place, name in enumerate(names):
        columns.setdefault(str(target.of_column(place)), []).append(name)
    return [[amount, ", ".join(some)] for amount, some in columns.items()]


def _by_sensor(found: Agreement, target: Target) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "target": str(target.of_column(j)),
            "rmse": found.rmse_of(j),
            "max_error": float(found.largest_errors[j]),
            "n_gaps": found.n_rows - int(found.n_observed[j]),
            "n_other_gaps": int(found.n_other_gaps[j]),
        }
        for j, name in enumerate(found.names)
    ]


def _agree(sensor: dict[str, Any]) -> str:
    return "no" if sensor["n_other_gaps"] else "yes"
