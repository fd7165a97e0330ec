"""What live messages cost, whether they are right, and how fast they are.

    python benchmarks/live.py            # all, about twenty minutes, most of them for a million slots
    python benchmarks/live.py --quick    # the sizes, and small parts of the rest

Sizes are sums over all messages, one per slot, with everything in the payload counted and no tag: what MQTT and TCP add
is the same for all. JSON and float32 send each slot by itself, with null and NaN for gaps. zstd has a dictionary
trained on the first quarter of the same messages, whose bytes are not counted, in its favour. Delta + varint sends the
change of each reading in units of its decimals (lossless) or in steps of twice the bound, a bitmap of gaps, and every
250 slots the readings themselves.
"""

import importlib.util
import json
import math
import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from common import october
from live_channel import run
from results import Results

from hrpursuit.compression import compress
from hrpursuit.datasets import make_sensor_network
from hrpursuit.live import Gap, LiveDecoder, LiveEncoder, Recorder
from hrpursuit.live.wire import N_CHECK, seal

HOUR = 3600 * 10**9
EVERY = 250
#: What the issue asks of the October readings relative to the files that it quotes; the simulated month alike.
RATIOS = {"max_error=1": 12_000 / 7_794, "lossless": 17_500 / 13_191}
SEED = 1603


def names_of(table):
    return [f"s{i + 1:02d}" for i in range(table.shape[1])]


def settings_of(bound):
    return {"max_error": bound} if bound else {"lossless": True}


def kind_of(bound):
    return f"max_error={bound:g}" if bound else "lossless"


def live(table, bound, check=True, **settings):
    """Bytes of all messages, which are decoded and compared."""
    encoder = LiveEncoder(names_of(table), **(settings or settings_of(bound)), keyframe_every=EVERY)
    decoder = LiveDecoder()
    squares = 0.0
    for t, row in enumerate(table):
        [slot] = decoder.decode(encoder.encode(row, t * HOUR))
        off = np.abs(slot.values - row)
        squares += float(np.nansum(off**2))
        if (
            check
            and not settings
            and (np.nanmax(off, initial=0.0) > bound or (np.isnan(slot.values) != np.isnan(row)).any())
        ):
            raise AssertionError(f"slot {t} is off")
    return encoder, math.sqrt(squares / float(np.nansum(table**2)))


def as_json(table):
    names = names_of(table)
    for t, row in enumerate(table):
        readings = {
            name: None if np.isnan(x) else (int(x) if x == int(x) else x) for name, x in zip(names, row, strict=True)
        }
        yield json.dumps({"time": t * 3600, **readings}, separators=(",", ":")).encode()


def as_float32(table):
    for t, row in enumerate(table):
        yield (t * 3600).to_bytes(4, "little") + row.astype("<f4").tobytes()


def with_zstd(messages):
    """Each message by zstd with a dictionary trained on the first quarter; None where the package is not there."""
    if importlib.util.find_spec("zstandard") is None:
        return None
    zstandard = importlib.import_module("zstandard")
    messages = list(messages)
    dictionary = zstandard.train_dictionary(16384, messages[: len(messages) // 4])
    packer = zstandard.ZstdCompressor(level=19, dict_data=dictionary, write_content_size=False, write_checksum=False)
    return sum(len(packer.compress(message)) for message in messages)


def varint_size(number):
    return max(1, -(-int(number).bit_length() // 7))


def delta_varint(table, bound):
    """Bytes of changes in varints, with a bitmap of gaps and two bytes for a sequence number and a check."""
    step = 2 * bound + 1 if bound else 1
    numbers, total, last = np.floor_divide(np.nan_to_num(np.rint(table)) + bound, step).astype(int), 0, None
    for t, row in enumerate(numbers):
        seen = ~np.isnan(table[t])
        before = np.zeros(len(row), int) if last is None or t % EVERY == 0 else last
        total += 2 + -(-len(row) // 8) + sum(varint_size(abs(c) * 2) for c in (row - before)[seen])
        last = np.where(seen, row, before)
    return total


def sizes_of(table, bound):
    """Bytes of a month by codec, at this bound or lossless."""
    return {
        "file (one compress)": len(compress(table, **settings_of(bound))),
        f"LiveEncoder, {kind_of(bound)}": live(table, bound)[0].n_bytes,
        "JSON": sum(map(len, as_json(table))),
        "float32": sum(map(len, as_float32(table))),
        "float32 + zstd, trained dictionary": with_zstd(as_float32(table)),
        "delta + varint": delta_varint(table, bound),
    }


def size_rows(results, months):
    for month, table in months.items():
        for bound in (1.0, 0.0):
            sizes = sizes_of(table, bound)
            kind = kind_of(bound)
            file, ours = sizes["file (one compress)"], sizes[f"LiveEncoder, {kind}"]
            if month == "October":
                results.bar(f"October, {kind}: bytes", ours, at_most=12_000 if bound else 17_500)
            else:
                results.bar(f"simulated month, {kind}: bytes relative to the file", ours / file, at_most=RATIOS[kind])
            for codec, size in sizes.items():
                yield (
                    month,
                    kind,
                    codec,
                    size,
                    None if size is None else size / len(table),
                    None if size is None else size / ours,
                )


def sparse_rows(months):
    """The paper's T0 coding sent live, over the month twice: the dictionary is learned in the first turn."""
    for month, table in months.items():
        for n_nonzero in (4, 8):
            encoder, _ = live(table, 0.0)
            twice = np.vstack([table, table])
            start = time.perf_counter()
            sparse, decoder = (
                LiveEncoder(names_of(table), n_nonzero_coefs=n_nonzero, keyframe_every=EVERY),
                LiveDecoder(),
            )
            squares, with_dictionary, added = 0.0, 0, 0
            for t, row in enumerate(twice):
                if t == len(table):
                    before, keyframes = sparse.n_bytes, sparse.n_keyframes
                count = sparse.n_keyframes
                message = sparse.encode(row, t * HOUR)
                found = decoder.decode(message)
                if sparse.n_keyframes > count and decoder.dictionary_message == message:
                    with_dictionary = len(message)
                elif sparse.n_keyframes > count and t >= len(table):
                    added += with_dictionary - len(message)
                if t >= len(table):
                    squares += float(np.nansum((found[-1].values - row) ** 2))
            error = math.sqrt(squares / float(np.nansum(table**2)))
            bytes_second = sparse.n_bytes - before
            yield (
                month,
                f"T0 = {n_nonzero}",
                before,
                bytes_second,
                sparse.n_keyframes - keyframes,
                bytes_second + added,
                error,
                encoder.n_bytes,
                time.perf_counter() - start,
            )


def recorded_rows(months):
    """Bytes of the messages of a month beside those of the file that a Recorder makes of it."""
    for month, table in months.items():
        for bound in (1.0, 0.0):
            encoder, decoder = LiveEncoder(names_of(table), **settings_of(bound), keyframe_every=EVERY), LiveDecoder()
            slots = [slot for t, row in enumerate(table) for slot in decoder.decode(encoder.encode(row, t * HOUR))]
            with TemporaryDirectory() as folder:
                path, start = Path(folder) / "month.hrp", time.thread_time()
                with Recorder(path) as recorder:
                    recorder.write(slots)
                used = 1e3 * (time.thread_time() - start) / len(table)
                yield month, kind_of(bound), encoder.n_bytes, path.stat().st_size, used


def channel_rows(results, n_tables, n_slots):
    wrong = late = shown = 0
    for table in range(n_tables):
        n_shown, n_wrong, n_late, counts = run(SEED + table, n_slots)
        wrong, late, shown = wrong + n_wrong, late + n_late, shown + n_shown
        yield (
            table,
            n_slots,
            n_shown,
            n_wrong,
            n_late,
            counts["lost"],
            counts["missed"],
            counts["duplicate"] + counts["old"],
        )
    results.bar(f"wrong values in {n_tables * n_slots} slots through a bad channel", wrong, at_most=0)
    results.bar("slots that were gaps although all since a keyframe came", late, at_most=0)


def damage_rows(months, n_trials):
    """Bodies that were changed, with a check that is right all the same: one in 65,536 has it by chance."""
    for month, table in months.items():
        for bound in (1.0, 0.0):
            encoder = LiveEncoder(names_of(table), **settings_of(bound), keyframe_every=EVERY, stream=SEED)
            messages = [encoder.encode(row, t * HOUR) for t, row in enumerate(table[:EVERY])]
            rng, shown = np.random.default_rng(SEED), []
            for _ in range(n_trials):
                at, decoder = int(rng.integers(1, EVERY - 10)), LiveDecoder()
                for message in messages[:at]:
                    decoder.decode(message)
                body = bytearray(messages[at][N_CHECK:])
                if rng.random() < 0.5:
                    body[rng.integers(len(body))] ^= 1 << rng.integers(8)
                else:
                    body = rng.bytes(len(body))
                rest = [seal(bytes(body), SEED, at, None), *messages[at + 1 :]]
                found = [isinstance(decoder.decode(message), Gap) for message in rest]
                shown.append(found.index(True) if True in found else len(found))
            wrong = [n for n in shown if n]
            yield month, kind_of(bound), n_trials, 1 - len(wrong) / n_trials, float(np.mean(wrong)), max(wrong)


def delays(n_sensors, n_slots, seed, pause):
    """Milliseconds of encoder and decoder together for each slot: on the clock, and of the processor.

    A gateway pauses before each slot. Then others have used the caches meanwhile; but the scheduler prefers a process
    that has slept, where a loop without pauses has to wait for its turn.
    """
    table = make_sensor_network(n_slots + 20, n_sensors, random_state=seed)
    encoder, decoder = LiveEncoder(names_of(table), max_error=1, keyframe_every=EVERY), LiveDecoder()
    wall, processor = [], []
    for t, row in enumerate(table):
        if pause:
            time.sleep(pause)
        start, used = time.perf_counter(), time.thread_time()
        decoder.decode(encoder.encode(row, t * HOUR))
        wall.append(time.perf_counter() - start)
        processor.append(time.thread_time() - used)
    return 1e3 * np.array(wall[20:]), 1e3 * np.array(processor[20:])


def delay_rows(results, quick):
    for n_sensors, n_slots, most, pause in (
        (56, 1000 if quick else 5000, 5.0, 0.0),
        (56, 100 if quick else 3000, 5.0, 0.01),
        (1000, 60 if quick else 600, 100.0, 0.0),
        (1000, 20 if quick else 600, 100.0, 0.05),
    ):
        wall, processor = delays(n_sensors, n_slots, SEED, pause)
        how = f", one slot every {1e3 * pause:g} ms" if pause else ""
        results.bar(f"{n_sensors} sensors{how}: 99% of delays on the clock, ms", np.quantile(wall, 0.99), at_most=most)
        if n_sensors == 56 and not pause:
            results.bar("56 sensors: slots per second on one core", 1e3 / processor.mean(), at_least=1000)
        yield (
            n_sensors, 1e3 * pause, n_slots, np.median(wall), np.quantile(wall, 0.99), wall.max(), np.median(processor),
            np.quantile(processor, 0.99), 1e3 / processor.mean(), 1e3 / wall.mean(),
        )  # fmt: skip


def memory_rows(results, n_slots):
    """Resident memory while slots of 56 sensors go by, after the first eighth of them."""
    table = make_sensor_network(2000, 56, random_state=SEED)
    encoder, decoder = LiveEncoder(names_of(table), max_error=1, keyframe_every=EVERY), LiveDecoder()
    kept = []
    for t in range(n_slots + 1):
        found = decoder.decode(encoder.encode(table[t % 2000], t * HOUR))
        assert not isinstance(found, Gap)
        if t % (n_slots // 8) == 0:
            kept.append(resident())
            yield t, kept[-1]
    results.bar(f"memory over {n_slots} slots: growth in MB", max(kept[1:]) - kept[1], at_most=5.0)


def resident():
    """Megabytes of this process now."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main():
    quick = "--quick" in sys.argv
    readings = october()
    months = {"simulated": make_sensor_network(744, 56, random_state=SEED)}
    if readings is not None:
        months = {"October": readings, **months}
    with Results(__file__, partial=quick or readings is None) as results:
        results.figures(
            "bytes of a month, one message per slot, keyframe every 250",
            [
                "month    ",
                "kind       ",
                "codec                             ",
                "bytes",
                "per slot",
                "relative to LiveEncoder",
            ],
            size_rows(results, months),
        )
        if not quick:
            results.figures(
                "T0 coding live: the month twice, the dictionary is learned in the first turn (lossless until then)",
                ["month    ", "T0    ", "bytes, first turn", "second turn", "keyframes there",
                 "second turn if each of them carried the dictionary", "relative RMSE there",
                 "lossless for comparison", "seconds"],
                sparse_rows(months),
            )  # fmt: skip
        results.figures(
            "recorded in a file",
            ["month    ", "kind       ", "bytes of messages", "bytes of the file", "ms of one core per slot"],
            recorded_rows(months),
        )
        results.figures(
            "a channel that loses 1%, doubles 1% and reorders 1% of messages, keyframe every 100",
            ["table", "slots", "shown", "wrong values", "needless gaps", "lost", "missed", "refused"],
            channel_rows(results, *((4, 500) if quick else (20, 5000))),
        )
        results.figures(
            "damaged messages whose check is right by chance, keyframe every 250",
            ["month    ", "kind       ", "messages", "refused all the same", "slots shown of the others: mean", "max"],
            damage_rows(months, 20 if quick else 400),
        )
        results.figures(
            "delay of encoder and decoder together, ms",
            [
                "sensors",
                "pause, ms",
                "slots",
                "median",
                "99%",
                "max",
                "processor: median",
                "99%",
                "slots/s of a core",
                "slots/s on the clock",
            ],
            delay_rows(results, quick),
        )
        results.figures("memory", ["slots", "MB"], memory_rows(results, 2000 if quick else 10**6))


if __name__ == "__main__":
    main()
