"""The tables of benchmarks/compression_sizes.py: real ones, made ones, and made ones with odd values or on grids.

Real and made tables are read from the folder of the data (HRPURSUIT_DATA or ../shared/data); none is kept here.
"""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from common import data_folder

from hrpursuit.datasets import make_sensor_network

#: Of the generator: its default, which codecs may have been tuned on, and another.
SEEDS = (7, 11)
#: Rows that a made table is cut to, 10,000 unless told.
ROWS = {"vibration_f32": 20_000, "vibration_i16": 20_000, "cols1000": 300}
#: Bounds on the error, in the unit of the table.
BOUNDS = {
    "krakow": (1, 5),
    "ett_h1": (0.01, 0.1),
    "ett_h1_f32": (0.01, 0.1),
    "exchange": (1e-4,),
    "vibration_f32": (0.01,),
    "counters_i64": (5,),
    "gps_7dec": (1e-5,),
    "temp_0.1": (0.1, 0.5),
    "one_col": (0.1,),
    "cols1000": (0.1,),
    "mixed_units": (0.05,),
}
REAL = ("krakow", "ett_h1", "ett_h1_f32", "exchange")
MADE = (
    "vibration_f32",
    "vibration_i16",
    "counters_i64",
    "status",
    "gps_7dec",
    "temp_0.1",
    "one_col",
    "cols1000",
    "mixed_units",
    "irregular_tz",
    "irregular_tz_5000",  # where the index is the larger part
)
NAMES = (*REAL, *MADE)


@dataclass(frozen=True)
class Case:
    """A table and the bound on its error, 0 for none at all."""

    table: str
    seed: int | None
    bound: float

    @property
    def name(self) -> str:
        return self.table if self.seed is None else f"{self.table}, seed {self.seed}"

    @property
    def target(self) -> str:
        return f"max_error {self.bound:g}" if self.bound else "lossless"

    def frame(self, n_rows: int | None = None) -> pd.DataFrame:
        """The table, its first rows if there are more than `n_rows`."""
        return (real(self.table) if self.seed is None else made(self.table, self.seed)).iloc[:n_rows]


def cases(tables: tuple[str, ...] = NAMES, seeds: tuple[int, ...] = SEEDS) -> Iterator[Case]:
    for table in tables:
        for seed in (None,) if table in REAL else seeds:
            for bound in (0, *BOUNDS.get(table, ())):
                yield Case(table, seed, bound)


@cache
def real(name: str) -> pd.DataFrame:
    """Kraków without its hours, which only count the rows; the others as their files have them."""
    folder = data_folder()
    if name == "krakow":
        return pd.read_csv(folder / "krakow_pm25_2017_10.csv", dtype=np.float64).iloc[:, 1:]
    if name == "exchange":
        return pd.read_csv(folder / "exchange_rates.csv", header=None, float_precision="round_trip")
    doubles = pd.read_csv(folder / "ett_h1.csv", index_col=0, parse_dates=True, float_precision="round_trip")
    return doubles if name == "ett_h1" else doubles.astype(np.float32)


def made(name: str, seed: int) -> pd.DataFrame:
    if name == "irregular_tz_5000":
        return made_all(seed)["irregular_tz"].iloc[:5000]
    return made_all(seed)[name].iloc[: ROWS.get(name, 10_000)]


@cache
def made_all(seed: int) -> dict[str, pd.DataFrame]:
    path = data_folder() / "make_tables.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.sets(seed)


# --- odd values: bytes beyond those of the same table without them -------------------------------------------------

ODD_SEED = 96_001


def network() -> pd.DataFrame:
    """Whole numbers with gaps: what the odd values are put into."""
    return pd.DataFrame(make_sensor_network(2000, 12, silent=0, random_state=ODD_SEED))


@dataclass(frozen=True)
class Odd:
    """A table with odd values, the same table without, and how many bytes more it may take."""

    name: str
    frame: pd.DataFrame
    clean: pd.DataFrame
    limit: float


def odd_tables() -> Iterator[Odd]:
    """One odd value may take 20 bytes, gaps of another bit pattern 12. A value that comes a thousand times may take a
    fifth more than its places do at best.
    """
    clean = network()
    values = clean.to_numpy()
    signed = np.where(np.isnan(values), np.copysign(np.nan, -1), values)
    yield Odd("NaN with the sign bit", pd.DataFrame(signed), clean, 12)
    places = np.flatnonzero(~np.isnan(values.ravel()))
    rng = np.random.default_rng(ODD_SEED)
    for odd in (12.3, -9999.0, 1e9):
        yield Odd(f"one {odd:g}", replaced(values, rng.choice(places, 1), odd), clean, 20)
    n = 1000
    many = rng.choice(places, n, replace=False)
    share = n / len(places)
    entropy = -len(places) * (share * np.log2(share) + (1 - share) * np.log2(1 - share)) / 8
    yield Odd(f"{n} times -9999", replaced(values, many, -9999.0), clean, 1.2 * entropy)


def replaced(values: np.ndarray, places: np.ndarray, odd: float) -> pd.DataFrame:
    changed = values.copy()
    changed.ravel()[places] = odd
    return pd.DataFrame(changed)


# --- grids that are not decimal: bytes against those of the whole numbers ------------------------------------------

GRID_SEED = 96_002
#: For offset and step of each column as doubles.
GRID_BYTES = 16


def counts() -> dict[str, pd.DataFrame]:
    """Readings of a converter, as doubles: slow walks with noise on 10 bits, and on 12 bits with large changes."""
    rng = np.random.default_rng(GRID_SEED)
    found = {}
    for name, change, most in (("small changes", 2, 1023), ("large changes", 60, 4095)):
        steps, noise = rng.normal(0, change, (10_000, 8)), rng.normal(0, change / 2, (10_000, 8))
        folded = np.abs(np.round(most // 2 + np.cumsum(steps, axis=0) + noise)) % (2 * most)
        found[name] = pd.DataFrame(np.where(folded > most, 2 * most - folded, folded))
    return found


def grids(q: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The same whole numbers q on grids."""
    return {
        "q*10/1024": q * 10 / 1024,
        "q/16": q / 16,
        "q*0.1": q * 0.1,
        "float32(q*0.1)": (q * 0.1).astype(np.float32),
        "float32(q*0.1) as doubles": (q * 0.1).astype(np.float32).astype(np.float64),
    }
