"""How a pass over the data is made up, against a model with five constants; then what the model says of larger data.

Run `python benchmarks/cost_model.py`: about a minute. docs/explanation/scale.md says what the figures mean.
"""

import json
import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import dask.array as da
import numpy as np
from common import command_line, seconds
from passes import PassNames
from results import ROOT, Results
from scipy.optimize import nnls
from workers import workers

from hrpursuit import HRP
from hrpursuit.core.evaluate import value_and_grad
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.objectives import LpNorm
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows, DaskRows, open_rows
from hrpursuit.rows.engines import FAN_IN

FEATURES = (16, 64, 256)
READINGS = 1 << 25  # rows times features: 128 MiB of float32
CHUNKS = 16
EMPTY_CHUNKS, EMPTY_ROWS = (16, 128), 8
REPEATS = 5
PLACES = ("memory", "file", "1 worker", "2 workers")

# Not measured: prices and hardware that the part on paper supposes.
CORE_HOUR, GB_MONTH = 0.045, 0.023  # dollars
STORAGE_RATE = 100e6  # bytes a second that a core reads from object storage
CORE_MEMORY = 4e9  # bytes
HOP = 1e-3  # seconds that a sum takes to the next task of the tree


@dataclass(frozen=True)
class Constants:
    """What the model knows of a machine; all for one core, float32."""

    flops: float  # a second, in the two products of a pass
    entry: float  # seconds a reading, besides the products
    read: float  # bytes a second from a file that the system has cached
    start: float  # seconds a pass on a cluster, whatever its chunks
    task: float  # seconds a chunk, of the scheduler

    def arithmetic(self, readings: float, n_features: int) -> float:
        """Seconds of one core: 4 n N^2 flops, and n N readings to look at."""
        return 4 * readings * n_features / self.flops + readings * self.entry

    def from_file(self, readings: float, n_features: int) -> float:
        """Reading goes on while the last piece is computed: the slower of the two counts."""
        return max(self.arithmetic(readings, n_features), 4 * readings / self.read)

    def on_cluster(self, readings: float, n_features: int, n_workers: int, n_chunks: int) -> float:
        return self.arithmetic(readings, n_features) / n_workers + self.start + n_chunks * self.task


def make_rows(n_features: int) -> np.ndarray:
    rng = np.random.default_rng(n_features)
    return rng.standard_normal((READINGS // n_features, n_features), dtype=np.float32)


def chunks_on_workers(n_rows: int, n_chunks: int, n_features: int) -> da.Array:
    """Made where they are used, so that no data is sent."""

    def make(block_info=None) -> np.ndarray:
        rng = np.random.default_rng(block_info[None]["chunk-location"][0])
        return rng.standard_normal((n_rows, n_features), dtype=np.float32)

    shape = ((n_rows,) * n_chunks, (n_features,))
    return da.map_blocks(make, chunks=shape, dtype=np.float32, meta=np.empty((0, 0), np.float32))


def one_pass(rows, n_features: int) -> Callable[[], object]:
    W = random_orthogonal(n_features, np.random.default_rng(2))
    return lambda: value_and_grad(rows, W, LpNorm(3))


def passes_here(folder: Path) -> tuple[dict, dict, dict]:
    """Seconds in memory and from a file, of the plain products, and of reading alone, by features."""
    times, plain, read = {}, {}, {}
    for n in FEATURES:
        X, path = make_rows(n), folder / f"{n}.npy"
        np.save(path, X)
        W = random_orthogonal(n, np.random.default_rng(2)).astype(np.float32)
        runs = {
            ("memory", n): one_pass(ArrayRows(X), n),
            ("file", n): one_pass(open_rows(path), n),
            "plain": lambda X=X, W=W: (X @ W.T).T @ X,
            "read": lambda path=path: [None for _ in open_rows(path).blocks()],
        }
        best = dict.fromkeys(runs, np.inf)
        for _ in range(REPEATS):  # in turn, so that all see the same machine
            best = {name: min(best[name], seconds(run)) for name, run in runs.items()}
        plain[n], read[n] = best.pop("plain"), best.pop("read")
        times |= best
        path.unlink()
    return times, plain, read


def bytes_sent(dask_worker) -> int:
    return dask_worker.transfer_outgoing_bytes_total


def passes_on_cluster() -> tuple[dict, dict, dict]:
    """Seconds of a pass, bytes that its busiest worker sent (least and most), and seconds of passes over a few and over
    many chunks that are nearly empty.
    """
    times, sent, overhead = {}, {}, {}
    for n_workers in (1, 2):
        with workers(n_workers) as client:
            for n in FEATURES:
                place = f"{n_workers} worker{'s' if n_workers > 1 else ''}", n
                run = one_pass(DaskRows(chunks_on_workers(READINGS // n // CHUNKS, CHUNKS, n)), n)
                run()  # loads the chunks
                times[place], found, before = np.inf, [], client.run(bytes_sent)
                for _ in range(REPEATS):
                    times[place] = min(times[place], seconds(run))
                    after = client.run(bytes_sent)
                    found.append(max(after[worker] - before[worker] for worker in after))
                    before = after
                sent[place] = min(found), max(found)
                empty = [one_pass(DaskRows(chunks_on_workers(EMPTY_ROWS, count, n)), n) for count in EMPTY_CHUNKS]
                overhead[place] = [seconds(one, REPEATS + 1) for one in empty]
    return times, sent, overhead


def a_task(few: float, many: float) -> float:
    """Seconds a chunk more."""
    return (many - few) / (EMPTY_CHUNKS[1] - EMPTY_CHUNKS[0])


def fit_constants(times: dict, read: dict, overhead: dict) -> Constants:
    """Arithmetic from the three passes in memory alone; reading and tasks from passes that do nothing else."""
    measured = np.array([times["memory", n] for n in FEATURES])
    parts = np.array([[4 * READINGS * n, READINGS] for n in FEATURES]) / measured[:, None]
    scale = parts.max(axis=0)
    per_flop, per_entry = nnls(parts / scale, np.ones(len(FEATURES)))[0] / scale
    few, many = np.median([*overhead.values()], axis=0)
    task = a_task(few, many)
    start = max(0.0, few - EMPTY_CHUNKS[0] * task)
    return Constants(1 / per_flop, per_entry, 4 * READINGS / min(read.values()), start, task)


def show_passes(results: Results, times: dict, plain: dict, constants: Constants) -> None:
    """Plain: the same two products by themselves, one thread."""

    def cells():
        for n in FEATURES:
            for place in PLACES:
                taken, n_workers = times[place, n], 2 if place == "2 workers" else 1
                model = {
                    "memory": constants.arithmetic(READINGS, n),
                    "file": constants.from_file(READINGS, n),
                }.get(place, constants.on_cluster(READINGS, n, n_workers, CHUNKS))
                rate = 4 * READINGS * n / taken / 1e9
                yield n, place, taken, rate, plain[n] / taken, 4 * READINGS / taken / 1e9, model, model / taken

    header = ["features", "where", "seconds", "Gflop/s", "rate / plain", "GB/s read", "model, s", "model / measured"]
    size = f"{4 * READINGS / 2**20:.0f} MiB"
    results.figures(f"passes over {size} of float32; on workers {CHUNKS} chunks, one thread each", header, cells())


def show_sent(results: Results, sent: dict, overhead: dict) -> None:
    """How many sums the busiest worker sent, to another worker or back (far more would mean that a chunk was moved),
    and what a chunk costs the scheduler.
    """
    n_sums = CHUNKS + math.ceil(CHUNKS / FAN_IN) + 1

    def cells():
        for (place, n), (least, most) in sent.items():
            a_sum, data = 8 * n**2, 4 * READINGS / (2 if place == "2 workers" else 1)
            cost = 1e3 * a_task(*overhead[place, n])
            yield n, place, a_sum / 1e3, least / a_sum, most / a_sum, least / data, cost

    header = ["features", "where", "a sum, kB", "sums sent, least", "most", "bytes / data", "ms per chunk"]
    results.figures(f"the cluster: {n_sums} sums of 8 N^2 bytes are made in a pass", header, cells())


def show_constants(results: Results, constants: Constants, square: float) -> None:
    rows = [
        ("flops per second and core", constants.flops),
        ("flops per second of a product of 2048 x 2048, the same core", square),
        ("seconds per reading, besides the products", constants.entry),
        ("bytes per second from a cached file", constants.read),
        ("seconds per pass, of the scheduler", constants.start),
        ("seconds per chunk, of the scheduler", constants.task),
    ]
    results.figures("the constants", ["constant".ljust(60), "value"], rows)


def square_rate() -> float:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((2048, 2048), dtype=np.float32)
    return 2 * 2048**3 / seconds(lambda: A @ A, 3)


def passes_of_fits(results: Results, folder: Path) -> None:
    """How often a fit reads its file, and what more rows buy."""
    n = 64
    rng = np.random.default_rng(0)
    truth = random_orthogonal(n, rng).astype(np.float32)

    def cells():
        for name, n_rows in (
            ("sparse", 10_000),
            ("sparse", 100_000),
            ("sparse, noise 0.02", 10_000),
            ("sparse, noise 0.02", 100_000),
            ("sparse, noise 0.02", 400_000),
            ("Laplace, not sparse", 30_000),
        ):
            if name.startswith("Laplace"):
                codes = rng.laplace(size=(n_rows, n)).astype(np.float32)
            else:
                codes = rng.standard_normal((n_rows, n), dtype=np.float32) * (rng.random((n_rows, n)) < 0.2)
            X = codes @ truth
            if "noise" in name:
                X += 0.02 * rng.standard_normal(X.shape, dtype=np.float32)
            path = folder / "fit.npy"
            np.save(path, X)
            rows = open_rows(path)
            rows.watcher = PassNames()
            model = HRP(random_state=0).fit(rows)
            error = dictionary_error(model.components_, truth)
            names = ", ".join(f"{rows.watcher.count(name)} {name}" for name in dict.fromkeys(rows.watcher))
            yield name, n_rows, bool(model.certificate_), error, rows.n_passes, names

    header = ["data               ", "rows", "certified", "error", "passes", "of these, over the whole file"]
    results.figures(f"fits from a .npy file of {n} features; sparse: a fifth of the codes not zero", header, cells())


@dataclass(frozen=True)
class OnPaper:
    """Fits of 64 features in float32 on so many cores; seconds."""

    constants: Constants
    readings: float
    n_cores: int
    chunk: float  # bytes
    n_features: int = 64

    @property
    def size(self) -> float:
        return 4 * self.readings

    @property
    def n_chunks(self) -> float:
        return math.ceil(self.size / self.chunk)

    @property
    def reading(self) -> float:
        return self.size / STORAGE_RATE / self.n_cores

    @property
    def arithmetic(self) -> float:
        return self.constants.arithmetic(self.readings, self.n_features) / self.n_cores

    @property
    def tasks(self) -> float:
        return self.n_chunks * self.constants.task

    @property
    def tree(self) -> float:
        return math.ceil(math.log(self.n_chunks, FAN_IN)) * HOP

    @property
    def stays(self) -> bool:
        """Whether the data stays in memory, which it may half fill; else it is read again in every pass."""
        return self.size <= CORE_MEMORY * self.n_cores / 2

    def sample(self, rows_per_feature: int) -> float:
        """So many rows per feature, drawn from as many chunks."""
        drawn = min(self.n_chunks, rows_per_feature * self.n_features)
        return drawn * self.constants.task + (0 if self.stays else self.chunk / STORAGE_RATE)

    def fit(self, n_passes: int, n_small: int, n_large: int = 0) -> float:
        """The survey, so many passes over all rows, and so many samples of 10 and of 100 rows per feature."""
        first = max(self.reading, self.tasks) + self.tasks + self.tree  # chunks are loaded, then looked at
        later = max(self.arithmetic, self.tasks, 0 if self.stays else self.reading) + self.tree
        return first + n_small * self.sample(10) + n_large * self.sample(100) + n_passes * later

    def dollars(self, taken: float) -> float:
        return taken * self.n_cores / 3600 * CORE_HOUR


def counted(data: str) -> tuple[int, int, int]:
    """Passes over all rows after the survey, and samples of up to 30 and of more rows per feature, by passes.py."""
    table = json.loads((ROOT / "benchmarks" / "results" / "passes.json").read_text())["figures"].popitem()[1]
    [(_, n_passes, n_small, n_large, _)] = [row for row in table["rows"] if row[0] == data]
    return n_passes - 1 - n_small - n_large, n_small, n_large


def fits_on_paper(constants: Constants) -> list[tuple[OnPaper, list[float]]]:
    """Each case, with the seconds of a certified, a noisy and a dense fit."""
    kinds = [counted(data) for data in ("exactly sparse", "sparse plus noise", "dense")]
    return [(case, [case.fit(*kind) for kind in kinds]) for case in cases_on_paper(constants)]


def cases_on_paper(constants: Constants) -> list[OnPaper]:
    return [
        OnPaper(constants, readings, n_cores, chunk)
        for readings, n_cores in ((1e12, 2_000), (1e15, 20_000))
        for chunk in (64e6, 1e9)
    ]


def on_paper(results: Results, constants: Constants) -> None:
    """64 features, float32."""
    supposed = [
        ("dollars per core-hour", CORE_HOUR),
        ("dollars per GB-month", GB_MONTH),
        ("MB/s that a core reads", STORAGE_RATE / 1e6),
        ("GB of memory per core", CORE_MEMORY / 1e9),
        ("seconds per level of the tree", HOP),
    ]
    results.figures("supposed, not measured", ["what".ljust(30), "value"], supposed)

    def pieces():
        for case in cases_on_paper(constants):
            first = case.readings, case.size / 1e12, case.size / 1e9 * GB_MONTH, case.n_cores
            times = case.reading, case.arithmetic, case.tasks, case.tree
            yield *first, case.chunk / 1e9, case.n_chunks, *times, case.n_chunks * 8 * 64**2 / case.size

    header = ["readings", "TB", "$ a month", "cores", "chunk, GB", "chunks"]
    header += ["read, s", "flops, s", "tasks, s", "tree, s", "sums / data"]
    results.figures("on paper: a pass", header, pieces())

    def fits():
        for case, taken in fits_on_paper(constants):
            times = (cell for one in taken for cell in (one, case.dollars(one)))
            yield case.readings, case.chunk / 1e9, "yes" if case.stays else "no", *times

    header = ["readings", "chunk, GB", "in memory", "certified, s", "certified, $", "noisy, s", "noisy, $"]
    results.figures("on paper: fits", [*header, "dense, s", "dense, $"], fits())


def main() -> None:
    quick = command_line(__doc__).parse_args().quick  # the same, but not kept
    with Results(__file__, partial=quick) as results, tempfile.TemporaryDirectory() as folder:
        times, plain, read = passes_here(Path(folder))
        more, sent, overhead = passes_on_cluster()
        constants = fit_constants(times, read, overhead)
        show_passes(results, times | more, plain, constants)
        show_sent(results, sent, overhead)
        passes_of_fits(results, Path(folder))
        show_constants(results, constants, square_rate())
        on_paper(results, constants)


if __name__ == "__main__":
    main()
