"""hrpursuit airly: extract the table of one quantity from a monthly file of the Airly network."""

import csv
from collections.abc import Iterator
from pathlib import Path

import click

from hrpursuit.files import replaced_when_done

TIME = "UTC time"


@click.command()
@click.argument("month", type=click.Path(path_type=Path, dir_okay=False))
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), required=True,
              help="CSV file for the table: the time, then one column per sensor.")  # fmt: skip
@click.option("--quantity", default="pm25", show_default=True,
              help="What follows the sensor's number in the names of columns: pm1, pm25, temperature, ...")  # fmt: skip
def airly(month: Path, out: Path, quantity: str) -> int:
    """Write the table of one quantity that is in MONTH, for `hrpursuit reproduce sensor-table --data`.

    MONTH is a monthly CSV file of 'Air quality data from extensive network of sensors' by Airly, which Kaggle publishes
    (kaggle.com, datascienceairly): a column 'UTC time', then columns such as 171_pm25. The paper's table is of
    october-2017.csv.
    """
    names, rows = select(month, quantity)
    n_hours = 0
    with replaced_when_done(out) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([TIME, *names])
        for row in rows:
            writer.writerow(row)
            n_hours += 1
    click.echo(f"{out}: {n_hours} hours of {len(names)} sensors")
    return 0


def select(month: Path, quantity: str) -> tuple[list[str], Iterator[list[str]]]:
    """Names of the sensors that measure the quantity, and for each hour its time and their cells, as they are."""
    with month.open(newline="", encoding="utf-8-sig") as file:
        header = [name.strip() for name in next(csv.reader(file), [])]
    if TIME not in header:
        raise ValueError(
            f"{month}: expected a column {TIME!r} and columns such as 171_{quantity}, as in a monthly file of Airly; "
            f"got {', '.join(header[:4]) or 'an empty file'}{', ...' if len(header) > 4 else ''}."
        )
    chosen = [i for i, name in enumerate(header) if name.partition("_")[2] == quantity]
    if not chosen:
        known = sorted({name.partition("_")[2] for name in header if name != TIME} - {""})
        raise ValueError(f"{month} has no column of {quantity!r}; its quantities are {', '.join(known) or 'none'}.")
    return [header[i].partition("_")[0] for i in chosen], _rows(month, header.index(TIME), chosen, len(header))


def _rows(month: Path, time: int, chosen: list[int], n_columns: int) -> Iterator[list[str]]:
    with month.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        next(reader)
        for row in reader:
            if row:
                if len(row) != n_columns:
                    raise ValueError(
                        f"{month}, line {reader.line_num}: {len(row)} cells, where the first line has {n_columns}."
                    )
                yield [row[time].strip(), *(row[i].strip() for i in chosen)]
