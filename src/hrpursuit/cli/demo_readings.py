"""The part of the demo that compresses a simulated month of a sensor network, with the real sizes of files."""

import lzma
import time
from pathlib import Path
from typing import Any

import numpy as np

from hrpursuit.cli.report import print_table
from hrpursuit.compression import compress, decompress
from hrpursuit.datasets import make_sensor_network
from hrpursuit.metrics import masked_rmse
from hrpursuit.plots import plot_readings, save_figure
from hrpursuit.progress import Bars

N_HOURS, N_SENSORS, N_NONZERO, DRAWN = 744, 56, 5, "rmse"
TARGETS: dict[str, tuple[str, dict[str, Any]]] = {
    "rmse": ("hrpursuit, relative RMSE 5%", {"relative_rmse": 0.05}),
    "max_error": ("hrpursuit, no error above 1", {"max_error": 1}),
    "lossless": ("hrpursuit, lossless", {"lossless": True}),
}


def compress_a_month(seed: int, picture: Path, bars: Bars) -> list[dict[str, Any]]:
    """Compress simulated readings to each target and draw one of them; a row of figures for each."""
    for _, target in TARGETS.values():  # so that no time is that of a first call
        decompress(compress(make_sensor_network(60, 6, random_state=0), **target))
    readings = make_sensor_network(N_HOURS, N_SENSORS, random_state=seed)
    results: list[dict[str, Any]] = [
        {"coding": "paper", "bytes": paper_bytes(), "rmse": None, "max_error": None, "seconds": None},
        {"coding": "xz", "bytes": xz_bytes(readings), "rmse": 0.0, "max_error": 0.0, "seconds": None},
    ]
    for coding, (title, target) in TARGETS.items():
        with bars.rows(title, N_HOURS) as show:
            start = time.perf_counter()
            data = compress(readings, **target, progress=lambda n_done, _: show(n_done))
            seconds = time.perf_counter() - start
        decoded = decompress(data)
        errors = {"rmse": masked_rmse(readings, decoded), "max_error": float(np.nanmax(np.abs(readings - decoded)))}
        results.append({"coding": coding, "bytes": len(data), **errors, "seconds": seconds})
        if coding == DRAWN:
            title = f"{title}: {len(data):,} bytes for {np.sum(~np.isnan(readings)):,} readings and their gaps"
            save_figure(plot_readings(readings, decoded, title), picture)
    return results


def paper_bytes() -> int:
    """Bytes of the paper's coding written out plainly: T0 values and a bit mask a row, and the dictionary; float16."""
    return N_HOURS * (2 * N_NONZERO + N_SENSORS // 8) + 2 * N_SENSORS**2


def xz_bytes(readings: np.ndarray) -> int:
    """Bytes of whole-numbered readings with xz at its best: differences in time, sensor by sensor, gaps as bits."""
    gaps = np.isnan(readings)
    latest = np.maximum.accumulate(np.where(gaps, 0, np.arange(len(readings))[:, None]), axis=0)
    held = np.nan_to_num(np.take_along_axis(readings, latest, axis=0)).astype(np.int64)
    smallest = np.uint8 if held.min() >= 0 and held.max() < 256 else np.uint32  # differences wrap around
    differences = np.diff(held, axis=0, prepend=0).astype(smallest)
    return sum(len(lzma.compress(part.tobytes(), preset=9)) for part in (differences.T, np.packbits(gaps.T)))


def print_results(results: list[dict[str, Any]], picture: Path) -> str:
    """A table; returns a sentence on it."""
    titles = {"paper": f"the paper's coding, T0 = {N_NONZERO}", "xz": "xz of the differences, lossless"}
    titles |= {name: title for name, (title, _) in TARGETS.items()}
    rows = [
        [
            titles[r["coding"]],
            f"{r['bytes']:,}",
            "" if r["rmse"] is None else f"{r['rmse']:.2%}",
            "" if r["max_error"] is None else f"{r['max_error']:.3g}",
            "" if r["seconds"] is None else f"{r['seconds']:.2f}",
        ]
        for r in results
    ]
    title = f"A simulated month of {N_SENSORS} sensors, gaps and all, as whole files"
    print_table(title, ["", "bytes", "RMSE", "largest error", "seconds"], rows)
    return (
        f"the paper's coding: counted as a ratio of {N_SENSORS}/{N_NONZERO} = {N_SENSORS / N_NONZERO:.1f} there; here "
        f"its {N_NONZERO} values an hour, which ones they are, and the dictionary, in float16. Picture: {picture}"
    )
